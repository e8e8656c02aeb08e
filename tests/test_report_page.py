"""The page in a browser with the network off: figures, theme, phone, sorting, downloads, printing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.figure import Figure
from bertscope.core.result import Result
from bertscope.report.build import build_report
from test_report import HOSTILE, ablation, heads, heat, put

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("store")
    wide = heads(12, 12).assign(a_rather_long_column_name=1.0, another_long_column_name="some words in it")
    put(store, ablation(), seed=0)
    put(store, Result("ablate", 1, {"heads": wide}, figures=[heat()], subject={"model": HOSTILE}, notes=[HOSTILE]))
    curve = pd.DataFrame({"epoch": [1, 2, 3] * 2, "loss": [3.5, None, 1.0, 9.0, 10.0, 2.0]})
    curve["split"] = ["fit"] * 3 + [HOSTILE] * 3
    lines = Figure("lines", "curve", "epoch", "loss", "Loss", "c", color="split", rules={"chance": 2.0}, log_x=True)
    put(store, Result("finetune", 1, {"curve": curve}, figures=[lines], subject={"model": "pocket"}))
    arms = pd.DataFrame({"arm": ["majority", "a much longer name of an arm"], "accuracy": [0.5, 0.9]})
    arms = arms.assign(low=[None, 0.8], high=[None, 0.95])
    rules = {"majority": 0.5, "bag of words": 0.81}
    dots = Figure("intervals", "arms", "accuracy", "arm", "Arms", "c", low="low", high="high", rules=rules)
    put(store, Result("scratch", 1, {"arms": arms}, figures=[dots], subject={"model": "pocket"}))
    return build_report(store, store / "page.html")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, page_file):
    """Open the page; at the end it must have asked for nothing but itself and complained about nothing."""
    contexts, requests, complaints = [], [], []

    def open_page(width: int = 1280, theme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(page_file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert set(requests) == {page_file.as_uri()}
    assert complaints == []


def draw_all(page) -> None:
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_drawn_and_nothing_overflows(visit, width):
    page = visit(width)
    draw_all(page)
    assert page.locator(".chart svg").count() == page.locator(".chart").count() == 4
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside = "(svg) => svg.getBoundingClientRect().right <= svg.closest('article').getBoundingClientRect().right"
    assert all(svg.evaluate(inside) for svg in page.locator(".chart svg").all())
    # Nothing that is drawn is cut off at the edge of its picture.
    cut = """(svg) => [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBoundingClientRect(), whole = svg.getBoundingClientRect();
        return box.width && (box.right > whole.right + 1 || box.left < whole.left - 1);
    }).map((text) => text.textContent)"""
    assert [svg.evaluate(cut) for svg in page.locator(".chart svg").all()] == [[]] * 4


def test_figures_wait_until_they_come_into_view(visit):
    page = visit()
    page.locator(".chart svg").first.wait_for()
    assert page.locator(".chart svg").count() < 4


def test_hostile_text_is_shown_as_text(visit):
    page = visit()
    draw_all(page)
    assert page.locator(".note").first.text_content() == HOSTILE
    assert page.locator(".chart svg text", has_text="alert('x')").count() >= 1
    page.locator(".chart svg path[aria-roledescription=point]").last.hover()


def test_the_theme_follows_the_system_and_the_button(visit):
    page = visit(theme="dark")
    draw_all(page)
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    assert page.locator(".chart[data-drawn=dark]").count() == 4
    page.get_by_role("button", name="Light").click()
    page.wait_for_function("document.querySelectorAll('.chart[data-drawn=light] svg').length === 4")
    assert page.evaluate(background) != dark
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"  # remembered


def test_a_table_is_sorted_by_its_numbers_and_gaps_stay_last(visit):
    page = visit()
    table = page.locator("#question-finetune details.table")
    table.locator("summary").click()
    loss = table.get_by_role("button", name="loss")

    def column() -> list[str]:
        return table.locator("tbody td:nth-child(2)").all_text_contents()

    loss.click()
    assert column() == ["1.00", "2.00", "3.50", "9.00", "10.00", "–"]
    loss.press("Enter")
    assert column() == ["10.00", "9.00", "3.50", "2.00", "1.00", "–"]


def test_tables_and_figures_can_be_downloaded(visit):
    page = visit()
    page.locator("#question-scratch details.table summary").click()
    with page.expect_download() as download:
        page.locator("#question-scratch").get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename.endswith("-arms.csv")
    assert Path(download.value.path()).read_text().splitlines()[1] == "majority,0.5,,"
    draw_all(page)
    for ending, first in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.locator("#question-scratch").get_by_role("button", name=f"Save the figure as {ending}").click()
        assert Path(download.value.path()).read_bytes().startswith(first)


def test_paper_has_every_figure_in_light_and_the_short_tables(visit):
    page = visit(theme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("document.querySelectorAll('.chart[data-drawn=light] svg').length === 4")
    assert page.locator("details.table:not(.long):not([open])").count() == 0
    assert page.locator("details.long[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("document.querySelectorAll('.chart[data-drawn=dark] svg').length === 4")
    assert page.locator("main details[open]").count() == 0


def test_the_keyboard_reaches_the_results_at_once(visit):
    page = visit(390)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    assert not page.locator("nav details").evaluate("(details) => details.open")  # folded away on a phone
