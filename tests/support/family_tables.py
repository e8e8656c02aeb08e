"""The tables of docs/families.md: which of transformers' model types are known, and why others aren't.

Run this file to write them there.
"""

from __future__ import annotations

import re

from bertscope.models.families import FAMILIES
from bertscope.models.unsupported import UNSUPPORTED
from doc_pages import HERE

PAGE = HERE / "docs" / "families.md"
_BLOCK = re.compile(r"(<!-- (?P<name>known|others) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """The page's tables, by name."""
    known = [f"| `{name}` | {_first_layer(name)} | {_apart(name)} | {_read_by(name)} |" for name in sorted(FAMILIES)]
    reasons = dict.fromkeys(UNSUPPORTED.values())
    others = [
        f"| {', '.join(f'`{name}`' for name in sorted(UNSUPPORTED) if UNSUPPORTED[name] == reason)} | {reason} |"
        for reason in reasons
    ]
    return {
        "known": _table("model type | first layer | heads and neurons | attention is read by", known),
        "others": _table("model type | why not", others),
    }


def _first_layer(name: str) -> str:
    family = FAMILIES[name]
    if not family.first_stays_because:
        return "can go"
    where = f" (where the config has `{family.first_stays_with}`)" if family.first_stays_with else ""
    return f"stays{where}: {family.first_stays_because}"


def _apart(name: str) -> str:
    family = FAMILIES[name]
    if family.groups:
        return "the same in every layer: one block serves them all"
    if family.shared_weights:
        return "any; keys and values go with the last head that reads them"
    if family.head_bias is not None:
        return "any; the table of position biases, which all layers share, stays whole"
    return "any"


def _read_by(name: str) -> str:
    return "hooks" if FAMILIES[name].hooked else "the attention interface"


def _table(header: str, rows: list[str]) -> str:
    rule = "|".join("---" for _ in header.split("|"))
    return "\n".join([f"| {header} |", f"|{rule}|", *rows]) + "\n"


def documented() -> str:
    return PAGE.read_text(encoding="utf-8")


def filled(text: str) -> str:
    """The page with its tables as they should be."""
    now = tables()
    return _BLOCK.sub(lambda block: block[1] + now[block["name"]] + block[3], text)


if __name__ == "__main__":
    PAGE.write_text(filled(documented()), encoding="utf-8")
