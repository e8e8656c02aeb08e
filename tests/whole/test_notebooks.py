"""The notebooks: what is kept under their cells is whole, small and says nothing of the machine that ran them; their
code compiles and names what there is; what they show draws without a network; and, slowly, they run."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

import bertscope
from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from notebooks import NOTEBOOKS, code_cells, read, run, shown, write

MOST = 1_000_000
"""Bytes of a notebook."""
_OF_A_MACHINE = re.compile(
    r"/(?:home|root|tmp|work|Users|var|usr|opt)/\w"  # where it was run
    r"|\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d"  # when
    r"| at 0x[0-9a-f]{6,}"  # an address in memory
)

every_notebook = pytest.mark.parametrize("name", NOTEBOOKS)


def test_there_are_five():
    assert list(NOTEBOOKS) == ["dark-secrets", "explained", "lecture", "quickstart", "shrink"]


def outputs(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """What is kept, with the number of its cell."""
    for number, (cell, _) in enumerate(code_cells(read(NOTEBOOKS[name])), start=1):
        yield from ((number, output) for output in cell["outputs"])


def texts(output: dict[str, Any]) -> Iterator[str]:
    """All that an output holds as text."""
    yield from map("".join, output["data"].values() if "data" in output else [output["text"]])


@every_notebook
def test_it_was_run_to_its_end_and_broke_nowhere(name):
    cells = [cell for cell, _ in code_cells(read(NOTEBOOKS[name]))]
    assert len(cells) >= 5
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "run: make notebooks"
    kinds = {output["output_type"] for _, output in outputs(name)}
    assert kinds <= {"stream", "execute_result"} and "execute_result" in kinds
    for number, output in outputs(name):
        assert all("Traceback (most recent call last)" not in text for text in texts(output)), f"cell {number}"


@every_notebook
def test_what_is_kept_is_small_and_of_no_machine(name):
    assert NOTEBOOKS[name].stat().st_size < MOST
    for number, output in outputs(name):
        for text in texts(output):
            found = _OF_A_MACHINE.search(text)
            assert not found, f"cell {number} shows {found[0]!r}"


@every_notebook
def test_it_shows_pictures(name):
    pages = [text for _, output in outputs(name) for text in texts(output)]
    assert any("<img" in page or "<iframe" in page for page in pages)


@every_notebook
def test_its_code_compiles_and_names_what_there_is(name):
    called = set()
    for number, (_, code) in enumerate(code_cells(read(NOTEBOOKS[name])), start=1):
        tree = ast.parse(code, f"{name}, cell {number}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bertscope":
                called.add(node.attr)
                assert node.attr in dir(bertscope), f"cell {number}: bertscope has no {node.attr}"
    assert len(called) >= 3


@every_notebook
def test_its_links_lead_somewhere(name):
    for cell in read(NOTEBOOKS[name])["cells"]:
        if cell["cell_type"] == "markdown":
            for path in re.findall(r"\]\((?!https?:)([^)#\s]+)", "".join(cell["source"])):
                assert (NOTEBOOKS[name].parent / path).exists(), path


def test_what_a_machine_leaves_is_seen():
    for text in ("/tmp/x", "in /home/me/store", "2026-01-02 03:04", "<Axes at 0x7f3a12b4>"):
        assert _OF_A_MACHINE.search(text), text
    for text in ("and/or", "1/2", "head:3.4", "0x7", "made in 2019-2020", "https://aclanthology.org/D19-1445"):
        assert not _OF_A_MACHINE.search(text), text


class _Drawn:
    def _repr_html_(self) -> str:
        return "<b>one</b>\n<i>two</i>"


def test_cells_are_run_as_jupyter_runs_them(tmp_path):
    """Printed text and the last expression, lines apart; a semicolon and None show nothing; one session for all."""
    drawn = "class D:\n    def _repr_html_(self): return 'x'\n    def __repr__(self): return 'y'\nD()"
    sources = ["a = 2\nprint('said')\na + 1", "a * 2;", "None", drawn, "# nothing"]
    cells = [{"cell_type": "code", "source": [source], "outputs": [], "execution_count": None} for source in sources]
    done = run({"cells": [{"cell_type": "markdown", "source": ["# T"]}, *cells]})
    first, second, third, fourth, fifth = done["cells"][1:]
    assert [one["output_type"] for one in first["outputs"]] == ["stream", "execute_result"]
    assert first["outputs"][0]["text"] == ["said\n"] and first["outputs"][1]["data"] == {"text/plain": ["3"]}
    assert second["outputs"] == third["outputs"] == fifth["outputs"] == []
    assert fourth["outputs"][0]["data"] == {"text/html": ["x"], "text/plain": ["y"]}
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5]
    assert shown(_Drawn())["text/html"] == ["<b>one</b>\n", "<i>two</i>"]
    write(done, tmp_path / "one.ipynb")
    assert read(tmp_path / "one.ipynb") == done
    with pytest.raises(ZeroDivisionError):
        run({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]})


@pytest.mark.slow
@every_notebook
def test_it_runs(name, tmp_path, monkeypatch):
    """And shows things of the same kinds as those that are kept; a machine's last digits may be others."""
    pytest.importorskip("datasets")  # not on the bare GPU machine
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    kept = read(NOTEBOOKS[name])
    for (now, code), (before, _) in zip(code_cells(run(read(NOTEBOOKS[name]))), code_cells(kept), strict=True):
        kinds = [[(one["output_type"], *one.get("data", ())) for one in cell["outputs"]] for cell in (now, before)]
        assert kinds[0] == kinds[1], code


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """What two of them show, one under the other, as notebooks and what is exported of them do it."""
    page = tmp_path_factory.mktemp("notebook") / "shown.html"
    both = [output for name in ("explained", "lecture") for _, output in outputs(name)]
    parts = "\n".join(f"<div class=output>{_html(output)}</div>" for output in both)
    page.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><main>{parts}</main>")
    return page


def _html(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    return "".join(data.get("text/html", ())) or f"<pre>{escape(''.join(texts(output)))}</pre>"


@NEEDS_CHROMIUM
def test_its_views_draw_without_a_network_and_leave_each_other_alone(visit):
    page = visit()
    views = [page.frame_locator("iframe").nth(place) for place in range(2)]
    assert page.locator("iframe").count() == 2
    for view in views:
        view.locator(".attention[aria-busy=false]").wait_for()
    first = views[1].locator(".one h2").inner_text()
    views[0].locator("[data-head='3.6']").click()
    assert [view.locator(".one h2").inner_text() for view in views] == ["Layer 3, head 6", first]
    assert views[0].locator("[data-head]").count() == 144
    drawn = views[1].locator("[data-head='5.4'] canvas").evaluate("(canvas) => canvas.toDataURL().length")
    assert drawn > 500
    with page.expect_download() as saved:
        views[0].get_by_role("button", name="Save SVG").click()
    assert Path(saved.value.path()).read_text().startswith("<svg")
    widths = page.locator("img").evaluate_all("(all) => all.map((one) => one.naturalWidth)")
    assert widths and min(widths) > 100
