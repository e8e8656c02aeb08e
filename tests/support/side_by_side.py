"""Answers side by side on a page that is open in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from bertscope.report.build import build_report
from browsing import open_folds
from planted_answers import store_of_four

FOUR = [f"{task} · seed {seed}" for task in ("demo/sentiment", "demo/topics") for seed in (1, 2)]
"""What the answers of `store_of_four` are called."""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = store_of_four(tmp_path_factory.mktemp("store"))
    return build_report(store, store / "page.html")


def block(page):
    return page.locator(".side-by-side")


def panels(chart) -> list[list[str]]:
    """What stands over each panel, in its lines."""
    lines = """(texts) => texts.map((text) =>
        (text.childElementCount ? [...text.children] : [text]).map((line) => line.textContent))"""
    return chart.locator(".role-title-text text").evaluate_all(lines)


def drawn(page, title: str):
    figure = block(page).locator("figure", has=page.get_by_role("heading", name=title, exact=True))
    figure.locator(".chart").scroll_into_view_if_needed()
    figure.locator(".chart[data-drawn]").wait_for()
    return figure.locator(".chart")


def open_table(page, name: str):
    open_folds(page)
    table = block(page).locator(f"details.table[data-table={name}]")
    table.locator("> summary").click()
    table.locator("tbody tr").first.wait_for()
    return table


def choose(page, task: str) -> None:
    page.locator("nav .switch").get_by_label("Task").select_option(task)


def opened(browser, folder: Path, **context):
    page = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, **context).new_page()
    page.goto(build_report(folder, folder / "page.html").as_uri())
    return page
