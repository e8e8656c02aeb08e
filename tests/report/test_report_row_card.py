"""The row card, in a browser with the network off; what it shows is planted."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from browsing_rows import (  # noqa: F401
    FEW,
    OTHER,
    address,
    card,
    comes_to,
    ends,
    fold,
    ids,
    is_focused,
    opened,
    page_file,
    said,
)  # fmt: skip
from planted_page import HOSTILE

pytestmark = NEEDS_CHROMIUM


def test_a_click_on_a_row_opens_its_card_with_everything_known_of_it(visit):
    page = visit()
    rows = opened(page)
    rows.locator("tbody tr").nth(2).locator("td").nth(3).click()  # anywhere in the line
    comes_to(page, "test:3")
    assert ends(page, address(page, "test:3"))
    assert card(page).locator(".row-text").inner_text() == HOSTILE
    assert card(page).locator(".own").inner_text().split() == ["label", "positive"]
    near = f"like {HOSTILE[:60]} label positive similarity"
    assert said(page, "Which rows are wrong?") == [
        "prediction | negative", "its probability | 0.520 2nd lowest of 10", "prediction is | wrong",
        "loss | 0.734 2nd highest of 10", "slices | long odd rows",
        f"most similar training rows | {near} 0.900 row train:7 {near} 0.800 row train:7",
    ]  # fmt: skip
    assert said(page, "Which rows change?") == [
        "from A to B | broken", "prediction of A | positive p 0.500", "prediction of B | negative p 0.520",
    ]  # fmt: skip
    why = said(page, "Which words did it?")
    assert why[0] == "what is explained | the class positive value 1.250 gap 0.00100"
    assert said(page, "switched off") == ["another prediction without | head 2.1 MLP 1 layer 2 all heads of layer 1"]
    headings = card(page).locator(".known h3").all_inner_texts()
    assert headings[:3] == ["Which rows are wrong?", "Which rows change?", "Which words did it?"]
    assert card(page).locator("script").count() == 0


def test_words_are_coloured_by_what_they_did(visit):
    page = visit()
    opened(page).locator("tbody tr").first.locator("a").click()
    words = card(page).locator(".tinted i")
    words.first.wait_for()
    assert words.all_inner_texts() == FEW.text[0].split()
    kinds = words.evaluate_all("(found) => found.map((word) => word.className)")
    assert kinds == ["for seen"] * 4 + ["against seen"] * 2  # from 1 to -0.5 in steps of 0.3
    assert words.first.get_attribute("title") == "+1.000" and words.last.get_attribute("title") == "−0.500"
    colours = words.evaluate_all("(found) => found.map((word) => getComputedStyle(word).backgroundColor)")
    assert len(set(colours)) == 6


def test_a_head_without_which_it_flips_leads_to_its_card_and_back_to_the_row(visit):
    page = visit()
    opened(page).locator("tbody tr").nth(2).locator("a").click()
    said(page, "switched off")
    card(page).get_by_role("button", name="Layer 2, head 1: what is known of it").click()
    page.locator("#head-card h2").get_by_text("Layer 2, head 1", exact=True).wait_for()
    assert not card(page).is_visible()
    page.go_back()
    comes_to(page, "test:3")
    assert not page.locator("#head-card").is_visible()


def test_arrows_turn_the_card_in_the_order_of_the_list(visit):
    page = visit()
    rows = opened(page)
    rows.get_by_role("button", name="wrong 3", exact=True).click()
    rows.get_by_role("button", name="least sure", exact=True).click()
    rows.locator("tbody tr a").first.click()
    comes_to(page, "test:4")
    assert card(page).locator(".where").inner_text() == "1 of 3"
    page.keyboard.press("ArrowRight")
    comes_to(page, "test:3")
    card(page).get_by_role("button", name="Next row").click()
    comes_to(page, "test:9")
    assert ends(page, address(page, "test:9"))
    assert card(page).get_by_role("button", name="Next row").get_attribute("aria-disabled") == "true"
    page.keyboard.press("ArrowRight")  # there is none
    page.keyboard.press("ArrowLeft")
    comes_to(page, "test:3")
    page.keyboard.press("Escape")
    assert ends(page, ".html") and not card(page).is_visible()
    assert is_focused(page, "test:3")  # in the list, where the reader now is


def test_everything_can_be_done_without_a_mouse(visit):
    page = visit()
    fold(page).locator("> summary").focus()
    page.keyboard.press("Enter")
    fold(page).locator("tbody tr").first.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.type("dull")
    assert ids(fold(page)) == ["test:9", "test:10"]
    fold(page).locator("tbody a").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    comes_to(page, "test:10")
    page.keyboard.press("ArrowLeft")
    comes_to(page, "test:9")
    page.keyboard.press("Escape")
    assert is_focused(page, "test:9")
    broken = fold(page).get_by_role("button", name="broken 2", exact=True)
    broken.focus()
    page.keyboard.press("Space")
    assert ids(fold(page)) == ["test:9"]


def test_a_link_opens_the_row_and_the_way_back_closes_it(visit):
    page = visit()
    at = address(page, "test:4")
    page = visit(at=at)
    comes_to(page, "test:4")
    assert card(page).locator(".row-text").inner_text() == FEW.text[3] and ends(page, at)
    card(page).get_by_role("button", name="Close").click()
    assert ends(page, ".html")
    opened(page).locator("tbody tr a").first.click()
    comes_to(page, "test:1")
    page.go_back()
    card(page).wait_for(state="hidden")


def test_rows_that_are_not_there_have_no_card(visit):
    at = address(visit(), "x").removesuffix("x")
    pages = {row: visit(at=at + row) for row in ("test:99", "", "%", "data")}
    pages["data"].wait_for_timeout(300)
    assert [row for row, page in pages.items() if card(page).is_visible()] == []


def test_rows_of_other_data_with_the_same_id_dont_mix(visit):
    page = visit()
    rows = opened(page, OTHER)
    assert rows.locator("thead th").all_inner_texts() == ["row", "text", "label", "prediction", "its probability"]
    rows.locator("tbody tr a").nth(2).click()
    comes_to(page, "test:3")
    assert card(page).locator(".known h3").all_inner_texts() == ["Which rows are wrong?"]
    assert ends(page, address(page, "test:3", OTHER))


def test_the_switch_applies_to_lists_and_card(visit):
    page = visit()
    opened(page)
    page.locator("nav").get_by_label("Task").select_option(OTHER)
    assert not fold(page).is_visible() and fold(page, OTHER).is_visible()
    page.locator("nav").get_by_label("Task").select_option("")
    page.locator("nav").get_by_label("Model").select_option("pocket")
    assert fold(page).is_visible() and not fold(page, OTHER).is_visible()
    fold(page).locator("tbody tr a").first.click()
    comes_to(page, "test:1")
    assert card(page).locator("select[name=model]").input_value() == "pocket"
    card(page).locator("select[name=task]").select_option(OTHER)
    card(page).wait_for(state="hidden")  # nothing is known of this row there


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_list_and_card_fit_a_phone(visit, theme):
    page = visit(360, theme)
    rows = opened(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = "(found) => found.filter((each) => each.getBoundingClientRect().right > 361).length"
    assert rows.locator("*:visible").evaluate_all(wide) == 0
    rows.locator("tbody tr a").nth(4).click()  # one word of 250 letters
    comes_to(page, "test:5")
    assert card(page).evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    assert card(page).locator(".known *").evaluate_all(wide) == 0
    assert card(page).locator("h2").evaluate("(title) => title.getBoundingClientRect().height") < 40  # on one line
