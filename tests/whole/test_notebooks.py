"""The notebooks run from their first cell to their last, what they show draws without a network, and what they print
stays out of git."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from doc_pages import HERE

NOTEBOOKS = sorted((HERE / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch):
    pytest.importorskip("datasets")  # not on the bare GPU machine
    monkeypatch.chdir(tmp_path)
    assert all(map(repr, shown_by(path)))


def shown_by(path: Path) -> Iterator[Any]:
    """Run all cells; what a notebook would show under them."""
    session: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], start=1):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, f"clear the outputs of cell {number}"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), session)
        if isinstance(last, ast.Expr):
            yield eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), session)


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["attention", "quickstart"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """What the notebook on attention shows, one under the other, as notebooks and what is exported of them do it."""
    pytest.importorskip("altair")
    page = tmp_path_factory.mktemp("notebook") / "attention.html"
    outputs = "\n".join(f"<div class=output>{_html(one)}</div>" for one in shown_by(NOTEBOOKS[0]))
    page.write_text(f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><main>{outputs}</main>")
    return page


def _html(shown: Any) -> str:
    bundle = shown._repr_mimebundle_() if hasattr(shown, "_repr_mimebundle_") else {}
    own = shown._repr_html_() if hasattr(shown, "_repr_html_") else None
    return bundle.get("text/html") or own or f"<pre>{escape(repr(shown))}</pre>"


@NEEDS_CHROMIUM
def test_its_views_draw_without_a_network_and_leave_each_other_alone(visit):
    page = visit()
    views = [page.frame_locator("iframe").nth(place) for place in range(2)]
    assert page.locator("iframe").count() == 2
    for view in views:
        view.locator(".attention[aria-busy=false]").wait_for()
    views[0].locator("[data-head='3.6']").click()
    assert [view.locator(".one h2").inner_text() for view in views] == ["Layer 3, head 6", "Layer 1, head 1"]
    assert views[0].locator("[data-head]").count() == 144
    drawn = views[1].locator("[data-head='5.4'] canvas").evaluate("(canvas) => canvas.toDataURL().length")
    assert drawn > 500
    views[1].locator("select").select_option("second-first")
    with page.expect_download() as saved:
        views[0].get_by_role("button", name="Save SVG").click()
    assert Path(saved.value.path()).read_text().startswith("<svg")
    assert page.locator("img").evaluate("(one) => one.naturalWidth") > 100
