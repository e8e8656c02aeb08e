"""The pictures of reports: docs/first-screen.png, what a page says first, and docs/report.png, the card of a head.

bertscope finetune pocket --on demo/sentiment --recipe pocket --out tuned  # which leaves some mistakes to speak of
bertscope inspect tuned --on demo/sentiment --base pocket --minutes 3
bertscope demo
.venv/bin/python tests/support/report_pictures.py inspect.html demo-report.html
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from browsing import CHROMIUM, QUIET

DOCS = Path(__file__).parents[2] / "docs"
HEAD = "5.7"
_EDGE = 18  # pixels around the first screen
_HEADINGS = """names => names.map(name => [...document.querySelectorAll("h2")]
    .find(heading => heading.textContent.trim() === name).getBoundingClientRect())"""


def first_screen(page: Any) -> None:
    page.locator("h2", has_text="In short").wait_for()
    first, then = page.evaluate(_HEADINGS, ["In short", "At a glance"])
    left, top = first["x"] - _EDGE, first["y"] - _EDGE
    clip = {"x": left, "y": top, "width": 1180 - left - _EDGE, "height": then["y"] - top - _EDGE}
    page.screenshot(path=DOCS / "first-screen.png", clip=clip)


def head_card(page: Any) -> None:
    page.locator(f".chart [data-head='{HEAD}']").first.dispatch_event("click")
    page.locator("#head-card .grid").wait_for()
    page.wait_for_timeout(500)  # its maps are drawn
    page.screenshot(path=DOCS / "report.png")


def main(inspected: str, demo: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser:
        for file, width, height, take in ((inspected, 1180, 1200, first_screen), (demo, 1280, 900, head_card)):
            page = browser.new_context(viewport={"width": width, "height": height}, offline=True).new_page()
            page.goto(Path(file).resolve().as_uri())
            take(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
