"""The head card and the switch of model and task, in a browser with the network off; what they show is planted."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.figure import Figure
from bertscope.core.result import Result
from bertscope.report.build import build_report
from browsing import NEEDS_CHROMIUM, browser, draw_all, unfold, visit  # noqa: F401
from planted_page import HOSTILE, heat, models, put

pytestmark = NEEDS_CHROMIUM
LAYERS, HEADS = 3, 4
BEFORE, AFTER = "before", HOSTILE
GRID = pd.DataFrame([(layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)], columns=["layer", "head"])
PLACE = np.arange(len(GRID))  # of a head: its effect is a hundredth of it


def ablation() -> Result:
    """Head 1.1 has the lowest effect, 3.4 the highest; five heads have the same p."""
    effects = GRID.assign(kind="head", effect=PLACE / 100, low=PLACE / 100 - 0.5, high=PLACE / 100 + 0.5)
    effects = effects.assign(p=0.25, p_holm=1.0)
    mlps = pd.DataFrame({"kind": "mlp", "layer": [1, 2, 3], "head": None, "effect": 9.0})
    table = pd.concat([effects, mlps], ignore_index=True).convert_dtypes()
    figure = heat(where={"kind": "head"})
    return Result("ablate", 2, {"effects": table}, figures=[Figure(**vars(figure) | {"table": "effects"})])


def shapes() -> Result:
    """Every head's map before is of the token before; afterwards every token looks at the last one."""
    both = [GRID.assign(checkpoint=name) for name in (BEFORE, AFTER)]
    measured = {"to_special": 0.5, "to_special_low": 0.4, "to_special_high": 0.6, "entropy": 1.0, "entropy_low": 0.5,
                "entropy_high": 1.5, "distance": 2.0, "distance_low": 1.0, "distance_high": 3.0}  # fmt: skip
    table = pd.concat(both, ignore_index=True).assign(consistency=0.75, **measured)
    table["class"] = np.where(table["checkpoint"] == BEFORE, "diagonal", "vertical")
    maps = np.zeros((2 * len(GRID), 4, 4), np.uint8)
    maps[: len(GRID), [1, 2], [0, 1]] = 255
    maps[len(GRID) :, :, 2] = 128
    where = table[["checkpoint", "layer", "head"]].assign(example=7)
    tokens = pd.DataFrame({"example": 7, "position": [1, 2, 3], "token": ["[CLS]", HOSTILE, "[SEP]"]})
    tables = {"heads": table, "head_maps": where, "map_tokens": tokens}
    sheet = Figure("heatmap", "heads", "head", "layer", "Entropy", "c", value="entropy", facet="checkpoint")
    return Result("patterns", 2, tables, arrays={"maps": maps}, figures=[sheet])


def undeclared() -> Result:
    """A question the catalogue doesn't have: its tables are shown as they are."""
    rows = pd.concat([GRID.assign(series=name, odd_measure=PLACE + add) for name, add in ((HOSTILE, 0.5), ("b", 50))])
    return Result("phrenology", 1, {"bumps": rows.assign(**{HOSTILE: 1.0})})


def redundancy(nearest: str) -> Result:
    table = GRID.assign(checkpoint="pocket", cluster=1, nearest=nearest, nearest_divergence=0.1, nearest_cka=0.9)
    points = Figure("points", "heads", "x", "y", "A map", "c")
    table = table.assign(divergence=PLACE / 10, x=GRID["head"].astype(float), y=-GRID["layer"].astype(float))
    return Result("redundancy", 1, {"heads": table}, figures=[points], models=models())


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("store")
    put(store, ablation())
    put(store, shapes())
    put(store, redundancy("head:2.3"), model=HOSTILE, task="glue/rte")
    put(store, undeclared(), model="bert & co", task="glue/rte")
    trees = pd.DataFrame({"layer": 1, "head": [2, 0], "word": ["a", "b"], "checkpoint": "c"})
    put(store, Result("structure", 1, {"trees": trees}))
    return build_report(store, store / "page.html")


def card(page):
    return page.locator("#head-card")


def lines(page, heading: str) -> list[str]:
    """A section's lines on the card, their parts with one space between them."""
    section = card(page).locator(".known > section", has=page.get_by_role("heading", name=heading))
    section.first.wait_for()
    texts = section.locator(".facts-of-head > div").evaluate_all(
        "(rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim()).join(' | '))"
    )
    return [" ".join(text.split()) for text in texts]


def comes_to(page, title: str | None = None, end: str | None = None) -> None:
    """Wait until the card has this title, and the address this end: what a key does to them takes a moment."""
    if title is not None:
        card(page).locator("h2").get_by_text(title, exact=True).wait_for()
    for _ in range(100):
        if end is None or page.evaluate("location.href").endswith(end):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{page.url} doesn't end in {end}")


def test_a_click_on_a_cell_opens_the_card_with_what_was_planted(visit):
    page = visit()
    draw_all(page)
    page.locator("#question-ablate .chart [data-head='2.3']").click()
    comes_to(page, "Layer 2, head 3", "#head-2.3")
    # Place 6 of 0 to 11: five are higher, six lower. The MLPs, whose effects are higher, aren't heads.
    assert lines(page, "switched off") == [
        "change of the score without it | | 0.060 −0.440 to 0.560 · p 0.250 · p (Holm) 1 | 6th highest of 12"
    ]
    rows = lines(page, "What shape")
    assert rows[0].startswith("shape | before | diagonal consistency 0.750") and "vertical" in rows[1]
    assert rows[2] == "attention to [CLS] and [SEP] | before | 0.500 0.400 to 0.600 | like 11 others of 12"
    page.keyboard.press("Escape")
    comes_to(page, end=".html")
    assert not card(page).is_visible()


def test_the_address_opens_the_card_and_arrows_turn_it(visit):
    page = visit(at="#head-1.1")
    comes_to(page, "Layer 1, head 1")
    assert lines(page, "switched off")[0].endswith("| lowest of 12")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    comes_to(page, "Layer 2, head 2", "#head-2.2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # there is nothing above the first layer
    comes_to(page, "Layer 1, head 2")
    card(page).locator(".grid [data-head='3.4']").click()
    comes_to(page, "Layer 3, head 4")
    assert lines(page, "switched off")[0].endswith("| highest of 12")
    assert card(page).locator(".grid button").count() == LAYERS * HEADS
    card(page).get_by_role("button", name="Close").click()
    assert not card(page).is_visible()


@pytest.mark.parametrize("at", ["#head-4.1", "#head-1.5", "#head-0.0", "#head-1"])
def test_heads_that_are_not_there_have_no_card(visit, at):
    page = visit(at=at)
    page.locator("#question-ablate .chart").wait_for(state="attached")
    assert not card(page).is_visible()


def test_the_maps_before_and_after_are_drawn_as_they_were_kept(visit):
    page = visit(at="#head-3.1")
    maps = card(page).locator(".small-map")
    maps.nth(1).wait_for()
    assert maps.locator("figcaption").all_text_contents() == [BEFORE, AFTER]
    first = [text.removeprefix(HOSTILE) for text in maps.nth(0).locator("title").all_text_contents()]
    assert len(first) == 9 and first[3] == " → [CLS]: 1.00" and first[0] == "[CLS] → [CLS]: 0.00"
    second = maps.nth(1).locator("title").all_text_contents()
    assert second[2] == "[CLS] → [SEP]: 0.25"  # 128 of 255 is the root of a quarter
    fills = maps.nth(0).locator("rect").evaluate_all("(rects) => rects.map((rect) => getComputedStyle(rect).fill)")
    assert len(set(fills)) == 2 and fills[3] == fills[7] != fills[0]


def test_a_question_that_declares_nothing_is_shown_all_the_same(visit):
    page = visit(at="#head-1.2")
    assert lines(page, "phrenology")[:2] == [
        "odd measure | b | 51.00 | 2nd lowest of 12", f"| {HOSTILE} | 1.50 | 2nd lowest of 12",
    ]  # fmt: skip


def test_the_most_similar_head_is_a_way_to_its_card(visit):
    page = visit(at="#head-1.1")
    lines(page, "How different")
    card(page).get_by_role("button", name="Layer 2, head 3: what is known of it").click()
    comes_to(page, "Layer 2, head 3")


def test_hostile_text_on_the_card_is_text(visit):
    page = visit(at="#head-1.1")
    lines(page, "phrenology")
    assert card(page).get_by_text("alert('x')").count() >= 4
    assert card(page).locator("script").count() == 0


def test_the_keyboard_goes_from_head_to_head_in_a_figure(visit):
    page = visit()
    draw_all(page)
    chart = page.locator("#question-ablate .chart")
    assert chart.locator("[tabindex='0']").count() == 1  # one stop, not twelve
    chart.locator("[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    card(page).locator("h2", has_text="Layer 3, head 3").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.head") == "3.3"  # back to where the reader was


def test_rows_of_tables_and_points_lead_to_the_card_and_words_heads_dont(visit):
    page = visit()
    table = page.locator("#question-redundancy details.table")
    unfold(page, table)
    table.get_by_role("button", name="Layer 1, head 2: what is known of it").click()
    comes_to(page, "Layer 1, head 2")
    page.keyboard.press("Escape")
    assert page.locator("#question-redundancy .chart [data-head]").count() == len(GRID)
    trees = page.locator("#question-structure details.table")
    unfold(page, trees)
    trees.locator("tbody tr").first.wait_for()
    assert trees.locator("[data-head]").count() == 0


# The switch


def shown(page) -> list[str]:
    return page.locator("section[id^=question] article:visible").evaluate_all(
        "(found) => found.map((article) => article.parentElement.id.slice(9))"
    )


def test_the_switch_shows_what_rests_on_the_choice_and_stays_in_the_address(visit):
    page = visit()
    assert len(shown(page)) == 5
    page.get_by_label("Task").select_option("glue/rte")
    assert shown(page) == ["redundancy", "phrenology"]
    assert page.locator("#question-ablate .none").text_content() == "Nothing here for all models, glue/rte."
    assert page.locator("#glance li li:visible").count() == 2
    page.get_by_label("Model").select_option("bert & co")
    comes_to(page, end="#model=bert%20%26%20co&task=glue%2Frte")
    assert shown(page) == ["phrenology"]
    page.locator("nav a", has_text="phrenology").click()
    comes_to(page, end="#question-phrenology&model=bert%20%26%20co&task=glue%2Frte")
    page.reload()
    assert shown(page) == ["phrenology"] and page.get_by_label("Model").input_value() == "bert & co"
    page.get_by_label("Model").select_option("")
    page.get_by_label("Task").select_option("")
    assert len(shown(page)) == 5 and page.locator(".none:visible").count() == 0


def test_the_switch_applies_to_the_card(visit):
    page = visit(at="#head-1.1&task=glue%2Frte")
    lines(page, "phrenology")
    assert card(page).locator(".known > section").count() == 2
    assert card(page).locator("select[name=task]").input_value() == "glue/rte"
    page.keyboard.press("ArrowRight")
    comes_to(page, end="#head-1.2&task=glue%2Frte")
    card(page).locator("select[name=task]").select_option("")
    card(page).locator(".known > section").nth(3).wait_for()
    comes_to(page, end="#head-1.2")
    assert page.locator("nav select[name=task]").input_value() == ""
    page.keyboard.press("Escape")
    card(page).locator("select[name=task]").wait_for(state="detached")
    assert page.locator("select[name=task]").count() == 1


def test_the_switch_works_from_the_keyboard(visit):
    page = visit()
    page.get_by_label("Model").focus()
    page.keyboard.press("ArrowDown")
    page.locator("#question-phrenology article").wait_for(state="hidden")
    assert shown(page) == ["redundancy"]  # the hostile name comes first
    assert page.get_by_label("Model").input_value() == HOSTILE


def test_figures_that_a_choice_hid_are_drawn_when_it_brings_them_back(visit):
    page = visit()
    page.get_by_label("Task").select_option("glue/rte")
    page.get_by_role("button", name="Switch to dark colours").click()
    page.get_by_label("Task").select_option("")
    draw_all(page)
    page.locator("#question-ablate .chart[data-drawn=dark] svg").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_card_fits_a_phone(visit, theme):
    page = visit(360, theme, at="#head-2.2")
    lines(page, "phrenology")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert card(page).evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    wide = "(found) => found.filter((each) => each.getBoundingClientRect().right > 361).length"
    assert card(page).locator(".known *").evaluate_all(wide) == 0


def test_the_contents_mark_where_the_reader_is(visit):
    page = visit()
    page.locator("#question-redundancy").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('question-redundancy').scrollIntoView({ behavior: 'instant' })")
    page.locator("nav .here", has_text="How different are the heads").wait_for()
    assert page.locator("nav [aria-current]").count() == 1
