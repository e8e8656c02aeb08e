"""The page keeps free what a figure will take: nothing below it jumps as it is drawn."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.figure import Figure
from bertscope.core.result import Result
from bertscope.report.build import build_report
from browsing import NEEDS_CHROMIUM, browser, draw_all, visit  # noqa: F401
from planted_figures import bars, cells, maps, shares, stepped, tree_figure, tree_table, walk
from planted_page import heads, heat, models, put

A_FEW = 12  # pixels
SERIES = [f"a name, the {number}th" for number in range(9)]
pytestmark = NEEDS_CHROMIUM


def drawn() -> list[tuple[Figure, pd.DataFrame]]:
    """Figures that differ in what stands over, under and between their panels."""
    some = heads().assign(sure=[True, False] * 3, kind=SERIES[:6], of=["pocket · before", "pocket · after"] * 3)
    lines = Figure("lines", "t", "head", "effect", "Lines", "c")
    rows = Figure("intervals", "t", "effect", "kind", "Rows", "c")
    named = heads(9, 3).assign(relation=lambda table: table["head"].map({1: "a", 2: "subject of a verb", 3: "b"}))
    panels = pd.concat([shares(name) for name in ("a", "b", "c · and more", "d", "e")])
    trees = pd.concat([tree_table(), tree_table(sentence="s2 · 2 of 4 edges")])
    return [
        (lines, heads(1)),
        (replace(lines, color="kind", rules={"chance": 0.0}), some),
        (replace(lines, color="layer", facet="layer", labels={"layer": "the layer"}), heads(5)),
        (replace(lines, facet="of"), some),
        (rows, some),
        (replace(rows, rules={"chance": 0.0, "majority": 0.01}), some),
        (replace(rows, color="kind", rules={"chance": 0.0, "majority": 0.01}), some),
        (heat(), heads(12, 12)),
        (heat(), heads(2, 2)),
        (heat(mark="sure"), some),
        (replace(heat(), x="relation"), named),
        (heat(facet="of", labels={"head": ""}), some),
        (bars(facet="model"), panels),
        (maps(token="token"), cells(*np.random.default_rng(0).random((4, 12, 12)))),
        (tree_figure(), trees),
        (stepped(facet="model"), pd.concat([walk(model="a"), walk(model="b")])),
    ]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store, figures = tmp_path_factory.mktemp("store"), drawn()
    tables = {f"t{number}": table for number, (_, table) in enumerate(figures)}
    named = [replace(figure, table=f"t{number}") for number, (figure, _) in enumerate(figures)]
    put(store, Result("ablate", 1, tables, figures=named, models=models()))
    return build_report(store, store / "page.html")


HEIGHTS = "() => [...document.querySelectorAll('.chart')].map((chart) => chart.offsetHeight)"
# Nothing is shown, then everything is: before the browser has had the time to draw.
BEFORE = f"""async () => {{
    location.hash = '';
    await new Promise((done) => addEventListener('hashchange', done, {{ once: true }}));
    return ({HEIGHTS})();
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_figure_takes_the_room_that_was_kept_for_it(visit, width):
    page = visit(width, at="#task=none")
    assert page.locator(".chart[data-drawn]").count() == 0
    before = page.evaluate(BEFORE)
    assert page.locator(".chart svg").count() < len(before) == len(drawn())
    draw_all(page)
    after = page.evaluate(HEIGHTS)
    assert [kept for kept in before if kept < 100] == []
    assert {place: (kept, took) for place, (kept, took) in enumerate(zip(before, after, strict=True))
            if abs(kept - took) > A_FEW} == {}  # fmt: skip


BEYOND = """() => [...document.querySelectorAll('.chart')].filter((chart) => {
    const edge = (element) => element.getBoundingClientRect().right, svg = chart.querySelector('svg');
    return [...svg.querySelectorAll('.role-legend-label text')].some((label) => edge(label) > edge(svg));
}).map((chart) => chart.dataset.figure)"""


@pytest.mark.slow
def test_a_figure_of_few_cells_is_as_wide_as_its_legend(visit):
    page = visit(1280)
    draw_all(page)
    assert page.evaluate(BEYOND) == []
