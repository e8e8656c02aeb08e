"""The page in a browser with the network off: figures, theme, phone, sorting, downloads, printing."""

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
from bertscope.report.sections import ROWS
from browsing import NEEDS_CHROMIUM, browser, draw_all, unfold, visit  # noqa: F401
from planted_figures import bars, cells, maps, shares
from planted_page import HOSTILE, ablation, heads, heat, models, put

FIGURES = 8
SHEET = cells(*np.random.default_rng(0).random((7, 20, 20)))
pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("store")
    wide = heads(12, 12).assign(a_rather_long_column_name=1.0, another_long_column_name="some words in it")
    put(store, ablation(), seed=0)
    put(store, Result("ablate", 1, {"heads": wide}, figures=[heat()], models=models(HOSTILE), notes=[HOSTILE]))
    curve = pd.DataFrame({"epoch": [1, 2, 3] * 2, "loss": [3.5, None, 1.0, 9.0, 10.0, 2.0]})
    curve["split"] = ["train"] * 3 + [HOSTILE] * 3
    lines = Figure("lines", "curve", "epoch", "loss", "Loss", "c", color="split", rules={"chance": 2.0}, log_x=True)
    put(store, Result("finetune", 1, {"curve": curve}, figures=[lines], models=models()))
    arms = pd.DataFrame({"arm": ["majority", "a much longer name of an arm"], "accuracy": [0.5, 0.9]})
    arms = arms.assign(low=[None, 0.8], high=[None, 0.95])
    rules = {"majority": 0.5, "bag of words": 0.81}
    dots = Figure("intervals", "arms", "accuracy", "arm", "Arms", "c", low="low", high="high", rules=rules)
    put(store, Result("scratch", 1, {"arms": arms}, figures=[dots], models=models()))
    panels = pd.concat([shares(name) for name in ("pocket", "tuned", HOSTILE)])
    clusters = heads(12, 12).assign(cluster="one")
    figures = [
        bars(facet="model"), maps(token="token"), heat(facet="cluster"),
        Figure("points", "clusters", "effect", "low", "Heads", "c", color="cluster"),
    ]  # fmt: skip
    drawn_from = ["shares", "maps", "clusters", "clusters"]
    figures = [replace(figure, table=table) for figure, table in zip(figures, drawn_from, strict=True)]
    tables = {"shares": panels, "maps": SHEET, "clusters": clusters}
    put(store, Result("patterns", 1, tables, figures=figures, models=models()))
    return build_report(store, store / "page.html")


def all_drawn(page, theme: str) -> None:
    """Wait for it; without wait_for_function, whose second look is an eval that the page forbids."""
    page.locator(f".chart[data-drawn={theme}] svg").nth(FIGURES - 1).wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_drawn_and_nothing_overflows(visit, width):
    page = visit(width)
    draw_all(page)
    assert page.locator(".chart svg").count() == page.locator(".chart").count() == FIGURES
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside = "(svg) => svg.getBoundingClientRect().right <= svg.closest('article').getBoundingClientRect().right"
    assert all(svg.evaluate(inside) for svg in page.locator(".chart svg").all())
    # Nothing that is drawn is cut off at the edge of its picture.
    cut = """(svg) => [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBoundingClientRect(), whole = svg.getBoundingClientRect();
        return box.width && (box.right > whole.right + 1 || box.left < whole.left - 1);
    }).map((text) => text.textContent)"""
    assert [svg.evaluate(cut) for svg in page.locator(".chart svg").all()] == [[]] * FIGURES


def test_figures_wait_until_they_come_into_view(visit):
    page = visit()
    page.locator(".chart svg").first.wait_for()
    assert page.locator(".chart svg").count() < FIGURES


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
    assert page.locator(".chart[data-drawn=dark]").count() == FIGURES
    page.get_by_role("button", name="Switch to light colours").click()
    all_drawn(page, "light")
    assert page.evaluate(background) != dark
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"  # remembered


def test_a_table_is_sorted_by_its_numbers_and_gaps_stay_last(visit):
    page = visit()
    table = page.locator("#question-finetune details.table")
    unfold(page, table)
    loss = table.get_by_role("button", name="loss")

    def column() -> list[str]:
        return table.locator("tbody td:nth-child(2)").all_text_contents()

    loss.click()
    table.locator("th[aria-sort=ascending]").wait_for()
    assert column() == ["1.00", "2.00", "3.50", "9.00", "10.00", "–"]
    loss.press("Enter")
    table.locator("th[aria-sort=descending]").wait_for()
    assert column() == ["10.00", "9.00", "3.50", "2.00", "1.00", "–"]


def test_a_long_table_is_sorted_whole_though_only_its_first_rows_are_shown(visit):
    page = visit()
    table = page.locator("#question-patterns details[data-table=maps]")
    unfold(page, table)
    table.get_by_role("button", name="attention", exact=True).click()
    table.locator("th[aria-sort=ascending]").wait_for()
    assert table.locator("tbody tr").count() == ROWS
    smallest = SHEET["attention"].sort_values().head(ROWS)
    shown = [float(text.replace("−", "-")) for text in table.locator("tbody td:nth-child(4)").all_text_contents()]
    np.testing.assert_allclose(shown, smallest, atol=5e-4)


def test_tables_and_figures_can_be_downloaded(visit):
    page = visit()
    unfold(page, page.locator("#question-scratch details.table"))
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
    all_drawn(page, "light")
    assert page.locator("details.table[open]").count() == page.locator("details.table[data-paper]").count() == 4
    page.locator("#question-scratch tbody tr").nth(1).wait_for(state="attached")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    all_drawn(page, "dark")
    assert page.locator("main details[open]").count() == 0


def test_printing_waits_until_everything_is_drawn(visit):
    page = visit(theme="dark")
    page.evaluate(
        "() => { window.print = () => { document.title = document.querySelectorAll('svg.marks').length; }; }"
    )
    page.keyboard.press("Control+p")
    page.locator(f"xpath=//title[text()='{FIGURES}']").wait_for(state="attached")
    assert page.locator("details.table[data-paper]:not([open])").count() == 0
    page.emulate_media(media="print")
    assert page.locator("nav:visible, .save:visible, button.theme:visible").count() == 0


def test_the_keyboard_reaches_the_results_at_once(visit):
    page = visit(390)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    assert not page.locator("nav details").evaluate("(details) => details.open")  # folded away on a phone


@pytest.mark.parametrize("width", [1280, 390])
def test_a_section_that_was_asked_for_stays_in_view_while_figures_grow(visit, width):
    page = visit(width, at="#question-finetune")
    page.locator("#question-finetune .chart svg").wait_for()
    page.locator("#question-ablate .chart svg").last.wait_for()  # above it, and drawn since it is near
    top = "document.getElementById('question-finetune').getBoundingClientRect().top"
    bottom = "document.documentElement.scrollHeight - scrollY - innerHeight"
    assert abs(page.evaluate(top)) < 110 or page.evaluate(bottom) < 2  # the last sections can't come to the top


def test_panels_are_arranged_anew_when_the_window_changes(visit):
    page = visit(1280)
    draw_all(page)
    chart = page.locator("#question-patterns .chart").first
    tops = "(texts) => texts.map((text) => Math.round(text.getBoundingClientRect().top))"

    def rows() -> int:
        return len(set(chart.locator(".role-title-text").evaluate_all(tops)))

    assert rows() == 1
    page.set_viewport_size({"width": 390, "height": 900})
    chart.locator("svg[width^='3']").wait_for()
    assert rows() == 3


def test_maps_are_pictures_in_the_themes_colours_with_names(visit):
    """The browser decodes them, and what it shows of the highest value is the theme's last colour."""
    highest = """async (image) => {
        const picture = new Image();
        picture.src = image.getAttribute('href') ?? image.getAttribute('xlink:href');
        await picture.decode();
        const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
        canvas.drawImage(picture, 0, 0);
        const colours = canvas.getImageData(0, 0, picture.width, picture.height).data;
        let end = 0;
        for (let at = 0; at < colours.length; at += 4) if (colours[at] < colours[end] === LIGHT) end = at;
        return [picture.width, picture.height, ...colours.slice(end, end + 3)];
    }"""
    for theme, last in (("light", "#0b3c70"), ("dark", "#d6ecff")):
        page = visit(theme=theme)
        draw_all(page)
        images = page.locator("#question-patterns image").all()
        assert len(images) == 7 and images[0].get_attribute("aria-label") == "head 1 · block"
        found = [image.evaluate(highest.replace("LIGHT", str(theme == "light").lower())) for image in images]
        assert {tuple(size) for *size, _, _, _ in found} == {(20, 20)}
        assert min(abs(red - int(last[1:3], 16)) for _, _, red, _, _ in found) <= 1
        assert page.get_by_label("Maps", exact=True).count() == 1


def test_a_packed_table_is_downloaded_whole(visit):
    page = visit()
    table = page.locator("#question-patterns details.table").nth(1)
    unfold(page, table)
    with page.expect_download() as download:
        table.get_by_role("button", name="Download CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 1 + 7 * 20 * 20 and lines[1].startswith("head 1 · block,1,1,0.")
    assert pd.read_csv(download.value.path()).equals(SHEET)  # to the last digit
