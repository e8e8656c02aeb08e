"""The picture of README.md and docs/index.md, docs/first-screen.png: what a page says first of a model.

bertscope finetune pocket --on demo/sentiment --out tuned
bertscope inspect tuned --on demo/sentiment --base pocket
.venv/bin/python tests/support/first_screen_picture.py inspect.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from browsing import CHROMIUM, QUIET

PICTURE = Path(__file__).parents[2] / "docs" / "first-screen.png"
_EDGE = 18  # pixels around it
_HEADINGS = """names => names.map(name => [...document.querySelectorAll("h2")]
    .find(heading => heading.textContent.trim() === name).getBoundingClientRect())"""


def main(page_file: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_context(viewport={"width": 1180, "height": 1100}, offline=True).new_page()
        page.goto(Path(page_file).resolve().as_uri())
        page.locator("h2", has_text="In short").wait_for()
        first, then = page.evaluate(_HEADINGS, ["In short", "In words"])
        left, top = first["x"] - _EDGE, first["y"] - _EDGE
        clip = {"x": left, "y": top, "width": 1180 - left - _EDGE, "height": then["y"] - top - _EDGE}
        page.screenshot(path=PICTURE, clip=clip)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
