"""The pictures of docs/explore.md, taken of the real page in Chromium: one after the other what somebody does on it.

bertscope demo                                       # a tuned model, and a store that knows it
.venv/bin/python tests/support/explore_pictures.py MODEL STORE
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browsing import CHROMIUM, QUIET

DOCS = Path(__file__).parents[2] / "docs"
TEXT = "on the whole, the kitchen was horrible."
DENIED = "the ending was not dull."
MOST = 1_500_000
"""Bytes of all of them."""


def settle(page: Any) -> None:
    page.locator("body[data-settled=true] .head-card[aria-busy=false]").wait_for()
    page.mouse.move(2, 2)
    page.wait_for_timeout(250)


def overview(page: Any) -> None:
    page.locator("[data-head='6.6']").click()
    settle(page)


def read(page: Any, text: str) -> None:
    page.locator("#read-text").fill(text)
    page.locator("#read-text").press("Enter")
    settle(page)
    page.evaluate("document.activeElement.blur()")


def switched(page: Any) -> None:
    read(page, DENIED)
    page.locator("[data-sets=where][value='0']").check()
    for head in ("9.11", "7.5", "12.4"):
        page.locator(f"[data-head='{head}']").click(modifiers=["Shift"])
        settle(page)
    page.locator("[data-part='mlp:2']").click()
    settle(page)


def grafted(page: Any) -> None:
    page.get_by_role("button", name="Clear all").click()
    read(page, TEXT)
    page.locator("[data-sets=act][value=graft]").check()
    for layer in (9, 10, 11, 12):
        page.locator(f"[data-part='layer:{layer}']").click()
    page.locator("#colour").select_option("change")
    page.locator("[data-sets=shown][value=difference]").check()
    settle(page)


def one_head(page: Any) -> None:
    page.get_by_role("button", name="Clear all").click()
    page.locator("[data-sets=act][value=look]").check()
    page.locator("[data-head='6.6']").click()
    settle(page)


def lines(page: Any) -> None:
    page.locator("[data-sets=as][value=lines]").check()
    settle(page)


def word(page: Any) -> None:
    page.locator("[data-model='0'] .word", has_text="horrible").click()
    page.keyboard.type("wonderful")
    page.keyboard.press("Enter")
    settle(page)
    page.evaluate("document.activeElement.blur()")


def compared(page: Any) -> None:
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="rows, wrong ones first").click()
    page.locator("#part").fill("head:6.6 mlp:2")
    page.locator("#part").press("Enter")
    settle(page)
    page.locator(".typing summary").click()


def by_the_store(page: Any) -> None:
    page.get_by_role("button", name="Clear all").click()
    page.locator("[data-sets=shown][value='0']").check()
    options = page.locator("#colour option").evaluate_all("(all) => all.map((one) => [one.value, one.textContent])")
    page.locator("#colour").select_option(next(value for value, words in options if words.startswith("ablate")))
    page.get_by_role("button", name="Switch to dark colours").click()
    settle(page)


Step = tuple[str, Callable[[Any], None], str, int]
STEPS: tuple[Step, ...] = (
    ("overview", overview, "", 880),
    ("switched", switched, "", 880),
    ("graft", grafted, ".map-row", 0),
    ("head", one_head, ".one", 0),
    ("lines", lines, ".one", 0),
    ("word", word, ".word-change", 0),
    ("compare", compared, ".comparing", 0),
    ("store", by_the_store, "", 880),
)
"""Its name, what is done before it, and what is taken: an element, or so many pixels of the page from its top."""


def take(url: str, folder: Path = DOCS) -> list[Path]:
    from playwright.sync_api import sync_playwright

    made = []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.goto(url)
        settle(page)
        read(page, TEXT)
        for name, act, element, height in STEPS:
            act(page)
            made.append(folder / f"explore-{name}.png")
            page.evaluate("scrollTo(0, 0)")
            if element:
                page.locator(element).screenshot(path=made[-1])
            else:
                page.screenshot(path=made[-1], clip={"x": 0, "y": 0, "width": 1280, "height": height})
    return made


def main(model: str, store: str) -> None:
    from bertscope.live.explorer import Explorer
    from bertscope.live.server import LiveServer, bound

    explorer = Explorer.open(model, "pocket", "demo/sentiment", store=store)
    with LiveServer(explorer, bound()) as server:
        made = take(server.url)
    sizes = {path.name: path.stat().st_size for path in made}
    print(*(f"{name}: {size:,}" for name, size in sizes.items()), sep="\n")
    assert sum(sizes.values()) < MOST, f"{sum(sizes.values()):,} bytes"


if __name__ == "__main__":
    main(*sys.argv[1:])
