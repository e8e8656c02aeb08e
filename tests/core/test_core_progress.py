"""The bar of long work, as a terminal shows it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bertscope.core.progress import Bars


@pytest.mark.parametrize("width", [80, 100])
def test_a_long_name_leaves_room_for_the_numbers(width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    bars = Bars(console)
    with bars.bar("switching off 156 parts of pocket tuned on demo/sentiment", 7488) as bar:
        bar.advance(192, accuracy="0.875")
        console.print(bars.shown.get_renderable())
    shown = console.file.getvalue()
    assert all(
        words in shown for words in ("switching off 1", "192/7488 0:00:00 so far, -:--:-- left accuracy 0.875")
    )
    assert shown.count("…") == 1 and len(shown.rstrip()) <= width
