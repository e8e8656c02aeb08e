"""What follows from `shrink`: what the smaller model saves, and at what price."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    faster, sizes = result.numbers(key="faster")[0], result.numbers(key="size")
    change = result["change"]
    size = f" and {sizes[1].value / sizes[0].value:.0%} of its size on disk" if len(sizes) > 1 else ""
    text = f"It can be made {faster.value:.1f} times as fast{size}; that {lost(Estimate.of_number(change))}."
    scores = {arm: result.numbers(key="score", arm=arm)[0] for arm in ("whole", "cut")}
    return [Consequence("price", text, 0.9, "scores", Bars.of(scores, most=1.0), is_open(change))]
