"""The tables of docs/commands.md, made from the commands themselves.

`python tests/support/command_tables.py` writes them anew.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from bertscope.cli.main import app
from bertscope.cli.options import ModelOptions, RunOptions, default_in_words
from bertscope.core import registry
from bertscope.data.options import DataOptions
from doc_pages import HERE

COMMANDS = HERE / "docs" / "commands.md"
SHARED = "every question"
"""The table of what all questions take: how data is read, and where results go."""

PAIRED = "every question about pairs"
"""The same of questions that read minimal pairs, which are read otherwise."""
VERSIONS = "versions"
_BLOCK = re.compile(
    r"(<!-- (?:flags of )?(?P<name>(?<=flags of )[\w -]+|versions) -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL
)


def commands(inside: Any = app, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by the words that call it, `report build` included."""
    for name in inside:
        if not name.startswith("-"):
            found = inside[name]
            below = list(commands(found, f"{above}{name} "))
            yield from below or [(f"{above}{name}", found)]


@functools.cache
def tables() -> dict[str, str]:
    """The tables of docs/commands.md as they should be."""
    written: dict[str, str] = {}
    for name, command in commands():
        arguments = [one for one in command.assemble_argument_collection(parse_docstring=True) if one.show]
        is_question = name in registry.QUESTIONS
        reading = _reading(name) if is_question else DataOptions
        shared_names = {*map(flag, (*fields(reading), *fields(ModelOptions), *fields(RunOptions)))}
        own = [one for one in arguments if not is_question or one.name not in shared_names]
        written[name] = _table(own)
        shared = _table([one for one in arguments if one not in own])
        if is_question and registry.find(name).reads:  # what reads results alone has no options about data
            which = SHARED if reading is DataOptions else PAIRED
            assert written.setdefault(which, shared) == shared, f"{name} has other shared options than its siblings"
    return written | {VERSIONS: versions()}


def _reading(name: str) -> type:
    """The options that say how a question's data is read."""
    question = registry.find(name)
    return registry.reading_options(question.asked_of[question.reads].kind) if question.reads else DataOptions


def versions() -> str:
    """Every question, steps of experiments included, with the version of its answer."""
    rows = ["| question | version |", "|---|---|"]
    for name, entry in registry.QUESTIONS.items():
        rows.append(f"| `{name}`{'' if entry.group else ', a step of experiments'} | {registry.find(name).version} |")
    return "\n".join(rows) + "\n"


def flag(field: Any) -> str:
    return "--" + field.name.replace("_", "-")


def _table(arguments: list[Any]) -> str:
    rows = ["| flag | takes | default | meaning |", "|---|---|---|---|"]
    for one in arguments:
        meaning = " ".join((one.parameter.help or "").split())
        assert meaning, f"{one.name} has no help"
        meaning = meaning.replace("|", "&#124;")  # or it ends the cell
        rows.append(f"| `{one.name}` | {takes(one.hint)} | {_default(one)} | {meaning} |".replace("<", "&lt;"))
    return "\n".join(rows) + "\n"


def takes(hint: Any) -> str:
    """
    >>> takes(int | None), takes(tuple[int, ...]), takes(Literal["last", "best"] | int)
    ('a number', 'a number; one or more', '`last`, `best` or a number')
    """
    named = {int: "a number", float: "a number", str: "text", Path: "a path", bool: "nothing"}
    if hint in named:
        return named[hint]
    inner = [part for part in get_args(hint) if part not in (type(None), Ellipsis)]
    if getattr(hint, "__origin__", None) is tuple:
        return f"{takes(inner[0])}; one or more"
    if len(inner) == 1 and not isinstance(inner[0], str):
        return takes(inner[0])
    if not all(isinstance(part, str) for part in inner):
        return " or ".join(map(takes, inner))
    return ", ".join(f"`{choice}`" for choice in inner)


def _default(argument: Any) -> str:
    value = argument.field_info.default
    if argument.required:
        return "required"
    if value is inspect.Parameter.empty:
        return ""
    words = "off" if value is False else default_in_words(value)
    return words if words in ("on", "off") else f"`{words}`" if words else ""


def documented() -> dict[str, str]:
    return {block["name"]: block["table"] for block in _BLOCK.finditer(COMMANDS.read_text(encoding="utf-8"))}


def help_order() -> dict[str, list[str]]:
    """The commands as help lists them: under their headings, in their order; `study` stands for all that it holds."""
    found: dict[tuple[Any, str], list[tuple[int, str]]] = {}
    for name in app:
        if not name.startswith("-"):
            (group,) = app[name].group
            found.setdefault((group.sort_key[-1], group.name), []).append((app[name].sort_key, name))
    return {heading: [name for _, name in sorted(found[key, heading])] for key, heading in sorted(found)}


def in_help_order(text: str) -> str:
    """The page with the sections of its commands in the order of help; what comes before and after them stays."""
    places = {f"## `{name}": place for place, name in enumerate(chain(*help_order().values()))}

    def place(section: str) -> int:
        return places[re.match(r"## `[^ `]+", section)[0]]  # type: ignore[index]

    sections = re.split(r"^(?=## )", text, flags=re.M)
    own = [place for place, section in enumerate(sections) if section.startswith("## `")]
    first, last = own[0], own[-1] + 1
    return "".join([*sections[:first], *sorted(sections[first:last], key=place), *sections[last:]])


def write() -> None:
    """Put the tables into docs/commands.md, and its sections into the order of help."""
    now = tables()
    text = in_help_order(COMMANDS.read_text(encoding="utf-8"))
    if missing := sorted(set(now) - set(documented())):
        raise SystemExit(f"{COMMANDS}: add a section with '<!-- flags of NAME -->' and '<!-- end -->' for {missing}")
    COMMANDS.write_text(_BLOCK.sub(lambda block: block[1] + now[block["name"]] + block[4], text), encoding="utf-8")


if __name__ == "__main__":
    write()
