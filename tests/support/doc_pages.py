"""The code on the pages of the docs, and running it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"(?P<mark><!-- not run[^\n]*-->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.M)


def code_blocks(page: Path, *languages: str) -> list[tuple[str, bool]]:
    """The page's code in these languages, and whether it is to be run."""
    found = _FENCE.finditer(page.read_text(encoding="utf-8"))
    return [(block["code"], block["mark"] is None) for block in found if block["language"] in languages]


def run_blocks(blocks: list[tuple[str, bool]]) -> None:
    """Run code blocks in order, as one session; `print(...)  # this` must print this."""
    printed: list[str] = []
    session = {"__name__": "__docs__", "print": lambda *values: printed.append(" ".join(map(str, values)))}
    for code, runs in blocks:
        tree = ast.parse(code)  # also what isn't run must be Python
        if not runs:
            continue
        printed.clear()
        exec(compile(tree, "docs", "exec"), session)
        expected = re.findall(r"^ *print\(.*\)(?:  # (.*))?$", code, re.M)
        assert len(expected) == len(printed)
        for line, wanted in zip(printed, expected, strict=True):
            assert not wanted or line == wanted, f"prints {line!r}, the page says {wanted!r}"
