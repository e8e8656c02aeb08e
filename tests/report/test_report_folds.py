"""What the page folds in a browser: it is short, nothing is lost, folds draw when they are opened, paper has all."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("playwright")

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.report.build import build_report
from browsing import NEEDS_CHROMIUM, browser, height_of, visit  # noqa: F401
from planted_consequences import ablate, errors
from planted_page import heads, heat, models, put
from stored_steps import put_step

QUESTIONS = ("ablate", "importance", "patterns", "prune", "graft", "redundancy")
FIGURES, TABLES, NUMBERS = 5, 3, 9
HIGH = 1_100
"""Pixels of a question, at most, and of what stands before all of them."""
pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """Six questions with two answers each, of five figures, three tables and nine numbers; and what a model does."""
    store = tmp_path_factory.mktemp("store")
    for question in QUESTIONS:
        for seed in (1, 2):
            figures = [replace(heat(key=f"figure_{number}"), title=f"Figure {number}") for number in range(FIGURES)]
            numbers = [Number(f"number {number}", 0.5, 0.4, 0.6, 100) for number in range(NUMBERS)]
            tables = {"heads": heads(), "other": heads(1, 2), "third": heads(3, 2)}
            notes = [f"note {number} of {question}" for number in range(4)]
            put(store, Result(question, 0, tables, headline=numbers, figures=figures, models=models(), notes=notes),
                seed=seed)  # fmt: skip
    for told in (errors(failing="negative"), ablate("head", (2, 3))):
        put_step(store, told.step, told.result)
    return build_report(store, store / "page.html", about="What a study is about.")


def test_the_page_is_short_and_holds_everything(visit, page_file):
    page = visit()
    page.locator(".chart svg").first.wait_for()
    answers = 2 * len(QUESTIONS)
    assert page.locator("article figure .chart").count() == FIGURES * answers + 1  # and the one of what a model needs
    assert page.locator(".side-by-side figure .chart").count() == FIGURES * len(QUESTIONS)
    # One table of each name, which holds those of all answers; and the two of what a model does.
    assert page.locator("details.table").count() == TABLES * len(QUESTIONS) + 2
    assert page.locator("details.table option[value]:not([value=''])").count() == TABLES * answers
    assert page.locator(".cards li, .more-numbers li").count() == NUMBERS * answers + 4
    assert page.locator(".note li").count() == 4 * answers
    assert height_of(page.context.browser, page_file) <= HIGH * (len(QUESTIONS) + 2)
    # What stands open of a question: its answers side by side, or the only one.
    assert page.locator(".side-by-side:visible").count() == len(QUESTIONS)
    # and the answer of the page's own model to `ablate`, whose figure no other has.
    assert page.locator("article:visible").count() == 2 and "What a study is about." in page.content()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(visit, width):
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('main details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_screen_comes_first_and_leads_to_its_figure(visit):
    page = visit()
    first = page.locator("main > section").first
    assert first.get_attribute("id") == "first" and first.locator(".said > li").count() == 4
    assert "Where does it fail?" in first.inner_text() and first.locator("svg.small-picture").count() == 3
    assert first.get_by_role("button", name="Copy the command").count() == 1
    first.get_by_role("link", name="Where this is shown: What if a head").click()
    figure = page.locator("[id$='-head']")
    figure.locator(".chart svg").wait_for()
    assert figure.locator("xpath=ancestor::details[not(@open)]").count() == 0


def test_a_link_into_a_fold_opens_it_and_draws_what_is_there(visit):
    page = visit()
    inside = page.locator("#question-prune .further figure").last.get_attribute("id")
    page.goto(f"{page.url.partition('#')[0]}#{inside}")
    page.locator(f"[id='{inside}'] .chart[data-drawn] svg").wait_for()
    assert page.locator(f"[id='{inside}']").is_visible()


def test_paper_unfolds_every_answer_with_its_figures_numbers_and_notes(visit):
    page = visit()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.locator(".chart[data-drawn=light] svg").nth(FIGURES * 3 * len(QUESTIONS)).wait_for()
    closed = "main details:not([open]):not(.origin, .data-rows)"
    assert page.locator(closed).count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details[open]").count() == 0


@pytest.mark.parametrize("layers", [12, 24])
def test_the_figure_of_twelve_layers_stands_whole(browser, tmp_path, layers):
    table = heads(layers, 12).assign(sure=True)
    put(tmp_path, Result("ablate", 1, {"heads": table}, figures=[heat(mark="sure")], models=models()))
    file = build_report(tmp_path, tmp_path / "page.html")
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        page.locator(".chart[data-drawn]").wait_for()
        assert page.get_by_role("button", name="Show all of it").is_visible() == (layers > 12)


def test_a_glance_at_many_answers_stays_one(browser, tmp_path):
    for model in ("one", "other"):
        for seed in range(6):
            numbers = [Number("score", 0.1 * seed, 0.0, 1.0, 100)]
            put(tmp_path, Result("ablate", 1, headline=numbers, models=models(model)), model=model, seed=seed)
    file = build_report(tmp_path, tmp_path / "page.html")
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        answers, rest = page.locator(".glance li[data-models]:visible"), page.locator(".glance .rest > summary")
        assert answers.count() == 6 and rest.inner_text() == "6 more"
        page.locator("nav select[name=model]").select_option("other")
        assert answers.count() == 6 and not rest.is_visible()
        page.locator("nav select[name=model]").select_option("")
        rest.click()
        assert answers.count() == 12
