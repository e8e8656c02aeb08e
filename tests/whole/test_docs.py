"""The documentation can't drift: flags and their defaults, examples and links are checked against the code."""

from __future__ import annotations

import importlib
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine
from cyclopts import CycloptsError

from bertscope.cli.main import app
from bertscope.core import registry
from bertscope.core.question import Question
from bertscope.models.families import FAMILIES
from command_tables import COMMANDS, SHARED, commands, documented, flag, tables, takes
from doc_pages import HERE, code_blocks, run_blocks

PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "patterns/*.md")
PAGES = [page for place in PLACES for page in sorted(HERE.glob(place))]
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


def test_every_command_is_documented_and_no_other():
    assert set(documented()) == set(tables())
    headings = re.findall(r"^## (.+)$", COMMANDS.read_text(encoding="utf-8"), re.M)
    assert {f"`{name}`" for name, _ in commands()} <= set(headings)


@pytest.mark.parametrize("name", tables())
def test_flags_defaults_and_meanings_are_the_real_ones(name):
    assert documented().get(name) == tables()[name], "run: python tests/support/command_tables.py"


@pytest.mark.parametrize("name", [name for name, entry in registry.QUESTIONS.items() if entry.group])
def test_every_setting_of_every_question_is_a_documented_flag(name):
    table = documented()[name]
    for field in fields(registry.find(name).config):
        assert f"| `{flag(field)}` |" in table
    assert registry.find(name).line in COMMANDS.read_text(encoding="utf-8")


def test_the_drift_test_sees_drift():
    table = tables()["finetune"]
    assert (
        "| `--batch-size` | a number | `32` | Examples per batch; a step is one batch unless --accumulate is set. |"
        in table
    )
    assert "| `--keep` | `last`, `best` or a number | `last` |" in table
    assert "--store" not in table and "--store" in tables()[SHARED]
    assert takes(tuple[int, ...]) == "a number; one or more"


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


@pytest.mark.slow
def test_the_python_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(HERE / "docs" / "python.md", "python")
    assert sum(runs for _, runs in blocks) >= 6
    run_blocks(blocks)


def test_the_data_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(HERE / "docs" / "data.md", "python")
    assert any(runs for _, runs in blocks)
    run_blocks(blocks)


@pytest.mark.slow
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
    less = {
        'read_task("demo/sentiment")': 'read_task("demo/sentiment", limit=8)',
        'finetune("pocket", task, out="tuned")': 'finetune("pocket", task, out="tuned", epochs=2)',
    }
    blocks = code_blocks(HERE / "README.md", "python")
    for whole, quick in less.items():
        assert any(whole in code for code, _ in blocks), "the README's example reads the demo task, and trains on it"
        blocks = [(code.replace(whole, quick), runs) for code, runs in blocks]
    run_blocks(blocks)


def test_the_worked_example_of_contributing_works(tmp_path, monkeypatch, tiny):
    from bertscope.data.read import read_task

    declares, measures, line = (code for code, _ in code_blocks(HERE / "CONTRIBUTING.md", "python"))
    folder = tmp_path / "lengths"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "question.py").write_text(declares, encoding="utf-8")
    (folder / "measure.py").write_text(measures.replace("bertscope.analyses.lengths", "lengths"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    exec(line, catalogue := {"Entry": registry.Entry})
    entry = catalogue["_ENTRIES"][-1]
    monkeypatch.setitem(registry.QUESTIONS, entry.name, entry)
    module = importlib.import_module("lengths.question")
    assert module.lengths.name == entry.name and module.lengths.__doc__.startswith(entry.line)
    result = module.lengths(tiny, read_task("demo/sentiment", limit=24), module.LengthsConfig(groups=3))
    assert result.table["n"].tolist() == [8, 8, 8] and result.table["words"].is_monotonic_increasing
    assert result[module.lengths.main] and result.provenance["command"]


def test_contributing_tells_of_every_argument_of_a_question():
    page = (HERE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.split("The arguments of `Question`")[1].split("\n\n")[1]
    named = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines()[2:]))
    assert sorted(named) == sorted(field.name for field in fields(Question))


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
