"""Points with words beside them, and figures that one steps through: what reaches Vega, files and the page."""

from __future__ import annotations

import re
import shutil

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.result import Result
from bertscope.report.build import build_report
from bertscope.report.charts import draw
from browsing import CHROMIUM, QUIET
from planted_figures import stepped, svg, walk
from planted_page import HOSTILE, models, put


def points(picture: str) -> int:
    return picture.count('aria-roledescription="point"')


def test_a_slider_for_numbers_in_a_row_and_a_list_for_anything_else():
    (param,) = draw(stepped(), walk()).to_dict()["params"]
    assert param["value"] == 2
    assert param["bind"] == {"input": "range", "min": 0, "max": 2, "step": 1, "name": "layer "}
    named = walk().assign(layer=lambda table: table["layer"].map({0: "z", 1: "a", 2: HOSTILE}))
    (param,) = draw(stepped(), named).to_dict()["params"]
    assert param["value"] == HOSTILE and param["bind"]["options"] == ["z", "a", HOSTILE]
    gaps = walk().assign(layer=lambda table: table["layer"] * 4)
    assert draw(stepped(), gaps).to_dict()["params"][0]["bind"]["options"] == [0, 4, 8]
    assert "params" not in draw(stepped(step=None, path=None), walk()).to_dict()


@pytest.mark.parametrize("facet", [None, "model"])
def test_files_show_the_last_step_with_its_name_and_words(tmp_path, facet):
    table = pd.concat([walk(model="a"), walk(model="b")]) if facet else walk()
    picture = svg(stepped(facet=facet), table, tmp_path)
    panels = 2 if facet else 1
    assert points(picture) == 3 * panels
    for text in (">layer 2<", ">good<", ">food<", ">[CLS]<"):
        assert picture.count(text) == panels


def test_every_step_is_on_the_same_scales():
    spec = draw(stepped(), walk()).to_dict()
    x = [layer["encoding"]["x"]["scale"]["domain"] for layer in spec["layer"] if "field" in layer["encoding"]["x"]]
    assert len(x) == 4 and all(ends == x[0] for ends in x) and x[0][0] < 0 and x[0][1] > 22


def test_words_stand_where_there_is_room(tmp_path):
    picture = svg(stepped(step=None, path=None), walk(1, ("left", "middle", "right")), tmp_path)
    anchors = re.findall(r'<text text-anchor="(\w+)"[^>]*>(left|middle|right)<', picture)
    assert {word: anchor for anchor, word in anchors} == {"left": "start", "middle": "start", "right": "end"}


def test_a_line_leads_from_the_step_before(tmp_path):
    picture = svg(stepped(), walk(), tmp_path)
    lines = re.findall(r'<path d="M([\d.]+),([\d.]+)L([\d.]+),([\d.]+)"[^>]*opacity="0.4"', picture)
    assert len(lines) == 3 and all(y == y_after and x != x_after for x, y, x_after, y_after in lines)
    assert 'opacity="0.4"' not in svg(stepped(path=None), walk(), tmp_path)


def test_odd_tables_are_drawn_all_the_same(tmp_path):
    for table in (walk().head(0), walk().head(1), walk().assign(x=float("nan")), walk().assign(token=HOSTILE)):
        picture = svg(stepped(), table, tmp_path)
        assert picture.startswith("<svg") and "<script" not in picture


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium: apt-get install chromium")
def test_the_page_steps_and_remembers(tmp_path):
    from playwright.sync_api import sync_playwright

    table = walk(layers=5)
    put(tmp_path, Result("project", 1, {"t": table}, figures=[stepped()], models=models()))
    file = build_report(tmp_path, tmp_path / "page.html")
    messages: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_context(viewport={"width": 900, "height": 800}, offline=True).new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(file.as_uri())
        chart = page.locator(".chart")
        chart.locator("svg").wait_for()
        slider = chart.locator("input[type=range]")

        def named(layer: int):
            return chart.locator("svg text", has_text=re.compile(f"^layer {layer}$"))

        assert slider.input_value() == "4" and named(4).count() == 1
        slider.focus()
        page.keyboard.press("Home")
        named(0).wait_for()
        assert chart.locator('[aria-roledescription="point"]').count() == 3
        page.keyboard.press("ArrowRight")
        named(1).wait_for()
        page.locator("button.theme").click()
        page.locator(".chart[data-drawn=dark] svg").wait_for()
        named(1).wait_for()
        assert chart.locator("input[type=range]").input_value() == "1"
        browser.close()
    assert messages == []
