"""The list of rows and the row card in a browser: the page that their tests look at, and how they look."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from bertscope.report.build import build_report
from planted_rows import declare, few_rows, put

FEW = few_rows()
OTHER = "glue/rte"


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


def is_focused(page, words: str) -> bool:
    """Once what follows a dialog's end is done: it is told of that a moment after it."""
    for _ in range(100):
        if page.evaluate("document.activeElement.innerText") == words:
            return True
        page.wait_for_timeout(20)
    return False


def address(page, row: str, task: str = "demo/sentiment") -> str:
    return f"#{fold(page, task).get_attribute('data-rows')}-{quote(row, safe='')}"
