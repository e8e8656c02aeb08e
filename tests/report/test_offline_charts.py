"""Charts that notebooks show and files hold draw with the network off, and stay Altair's."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import warnings

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

import altair as alt

from bertscope.core.figure import Figure
from bertscope.core.result import Result
from bertscope.report.charts import pictures
from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401


def answer() -> Result:
    heads = pd.DataFrame({"layer": [1, 1, 2, 2], "head": [1, 2, 1, 2], "effect": [0.1, 0.2, 0.3, 0.4]})
    points = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [1.0, 2, 3, 4], "layer": [1, 1, 2, 2], "word": list("abcd")})
    return Result("phrenology", 1, {"heads": heads, "points": points}, figures=[
        Figure("heatmap", "heads", "head", "layer", "A picture", "c", value="effect", key="still"),
        Figure("points", "points", "x", "y", "One that moves", "c", token="word", step="layer", key="moving"),
    ])  # fmt: skip


def test_it_stays_an_altair_chart():
    chart = answer().plot("still")
    assert isinstance(chart, alt.LayerChart) and isinstance(chart, alt.TopLevelMixin)
    wider = chart.properties(width=300)
    assert isinstance(wider, alt.LayerChart) and wider.to_dict()["width"] == 300
    assert "data:image/svg+xml" in wider._repr_mimebundle_()["text/html"], "what is made from it draws offline too"
    assert alt.Chart(pd.DataFrame()).__class__ is alt.Chart, "and nobody else's charts are changed"


def test_a_notebook_gets_a_picture_and_what_moves_a_frame():
    still, moving = (answer().plot(key)._repr_mimebundle_()["text/html"] for key in ("still", "moving"))
    assert still.startswith('<img alt="A picture"') and len(still) < 40_000
    assert moving.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts' in moving
    assert "cdn" not in still + moving


def test_whoever_chose_a_renderer_gets_it():
    with alt.renderers.enable("mimetype"):
        bundle, _ = answer().plot()._repr_mimebundle_()
    assert [kind for kind in bundle if kind.startswith("application/vnd.vegalite")] and "text/html" not in bundle


def test_files_of_every_kind(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending in ("svg", "png", "pdf", "json", "html"):
            answer().plot().save(tmp_path / f"chart.{ending}")
        answer().plot().save(str(tmp_path / "again.html"), format="html")
        with (tmp_path / "stream.html").open("w") as stream:
            answer().plot().save(stream, "html")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    for name in ("chart", "again", "stream"):
        assert "cdn.jsdelivr" not in (tmp_path / f"{name}.html").read_text()


@pytest.fixture(params=["notebook", "file"])
def page_file(request, tmp_path):
    """What a notebook shows of both, on one page; or the HTML that one is saved as."""
    out = tmp_path / "page.html"
    if request.param == "file":
        answer().plot("moving").save(out)
    else:
        shown = [answer().plot(key)._repr_mimebundle_()["text/html"] for key in ("still", "moving", "still")]
        out.write_text("<!doctype html><link rel=icon href='data:,'>" + "".join(f"<div>{one}</div>" for one in shown))
    return out


@NEEDS_CHROMIUM
def test_it_draws_without_a_network(visit, page_file):
    page = visit()
    inside = page.frame_locator("iframe") if page.locator("iframe").count() else page
    inside.locator("#vis svg, #vis canvas").first.wait_for()
    slider = inside.locator("input[type=range]")
    assert slider.get_attribute("max") == "2"
    sizes = page.locator("img").evaluate_all("(all) => all.map((one) => [one.complete, one.naturalWidth])")
    assert all(complete and width > 50 for complete, width in sizes)


@NEEDS_CHROMIUM
def test_no_word_of_a_picture_is_cut_by_its_edge(browser, tmp_path):
    """The picture was measured in one font and is drawn in another."""
    heads = answer().tables["heads"].assign(found=[True, False, True, False])
    words = {"effect": "share of the difference", "found": "carries some of it: p < .05, corrected (Holm)"}
    marked = Figure(
        "heatmap", "heads", "head", "layer", "One", "c", value="effect", mark="found", labels=words, key="marked"
    )
    (tmp_path / "chart.svg").write_bytes(pictures(marked, heads, ["svg"])["svg"])
    with browser.new_context(viewport={"width": 1280, "height": 900}, offline=True) as context:
        page = context.new_page()
        page.goto((tmp_path / "chart.svg").as_uri())
        width = page.evaluate("document.documentElement.viewBox.baseVal.width")
        ends = page.evaluate(
            "[...document.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect().right])"
        )
    assert len(ends) > 8 and [text for text, right in ends if right > width] == []
