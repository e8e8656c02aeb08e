"""The tables of several answers in a browser: one of each name, with a switch."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("playwright")

from browsing import NEEDS_CHROMIUM, browser, open_folds, visit  # noqa: F401
from planted_answers import answer
from planted_page import put
from side_by_side import FOUR, block, choose, drawn, open_table, opened, page_file, panels  # noqa: F401

pytestmark = NEEDS_CHROMIUM


@pytest.mark.slow
def test_one_table_holds_the_rows_of_all_and_is_sorted_as_a_whole(visit):
    page = visit()
    table = open_table(page, "heads")
    assert table.locator("tbody tr").count() == 4 * 6
    assert table.locator("thead th").all_inner_texts() == ["answer", "layer", "head", "effect", "low", "high"]
    table.get_by_role("button", name="effect").click()
    table.locator("th[aria-sort=ascending]").wait_for()
    effects = [float(text.replace("−", "-")) for text in table.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert effects == sorted(effects) and effects[0] == -0.4
    assert table.locator("tbody td:nth-child(1)").first.inner_text() == FOUR[3]
    table.locator("[data-head='1.2']").first.click()
    page.locator("#head-card[open]").wait_for()


def test_its_switch_shows_one_answer_whose_csv_is_as_it_was(visit):
    page = visit()
    table = open_table(page, "curve")
    table.get_by_label("Answer").select_option(FOUR[2])
    table.locator("tbody tr:nth-child(6)").wait_for()
    assert table.locator("tbody tr").count() == 6 and table.locator("thead th").first.inner_text() == "checkpoint"
    with page.expect_download() as download:
        table.get_by_role("button", name="Download CSV").click()
    whole = answer("demo/topics", 0.3).tables["curve"]
    names = {one.id: one.name for one in answer("demo/topics").models.values()}
    saved = pd.read_csv(download.value.path())
    pd.testing.assert_frame_equal(saved, whole.assign(checkpoint=whole["checkpoint"].map(names)), check_dtype=False)
    table.get_by_label("Answer").select_option("all answers")
    table.locator("tbody tr:nth-child(24)").wait_for()
    with page.expect_download() as download:
        table.get_by_role("button", name="Download CSV").click()
    saved = pd.read_csv(download.value.path())
    assert saved.groupby("answer", sort=False).size().to_dict() == dict.fromkeys(FOUR, 6)
    assert download.value.suggested_filename == "question-made-up-curve.csv"


def test_the_rows_are_those_of_the_answer_that_was_chosen_last(visit):
    page = visit()
    table = open_table(page, "heads")
    table.get_by_label("Answer").evaluate("""(select) => {
        for (const place of [2, 3]) {
            select.selectedIndex = place;
            select.dispatchEvent(new Event("change", { bubbles: true }));
        }
    }""")
    table.locator("tbody tr:nth-child(6)").wait_for()
    assert "0.300" in table.locator("tbody").inner_text()  # how far the third goes


def test_an_answer_leads_to_its_rows_in_the_shared_tables(visit):
    page = visit()
    open_folds(page)
    link = page.locator("article").nth(1).get_by_role("link", name="Shared tables")
    link.click()
    table = block(page).locator("details.table[data-table=heads]")
    assert table.get_by_label("Answer").locator("option:checked").text_content() == FOUR[1]
    table.locator("> summary").click()
    table.locator("tbody tr:nth-child(6)").wait_for()
    assert table.locator("tbody tr").count() == 6


@pytest.mark.slow
def test_a_switch_that_leaves_nothing_to_show_breaks_neither_tables_nor_paper(browser, tmp_path):
    put(tmp_path, answer("demo/sentiment", rows=2), on="a", task="demo/sentiment")
    put(tmp_path, answer("demo/topics", rows=80), on="b", task="demo/topics")
    put(tmp_path, replace(answer("demo/nli"), question="another"), on="c", task="demo/nli")
    page, broken = opened(browser, tmp_path), list[str]()
    page.on("pageerror", lambda error: broken.append(str(error)))
    table = open_table(page, "heads")
    choose(page, "demo/nli")  # that question has no answer here
    choose(page, "demo/topics")
    table.locator("tbody tr:nth-child(200)").wait_for()
    table.locator("> summary").click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # its one answer is too long for paper
    page.locator("article:visible .chart[data-drawn=light]").first.wait_for()
    assert not broken and table.get_attribute("open") is None
    page.context.close()


@pytest.mark.slow
def test_paper_has_of_a_shared_table_what_it_had_before(browser, tmp_path):
    """One answer's table is short, the other's isn't: only the first is printed, as if it stood alone."""
    put(tmp_path, answer("demo/sentiment", rows=2), on="a")
    put(tmp_path, answer("demo/topics", rows=80), on="b")
    page = opened(browser, tmp_path)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    table = block(page).locator("details.table[data-table=heads]")
    table.locator("tbody tr").first.wait_for()
    assert table.locator("tbody tr").count() == 6
    assert {*table.locator("tbody td:nth-child(1)").all_inner_texts()} == {"demo/sentiment"}
    page.context.close()


@pytest.mark.slow
def test_a_column_called_answer_stays_itself(browser, tmp_path):
    for task in ("demo/sentiment", "demo/topics"):
        result = answer(task)
        result.tables["heads"] = result.tables["heads"].assign(answer="its own")
        put(tmp_path, result, on=task)
    page = opened(browser, tmp_path)
    assert panels(drawn(page, "One head off")) == [["demo/sentiment"], ["demo/topics"]]
    table = open_table(page, "heads")
    heading = table.locator("thead th").all_inner_texts()
    assert heading[0] == "answer_" and heading[-1] == "answer"
    page.context.close()
