"""The shell commands that a newcomer meets are run as they are written: in order, in an empty folder."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine
from cyclopts import CycloptsError

from bertscope.cli.main import app
from doc_pages import HERE
from shell_session import SERVES, commands, session

PAGES = ["README.md", "docs/quickstart.md", *(f"docs/ways/{name}.md" for name in ("model", "paper", "teach"))]
_UNMARKED = re.compile(r"\bhub:|bert-base|^pip |^make ")
"""What no empty folder without a network can do."""


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_commands_to_run_and_says_which_are_not(page):
    lines = commands(HERE / page)
    assert any(line.startswith("bertscope ") for line in lines), "a newcomer can't try anything"
    for line in lines:
        assert not _UNMARKED.search(line), f"{line}: needs <!-- not run: why --> before its block"


def test_commands_are_read_as_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\n# first\na b \\\n  c  # d\n```\n\n<!-- not run: e -->\n```sh\nf\n```\n", encoding="utf-8")
    assert commands(page) == ["a b    c  # d"]
    assert SERVES.match("bertscope explore tuned") and not SERVES.match("bertscope report open")


def test_a_command_that_fails_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nbertscope show nothing\n```\n", encoding="utf-8")
    (ran,) = session(page, tmp_path)
    assert ran.code == 2 and ran.said.startswith("bertscope: ") and ran.wall >= ran.processor / 8 > 0


@pytest.mark.parametrize("page", PAGES[1:])
def test_commands_within_the_text_are_understood(page):
    text = (HERE / page).read_text(encoding="utf-8")
    for line in re.findall(r"`bertscope ([a-z][^`]*)`", text):
        try:
            app.parse_args(line, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            pytest.fail(f"{page}: {line}: {error}")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_run(page, tmp_path):
    """And what they leave is there: a page of the docs names no file that its commands don't write."""
    for ran in session(HERE / page, tmp_path):
        assert ran.code == 0, f"{ran.line}\n{ran.said}"
    made = {path.name for path in tmp_path.iterdir()}
    text = (HERE / page).read_text(encoding="utf-8")
    spoken = set(re.findall(r"`([\w-]+\.html)`", text)) - {"demo-report.html"}
    assert spoken <= made, f"{page} speaks of {spoken - made}"
