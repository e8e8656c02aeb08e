"""The documentation can't drift: flags and their defaults, examples and links are checked against the code.

`python tests/whole/test_docs.py` writes the tables of docs/commands.md anew from the commands themselves.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine
from cyclopts import CycloptsError

from bertscope.cli.main import app
from bertscope.cli.options import DataOptions, RunOptions, default_in_words
from bertscope.core import registry
from bertscope.models.families import FAMILIES
from doc_pages import HERE, code_blocks, run_blocks

COMMANDS = HERE / "docs" / "commands.md"
PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "patterns/*.md")
PAGES = [page for place in PLACES for page in sorted(HERE.glob(place))]
SHARED = "every question"
"""The table of what all questions take: how data is read, and where results go."""

_BLOCK = re.compile(r"(<!-- flags of (?P<name>[\w -]+) -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


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
    shared_names = {*map(_flag, (*fields(DataOptions), *fields(RunOptions)))}
    written: dict[str, str] = {}
    for name, command in commands():
        arguments = [one for one in command.assemble_argument_collection(parse_docstring=True) if one.show]
        asked = name in registry.QUESTIONS
        own = [one for one in arguments if not asked or one.name not in shared_names]
        written[name] = _table(own)
        shared = _table([one for one in arguments if one not in own])
        if asked and registry.find(name).reads:  # what reads results alone has no options about data
            assert written.setdefault(SHARED, shared) == shared, f"{name} has other shared options than its siblings"
    return written


def _flag(field: Any) -> str:
    return "--" + field.name.replace("_", "-")


def _table(arguments: list[Any]) -> str:
    rows = ["| flag | takes | default | meaning |", "|---|---|---|---|"]
    for one in arguments:
        meaning = " ".join((one.parameter.help or "").split())
        assert meaning, f"{one.name} has no help"
        rows.append(f"| `{one.name}` | {_takes(one.hint)} | {_default(one)} | {meaning} |".replace("<", "&lt;"))
    return "\n".join(rows) + "\n"


def _takes(hint: Any) -> str:
    """
    >>> _takes(int | None), _takes(tuple[int, ...])
    ('a number', 'a number; one or more')
    """
    named = {int: "a number", float: "a number", str: "text", Path: "a path", bool: "nothing"}
    if hint in named:
        return named[hint]
    inner = [part for part in get_args(hint) if part not in (type(None), Ellipsis)]
    if getattr(hint, "__origin__", None) is tuple:
        return f"{_takes(inner[0])}; one or more"
    if len(inner) == 1 and not isinstance(inner[0], str):
        return _takes(inner[0])
    return ", ".join(f"`{choice}`" for choice in inner)


def _default(argument: Any) -> str:
    value = argument.field_info.default
    if argument.required:
        return "required"
    if value is inspect.Parameter.empty:
        return ""
    said = "off" if value is False else default_in_words(value)
    return said if said in ("on", "off") else f"`{said}`" if said else ""


def documented() -> dict[str, str]:
    return {block["name"]: block["table"] for block in _BLOCK.finditer(COMMANDS.read_text(encoding="utf-8"))}


def test_every_command_is_documented_and_no_other():
    assert set(documented()) == set(tables())
    headings = re.findall(r"^## (.+)$", COMMANDS.read_text(encoding="utf-8"), re.M)
    assert {f"`{name}`" for name, _ in commands()} <= set(headings)


@pytest.mark.parametrize("name", tables())
def test_flags_defaults_and_meanings_are_the_real_ones(name):
    assert documented().get(name) == tables()[name], "run: python tests/whole/test_docs.py"


@pytest.mark.parametrize("name", [name for name, entry in registry.QUESTIONS.items() if entry.group])
def test_every_setting_of_every_question_is_a_documented_flag(name):
    told = documented()[name]
    for field in fields(registry.find(name).config):
        assert f"| `{_flag(field)}` |" in told
    assert registry.find(name).line in COMMANDS.read_text(encoding="utf-8")


def test_the_drift_test_sees_drift():
    table = tables()["finetune"]
    assert "| `--batch-size` | a number | `32` | Examples per step. |" in table
    assert "| `--keep` | `last`, `best` | `last` |" in table
    assert "--store" not in table and "--store" in tables()[SHARED]
    assert _takes(tuple[int, ...]) == "a number; one or more"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_in_the_pages_are_understood(page):
    for code, _ in code_blocks(page, "sh"):
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["bertscope"] and not {"--help", "--version"} & set(words):
                try:
                    app.parse_args(words[1:], exit_on_error=False, print_error=False)
                except CycloptsError as error:
                    pytest.fail(f"{page.name}: {line.strip()}: {error}")


def test_the_python_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(HERE / "docs" / "python.md", "python")
    assert sum(runs for _, runs in blocks) >= 6
    run_blocks(blocks)


def test_the_studies_page_is_right(tmp_path, monkeypatch):
    """Its files are studies, with what isn't here replaced; its Python runs."""
    from bertscope.study.file import read_study

    monkeypatch.chdir(tmp_path)
    page = HERE / "docs" / "studies.md"
    here = (("model=pocket", "tasks=demo/sentiment", "corpus=demo/corpus"), ("models.other=pocket",))
    asked = (["scratch", "change", "ablate", "relations", "lottery", "lottery"], ["ablate"] * 8 + ["patterns"])
    for (text, _), sets, expected in zip(code_blocks(page, "yaml"), here, asked, strict=True):
        Path("mine.yaml").write_text(text, encoding="utf-8")
        assert [step.name for step in read_study("mine.yaml", sets).steps] == [*expected, "claims"]
    run_blocks(code_blocks(page, "python"))


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole, few = 'read_task("demo/sentiment")', 'read_task("demo/sentiment", limit=8)'
    blocks = code_blocks(HERE / "README.md", "python")
    assert any(whole in code for code, _ in blocks), "the README's example reads the demo task"
    run_blocks([(code.replace(whole, few), runs) for code, runs in blocks])


def test_the_worked_example_of_contributing_works(tmp_path, monkeypatch, tiny):
    from bertscope.data.read import read_task

    declares, measures, line = (code for code, _ in code_blocks(HERE / "CONTRIBUTING.md", "python"))
    folder = tmp_path / "lengths"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "question.py").write_text(declares, encoding="utf-8")
    (folder / "measure.py").write_text(measures.replace("bertscope.analyses.lengths", "lengths"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (entry,) = eval(f"[{line}]", {"Entry": registry.Entry})
    monkeypatch.setitem(registry.QUESTIONS, entry.name, entry)
    module = importlib.import_module("lengths.question")
    assert module.lengths.name == entry.name and module.lengths.__doc__.startswith(entry.line)
    result = module.lengths(tiny, read_task("demo/sentiment", limit=24), module.LengthsConfig(groups=3))
    assert result.table["n"].tolist() == [8, 8, 8] and result.table["words"].is_monotonic_increasing
    assert result.number(module.lengths.main) and result.provenance["command"]


def test_the_readme_names_every_family():
    families = re.search(r"Families so far: (.*?)\.", (HERE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert families and set(re.findall(r"`([\w-]+)`", families[1])) == set(FAMILIES)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = page.parent / link["path"] if link["path"] else page
        assert target.exists(), f"{page.name} links to {link['path']}, which isn't there"
        if link["anchor"]:
            assert link["anchor"] in anchors(target), f"{page.name}: {link['path']} has no heading {link['anchor']!r}"


def test_the_picture_is_small():
    assert (HERE / "docs" / "report.png").stat().st_size < 200_000


def write() -> None:
    """Put the tables into docs/commands.md."""
    now = tables()
    text = COMMANDS.read_text(encoding="utf-8")
    if missing := sorted(set(now) - set(documented())):
        raise SystemExit(f"{COMMANDS}: add a section with '<!-- flags of NAME -->' and '<!-- end -->' for {missing}")
    COMMANDS.write_text(_BLOCK.sub(lambda block: block[1] + now[block["name"]] + block[4], text), encoding="utf-8")


if __name__ == "__main__":
    write()
