"""A page in headless Chromium with the network off: what the tests of the report's page share."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, page_file):
    """Open the module's page; at the end it must have asked for nothing but itself and complained about nothing."""
    contexts, requests, complaints = [], [], []

    def open_page(width: int = 1280, theme: str = "light", at: str = ""):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(page_file.as_uri() + at)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert set(requests) == {page_file.as_uri()}
    assert complaints == []


def height_of(browser, file, width: int = 1280) -> int:
    """How long a page is in pixels, when every figure that stands open is drawn."""
    with browser.new_context(viewport={"width": width, "height": 900}, offline=True) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        for chart in page.locator(".chart:visible").all():
            chart.scroll_into_view_if_needed()
            chart.and_(page.locator("[data-drawn]")).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        return page.evaluate("document.documentElement.scrollHeight")


def open_folds(page) -> None:
    """Open what the page folds of its answers and claims, but no table, and no results that others are made of."""
    folded = "main details:is(.fold, .further, .all-of-it)"
    page.evaluate(f"document.querySelectorAll('{folded}').forEach((details) => {{ details.open = true; }})")


def draw_all(page) -> None:
    """Every figure, also those in folds, which are open then."""
    open_folds(page)
    for chart in page.locator(".chart:visible").all():
        chart.scroll_into_view_if_needed()
        chart.and_(page.locator("[data-drawn]")).wait_for()


def unfold(page, details) -> None:
    """Open what is folded. Figures grow as they are drawn: one that moves what is clicked swallows the click."""
    draw_all(page)
    details.locator("> summary").click()
    details.and_(page.locator("[open]")).wait_for()
