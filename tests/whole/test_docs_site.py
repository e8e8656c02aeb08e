"""The documentation's site: each question has its page, each page its place, and what is declared is what is said."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import subprocess
from pathlib import Path

import pytest
import yaml

pytest.importorskip("cyclopts")  # not on the bare GPU machine
import bertscope
from bertscope.core import registry
from bertscope.study.file import read_study
from browsing import CHROMIUM, NEEDS_CHROMIUM, QUIET
from command_tables import COMMANDS, help_order, in_help_order
from doc_pages import HERE, code_blocks, run_blocks
from question_pages import PAGES, PARTS, QUESTIONS, files, usage

DOCS = HERE / "docs"
MKDOCS = HERE / ".venv-docs" / "bin" / "mkdocs"
RUN = ("quickstart.md", "ways/model.md", "ways/paper.md", "ways/teach.md", "coming-from.md")
"""Pages whose Python is run here; README.md, python.md, data.md and studies.md are in test_docs.py."""


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("links", DOCS / "theme" / "links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def settings():
    return yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))


def listed(nav) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in listed(part)]


def test_what_is_declared_is_what_the_pages_say():
    for file, text in files():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run python tests/support/question_pages.py"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_each_question_has_a_page_that_somebody_wrote(question):
    text = (PAGES / f"{question.name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {question.name}\n\n**{question.line}**\n")
    written, marker, _ = text.partition("<!-- declared -->\n")
    assert marker and re.findall(r"^## (.+)$", written, re.M) == list(PARTS)
    for part in re.split(r"^## .+$", written, flags=re.M)[1:]:
        assert part.strip(), "a part that says nothing"
    assert 120 < len(written.split()) < 380


def test_no_page_is_of_a_question_that_is_gone():
    assert {page.stem for page in PAGES.glob("*.md")} == {"README", *(question.name for question in QUESTIONS)}


def test_commands_stand_in_the_order_of_help():
    text = COMMANDS.read_text(encoding="utf-8")
    assert in_help_order(text) == text, "run python tests/support/command_tables.py"
    assert list(help_order())[:2] == ["Start here", "Train, and compare trainings"]
    headings = re.findall(r"^## .*$", text, re.M)
    assert len(set(headings)) == len(headings), "a section stands twice"


def test_usage():
    assert usage("change") == "bertscope change BEFORE [AFTER] --on DATA"
    assert usage("patterns") == "bertscope patterns MODEL [MORE ...] --on DATA"
    assert usage("explain") == "bertscope explain MODEL (--text TEXT | --on DATA)"
    assert usage("study run") == "bertscope study run FILE"


def test_the_contents_have_every_page_once(settings, hook):
    outside = {uri for path, uri in hook.OUTSIDE.items() if path != "README.md"}
    inside = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    pages = listed(settings["nav"])
    assert sorted(pages) == sorted(inside | outside)
    assert all((HERE / path).is_file() for path in hook.OUTSIDE)


def test_the_site_asks_nothing_of_the_network(settings):
    """Of what we add to it; `test_the_site_is_built` looks at all of it."""
    assert settings["theme"]["font"] is False and settings["strict"] is True
    assert "offline" in settings["plugins"]  # search without a server
    for file in [*settings["extra"]["polyfills"], *settings["extra_css"]]:
        assert "//" not in (DOCS / file).read_text(encoding="utf-8").replace("// Opened", "")


class Page:
    """As much of mkdocs' page as the hook reads."""

    def __init__(self, uri: str):
        self.file = self
        self.src_uri = uri


@pytest.mark.parametrize(
    ("uri", "written", "shown"),
    [
        ("design.md", "[c](../CONTRIBUTING.md#set-up)", "[c](project/contributing.md#set-up)"),
        ("findings/heads.md", "[b](../../benchmarks/README.md)", "[b](../project/speed.md)"),
        ("project/contributing.md", "[d](docs/design.md)", "[d](../design.md)"),
        ("models.md", "[source](../src/bertscope/models/load.py)", "source"),
        ("gpu.md", "[d](data.md), ![p](report.png)", "[d](data.md), ![p](report.png)"),
        ("python.md", "```sh\n[d](../src/x)\n```", "```sh\n[d](../src/x)\n```"),
        ("python.md", "[h](https://example.org/a.md)", "[h](https://example.org/a.md)"),
    ],
)
def test_links_out_of_the_docs_lead_to_the_sites_pages(hook, uri, written, shown):
    assert hook.on_page_markdown(written, Page(uri), None, None) == shown


def test_anchors_are_githubs(hook):
    assert [hook.anchor(one) for one in ("`study run`", "What it asks", "Is it all as it was?")] == [
        "study-run", "what-it-asks", "is-it-all-as-it-was"
    ]  # fmt: skip


def named(tree: ast.AST) -> list[ast.Attribute]:
    return [
        node for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bertscope"
    ]  # fmt: skip


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_python_on_the_pages_names_what_there_is(page):
    for code, _ in code_blocks(page, "python"):
        tree = ast.parse(code)
        for node in named(tree):
            assert node.attr in {*bertscope.__all__, "__file__"} | {"analyses", "core"}, f"no bertscope.{node.attr}"
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.func in named(tree)):
            if (name := call.func.attr.replace("_", "-")) in registry.QUESTIONS:
                known = inspect.signature(registry.find(name)).parameters
                assert {word.arg for word in call.keywords if word.arg} <= {*known}, ast.unparse(call)[:80]


def test_the_studies_of_the_pages_are_read(tmp_path, monkeypatch):
    """Each page's lines, in one file with whatever they speak of."""
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("A text.\n\nAnother text.\n", encoding="utf-8")
    lines = []
    for question in QUESTIONS:
        blocks = code_blocks(PAGES / f"{question.name}.md", "yaml")
        lines += [line for block, _ in blocks for line in block.splitlines() if line.startswith("  - ")]
    around = """\
model: pocket
tasks: [demo/sentiment, demo/paraphrase]
corpus: demo/corpus
pairs: demo/minimal
models:
  again: {base: model, task: tasks, seed: 1}
  early: {base: model, task: tasks, epochs: 1}
data:
  scores: demo/similarity
questions:
"""
    Path("all.yaml").write_text(around + "\n".join(lines) + "\n", encoding="utf-8")
    asked = {step.name for step in read_study("all.yaml", []).steps}
    assert asked == {question.name for question in QUESTIONS} - {"course", "courses"}


def test_the_first_picture_is_small():
    assert (DOCS / "first-screen.png").stat().st_size < 300_000
    assert sum(file.stat().st_size for file in (PAGES / "figures").glob("*")) < 1_500_000


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_python_of_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(DOCS / page, "python")
    assert any(runs for _, runs in blocks)
    run_blocks(blocks)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not MKDOCS.exists():
        pytest.skip("needs .venv-docs: make docs")
    out = tmp_path_factory.mktemp("site")
    call = [str(MKDOCS), "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(call, cwd=HERE, capture_output=True, text=True, env={"NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_site_is_built(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="?([^" >]+)|<link [^>]*href="?([^" >]+)', text)
        assert any("assets/" in url for pair in loaded for url in pair), "what a page loads is found"
        asked = [url for pair in loaded for url in pair if re.match(r"(https?:)?//", url)]
        assert not asked, f"{page.name} loads {asked[0]}"


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [1280, 390])
def test_the_site_opens_from_the_disk_and_finds(site, width):
    from playwright.sync_api import sync_playwright

    asked, complaints = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_context(viewport={"width": width, "height": 900}, offline=True).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        for name in ("questions/graft", "commands", "glossary", "index"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.keyboard.press("/")
        page.locator("input.md-search__input").press_sequentially("null panel", delay=20)
        page.get_by_text("matching documents").wait_for()
        browser.close()
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked)
    assert complaints == []
