"""The list of rows, in a browser with the network off: ten rows, and ten thousand; what it shows is planted."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.report.build import build_report
from browsing import NEEDS_CHROMIUM, browser, open_folds, visit  # noqa: F401
from browsing_rows import FEW, card, ids, opened, page_file  # noqa: F401
from planted_rows import declare, many_rows, put

pytestmark = NEEDS_CHROMIUM
AT_ONCE = 50
MOST_BYTES = 15_000_000


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


SEARCHES = {
    "FILM": ["test:1", "test:2"], "dull very": ["test:10"], "test:4": ["test:4"], "جيد": ["test:4"],
    "<script>": ["test:3"], "broken": ["test:3", "test:9"], ".*": [],
}  # fmt: skip
"""What is typed, and the rows that have it."""


def test_search_finds_texts_labels_and_ids_as_they_are_typed(visit):
    rows = opened(visit())
    box = rows.get_by_role("searchbox")
    for query, found in SEARCHES.items():
        box.press_sequentially(query)
        assert ids(rows) == found, query
        assert rows.locator(".found").inner_text() == f"{len(found)} of 10 rows"
        if query == "FILM":
            assert rows.locator("mark").all_inner_texts() == ["film", "film"]
        box.fill("")
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


def test_paper_has_no_list_of_rows(visit):
    page = visit()
    opened(page)
    page.emulate_media(media="print")
    assert not page.locator("#rows").is_visible() and page.locator("#glance").is_visible()


def test_the_tables_of_a_result_have_the_texts_all_the_same(visit):
    page = visit()
    open_folds(page)
    table = page.locator("#question-mistakes details[data-table=rows]")  # one for all answers
    table.locator("summary").click()
    table.locator("tbody tr").first.wait_for()
    assert FEW.text[0] in table.locator("tbody tr").first.inner_text()
    near = page.locator("#question-mistakes details[data-table=neighbours]")
    near.locator("summary").click()
    near.locator("tbody tr").first.wait_for()
    assert f"like {FEW.text[0]}" in near.locator("tbody tr").first.inner_text()


@pytest.mark.slow
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
