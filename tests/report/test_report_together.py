"""Several answers to a question side by side in a browser: one scale, panels that lead to answers, one table with a
switch, the page's switch, paper, and reading without scripts."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("playwright")

from browsing import NEEDS_CHROMIUM, browser, draw_all, height_of, open_folds, visit  # noqa: F401
from planted_answers import SAME, answer, store_of_four, tuned
from planted_page import put
from side_by_side import FOUR, block, choose, drawn, open_table, opened, page_file, panels  # noqa: F401

pytestmark = NEEDS_CHROMIUM


# Panels


def test_each_answer_has_a_panel_that_says_which_it_is(visit):
    page = visit()
    assert panels(drawn(page, "One head off")) == [name.split(" · ") for name in FOUR]
    tops = [box["y"] for each in block(page).locator("g.cell > g").all() if (box := each.bounding_box())]
    assert len({round(top) for top in tops}) <= 2  # headings in one row, and the panels under them


def test_all_panels_share_one_scale(visit):
    """What every answer has at step 1 stands equally high in all panels, though each reaches as far as another."""
    page = visit()
    open_folds(page)
    chart = drawn(page, "Score by step")
    heights = """(groups, value) => groups.map((group) => {
        const scores = [...group.querySelectorAll('.mark-symbol path')].filter((one) => one.__data__.datum.c1 === 1);
        const top = (one) => one.getBoundingClientRect().top;
        const down = (one) => Math.round(10 * (top(one) - top(group.querySelector('path.background'))));
        return [scores.length, ...scores.map((one) => [one.__data__.datum.c2 === value, down(one)])];
    })"""
    found = chart.locator("g.cell > g").evaluate_all(heights, SAME)
    assert len(found) == 4 and all(count == 2 for count, *_ in found)
    assert {tuple(each) for _, *both in found for each in both} == {(True, found[0][1][1])}
    assert chart.locator(".role-legend").count() >= 1 and chart.get_by_text("pocket tuned", exact=True).count() == 1


@pytest.mark.parametrize("how", ["name", "keyboard", "beside"])
def test_a_panel_leads_to_its_answer(visit, how):
    page = visit()
    if how == "beside":  # heads fill their panels, and lead to their cards
        block(page).locator(".figures > summary").click()
    chart = drawn(page, "Score by step" if how == "beside" else "One head off")
    name = chart.locator("text[data-panel]").nth(2)
    assert name.get_attribute("aria-label") == "Open this answer: demo/topics, seed 1"
    assert name.get_attribute("role") == "link"
    if how == "name":
        name.click()
    elif how == "keyboard":
        name.focus()
        page.keyboard.press("Enter")
    else:
        panel = chart.locator("g.cell > g").nth(2).locator("> path.background")
        panel.click(position={"x": 3, "y": 3}, force=True)
    opened = page.locator("details.further[open]")
    opened.locator(".chart svg").first.wait_for()
    assert opened.count() == 1 and "demo/topics, seed 1" in opened.locator("summary").first.inner_text()


def test_a_head_in_a_panel_still_opens_its_card(visit):
    page = visit()
    drawn(page, "One head off").locator("[data-head='2.3']").first.click()
    page.locator("#head-card[open]").wait_for()
    assert page.locator("#head-card h2").inner_text() == "Layer 2, head 3"


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_nothing_is_wider_than_the_screen_and_nothing_is_cut_off(visit, width, theme):
    page = visit(width, theme)
    draw_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside = """(svg) => {
        const whole = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
        const inside = boxes.every((box) => box.right <= whole.right + 1 && box.left >= whole.left - 1);
        return inside && whole.width >= 0.95 * svg.viewBox.baseVal.width; // letters aren't made smaller to fit
    }"""
    assert all(svg.evaluate(inside) for svg in block(page).locator(".chart svg").all())
    names = drawn(page, "One head off").locator("text[data-panel]").all()
    assert len({round(each.bounding_box()["x"]) for each in names}) == (4 if width == 1280 else 2)


def test_figures_keep_their_room_and_can_be_saved(visit):
    page = visit()
    kept = "(chart) => parseFloat(chart.style.minHeight)"
    first = block(page).locator("> figure .chart")
    before = first.evaluate(kept)
    assert abs(drawn(page, "One head off").evaluate(kept) - before) <= 12
    with page.expect_download() as download:
        block(page).locator("> figure").get_by_role("button", name="Save the figure as SVG").click()
    assert Path(download.value.path()).read_bytes().startswith(b"<svg")


# The page's switch


def test_the_pages_switch_leaves_the_panels_rows_and_numbers_that_fit(visit):
    page = visit()
    drawn(page, "One head off")
    table = open_table(page, "heads")
    choose(page, "demo/topics")
    page.locator(".side-by-side .chart[data-panels='2']").first.wait_for()
    assert panels(drawn(page, "One head off")) == [name.split(" · ") for name in FOUR[2:]]
    table.locator("tbody tr:nth-child(12)").wait_for()
    assert table.locator("tbody tr").count() == 12
    assert block(page).locator("> .beside tbody tr:visible").count() == 2
    assert block(page).locator("h3 .times").inner_text() == "2"
    choose(page, "")
    page.locator(".side-by-side .chart[data-panels='4']").first.wait_for()
    table.locator("tbody tr:nth-child(24)").wait_for()


def test_paper_unfolds_it_with_its_tables(visit):
    page = visit(theme="dark")
    table = block(page).locator("details.table[data-table=heads]")
    table.get_by_label("Answer").evaluate("(select) => { select.selectedIndex = 1; }")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    table.locator("tbody tr:nth-child(24)").wait_for(state="attached")  # whatever was chosen
    page.locator(".side-by-side .chart[data-drawn=light]").nth(2).wait_for()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.locator(".side-by-side .chart[data-drawn=dark]").first.wait_for()
    assert page.locator("main details[open]").count() == 0 and table.locator("tbody tr").count() == 0


# Pages of other answers


def test_where_the_switch_leaves_one_answer_it_stands_open_and_its_tables_stay(browser, tmp_path):
    for place, task in enumerate(("demo/sentiment", "demo/topics")):
        put(tmp_path, answer(task, (place + 1) / 10), task=task, on=task)
    page = opened(browser, tmp_path)
    choose(page, "demo/topics")
    assert (
        page.locator("article:visible").count() == 1
        and tuned("demo/topics").name in page.locator("article:visible h3").inner_text()
    )
    assert block(page).locator("figure:visible, .beside:visible, h3:visible").count() == 0
    table = block(page).locator("details.table[data-table=heads]")
    block(page).locator(".tables > summary").click()
    table.locator("> summary").click()
    table.locator("tbody tr").first.wait_for()
    assert table.locator("tbody tr").count() == 6
    choose(page, "")
    assert page.locator("article:visible").count() == 0 and block(page).locator("> figure:visible").count() == 1
    page.context.close()


def test_without_scripts_the_first_answer_stands_open_with_its_numbers(browser, tmp_path):
    page = opened(browser, store_of_four(tmp_path), java_script_enabled=False)
    assert page.locator("article:visible").count() == 1 and page.locator("article:visible .cards li").count() == 2
    assert block(page).locator("> .beside tbody tr:visible").count() == 4
    assert page.locator("article:visible .cards").inner_text().count("0.600") == 1
    page.context.close()


def test_four_answers_take_less_than_two_screens(page_file, visit):
    assert height_of(visit().context.browser, page_file) < 1800
