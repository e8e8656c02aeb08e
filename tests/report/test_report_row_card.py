"""The list of rows and the row card, in a browser with the network off; what they show is planted."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.report.build import build_report
from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from planted_page import HOSTILE
from planted_rows import declare, few_rows, many_rows, put

pytestmark = NEEDS_CHROMIUM
FEW = few_rows()
OTHER = "glue/rte"
AT_ONCE = 50
MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """Ten rows of one data set, of which much is known by two models; and of another, with the same ids, little."""
    store = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        declare(patch)
        flips = {"test:3": ["head:2.1", "mlp:1", "layer:2", "heads:1"], "test:1": ["head:1.3"]}
        for result in (FEW.mistakes(), FEW.duel(), FEW.reasons(4), FEW.flips(flips)):
            put(store, result)
        more = {"model": "bert & co", "task": OTHER}
        put(store, FEW.mistakes(slices=False, **more), data="2" * 16, **more)
        return build_report(store, store / "page.html")


@pytest.fixture(scope="module")
def large_page(tmp_path_factory) -> Path:
    """Ten thousand rows with texts as long as reviews: errors of two models, flips of all, and 500 explained."""
    store, many = tmp_path_factory.mktemp("large"), many_rows(words=80)
    assert np.mean([len(text) for text in many.text]) > 200
    units = np.array([f"head:{layer}.{head}" for layer in range(1, 13) for head in range(1, 13)])
    generator = np.random.default_rng(2)
    flips = {id: units[generator.random(144) < 0.138].tolist() for id in many.ids}
    assert sum(map(len, flips.values())) > 195_000
    with pytest.MonkeyPatch.context() as patch:
        declare(patch)
        results = (many.mistakes(), many.mistakes(model="other"), many.duel(), many.reasons(500), many.flips(flips))
        for result in results:
            put(store, result, model=next(iter(result.models.values())).name)
        return build_report(store, store / "page.html")


def card(page):
    return page.locator("#row-card")


def fold(page, task: str = "demo/sentiment"):
    return page.locator("details.data-rows", has=page.get_by_text(task, exact=True))


def opened(page, task: str = "demo/sentiment"):
    """The list of a data set's rows."""
    fold(page, task).locator("> summary").click()
    fold(page, task).locator("tbody tr").first.wait_for()
    return fold(page, task)


def ids(rows) -> list[str]:
    return rows.locator("tbody .row-id").all_inner_texts()


def said(page, heading: str) -> list[str]:
    """A section's lines on the card, with one space between their parts."""
    section = card(page).locator(".known > section", has=page.get_by_role("heading", name=heading))
    section.first.wait_for()
    texts = section.locator(".facts-of-row > div").evaluate_all(
        "(rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim()).join(' | '))"
    )
    return [" ".join(text.split()) for text in texts]


def comes_to(page, row: str) -> None:
    card(page).locator("h2").get_by_text(f"Row {row}", exact=True).wait_for()


def ends(page, end: str) -> bool:
    for _ in range(100):
        if page.evaluate("location.href").endswith(end):
            return True
        page.wait_for_timeout(20)
    return False


def address(page, row: str, task: str = "demo/sentiment") -> str:
    return f"#{fold(page, task).get_attribute('data-rows')}-{quote(row, safe='')}"


def test_the_section_is_folded_and_opens_to_what_was_planted(visit):
    page = visit()
    assert page.locator("#rows details[open]").count() == 0
    assert page.locator("#rows").evaluate("(section) => section.getBoundingClientRect().height") < 250
    page.locator("nav a", has_text="Row by row").click()
    rows = opened(page)
    assert ids(rows) == FEW.ids and rows.locator(".found").inner_text() == "10 rows"
    assert rows.locator("thead th").all_inner_texts() == [
        "row", "text", "label", "prediction", "its probability", "from A to B",
    ]  # fmt: skip
    assert rows.locator("tbody tr").nth(0).locator("td").all_inner_texts() == [
        "test:1", "a good film about a house", "positive", "positive", "0.990", "both right",
    ]  # fmt: skip
    assert rows.locator("tbody tr .mistake").all_inner_texts() == ["broken", "broken"]


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


@pytest.mark.parametrize(
    ("query", "found"),
    [("FILM", ["test:1", "test:2"]), ("dull very", ["test:10"]), ("test:4", ["test:4"]), ("جيد", ["test:4"]),
     ("<script>", ["test:3"]), ("broken", ["test:3", "test:9"]), (".*", [])],
)  # fmt: skip
def test_search_finds_texts_labels_and_ids_as_they_are_typed(visit, query, found):
    page = visit()
    rows = opened(page)
    rows.get_by_role("searchbox").press_sequentially(query)
    assert ids(rows) == found and rows.locator(".found").inner_text() == f"{len(found)} of 10 rows"
    if query == "FILM":
        assert rows.locator("mark").all_inner_texts() == ["film", "film"]
    rows.get_by_role("searchbox").fill("")
    assert ids(rows) == FEW.ids


def test_rows_can_be_chosen_wrong_fixed_broken_and_by_slices_and_labels(visit):
    page = visit()
    rows = opened(page)

    def choose(name: str) -> list[str]:
        rows.get_by_role("button", name=name, exact=True).click()
        return ids(rows)

    fixed, broken = ["test:2", "test:6", "test:8", "test:10"], ["test:3", "test:9"]
    assert choose("wrong 3") == ["test:3", "test:4", "test:9"]
    assert rows.get_by_role("button", name="wrong 3").get_attribute("aria-pressed") == "true"
    assert choose("broken 2") == broken  # both are asked for
    assert choose("wrong 3") == broken and choose("fixed 4") == fixed  # one of a kind at a time
    assert choose("odd rows 5") == []
    assert choose("fixed 4") == ["test:1", "test:3", "test:5", "test:7", "test:9"]
    assert choose("odd rows 5") == FEW.ids
    assert choose("negative 5") == ["test:2", "test:4", "test:6", "test:8", "test:10"]
    rows.get_by_role("searchbox").fill("bad")
    assert ids(rows) == ["test:2"]


def test_rows_are_sorted_by_their_columns_and_the_least_sure_come_first(visit):
    page = visit()
    rows = opened(page)
    by_p = [FEW.ids[place] for place in np.argsort(FEW.p)]
    rows.get_by_role("button", name="least sure", exact=True).click()
    assert ids(rows) == by_p and rows.get_by_label("Order").input_value().startswith("0 ")
    rows.locator("thead button", has_text="its probability").click()
    assert ids(rows) == by_p[::-1] and rows.locator("th[aria-sort=descending]").inner_text().startswith("its prob")
    rows.get_by_label("Order").select_option(label="loss: highest first")
    assert ids(rows)[:3] == ["test:9", "test:3", "test:4"]  # the wrong ones, from the surest
    assert rows.locator("thead th").last.inner_text().startswith("loss")  # what it is sorted by is shown
    rows.get_by_label("Order").select_option(label="label: lowest first")
    assert ids(rows) == [*FEW.ids[1::2], *FEW.ids[::2]]
    rows.get_by_label("Order").select_option("")
    assert ids(rows) == FEW.ids


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
    assert page.evaluate("document.activeElement.innerText") == "test:3"  # in the list, where the reader now is


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
    assert page.evaluate("document.activeElement.innerText") == "test:9"
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


@pytest.mark.parametrize("row", ["test:99", "", "%", "data"])
def test_rows_that_are_not_there_have_no_card(visit, row):
    at = address(visit(), "x").removesuffix("x") + row
    page = visit(at=at)
    page.wait_for_timeout(300)
    assert not card(page).is_visible()


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


def test_paper_has_no_list_of_rows(visit):
    page = visit()
    opened(page)
    page.emulate_media(media="print")
    assert not page.locator("#rows").is_visible() and page.locator("#glance").is_visible()


def test_the_tables_of_a_result_have_the_texts_all_the_same(visit):
    page = visit()
    table = page.locator("#question-mistakes article").first.locator("details.table", has_text="rows")
    table.first.locator("summary").click()
    table.first.locator("tbody tr").first.wait_for()
    assert FEW.text[0] in table.first.locator("tbody tr").first.inner_text()
    near = page.locator("#question-mistakes article").first.locator("details.table", has_text="neighbours")
    near.locator("summary").click()
    near.locator("tbody tr").first.wait_for()
    assert f"like {FEW.text[0]}" in near.locator("tbody tr").first.inner_text()


# Ten thousand rows


def test_ten_thousand_rows_are_less_than_15_mb(large_page):
    assert large_page.stat().st_size < MOST_BYTES, f"{large_page.stat().st_size:,} bytes"


def test_ten_thousand_rows_are_shown_a_page_at_a_time(browser, large_page):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(large_page.as_uri())
    rows = opened(page)

    def few_elements() -> bool:
        return rows.locator("tbody tr").count() <= AT_ONCE and rows.locator("*").count() < 1500

    assert rows.locator(".found").inner_text() == "10,000 rows" and few_elements()
    rows.get_by_role("button", name="next ›").click()
    assert ids(rows)[0] == "test:51" and rows.locator(".pager span").inner_text() == "51 to 100 of 10,000"
    rows.get_by_role("button", name="least sure", exact=True).first.click()
    assert few_elements() and rows.locator(".pager span").inner_text().startswith("1 to 50")
    shown = [float(text) for text in rows.locator("tbody tr td:nth-child(5)").all_inner_texts()]
    assert shown == sorted(shown) and shown[-1] < 0.52
    rows.get_by_role("searchbox").fill("test:77")
    assert rows.locator(".found").inner_text() == "111 of 10,000 rows" and few_elements()
    rows.locator("tbody tr a").first.click()
    card(page).locator("h2").wait_for()
    assert card(page).locator(".strip line").count() <= 4 * 103  # of 10,000 rows a hundred are marked
    assert card(page).locator("*").count() < 1500
    assert complaints == []
    context.close()
