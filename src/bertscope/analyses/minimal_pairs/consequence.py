"""What follows from `minimal-pairs`: whether the model tells good sentences from bad ones, and what tuning forgot."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100, is_open
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import points


def consequences(result: Result) -> list[Consequence]:
    own = result.numbers(key="accuracy", way="own")
    found = []
    if own:
        first = own[0]
        above = is_open_half = None
        if first.low is not None and first.high is not None:
            above, is_open_half = first.low > 0.5, first.low <= 0.5 <= first.high
        text = (
            f"It tells good sentences from bad ones: the good one is likelier to it in {in_100(first.value)} pairs, "
            "where guessing has 50."
            if above
            else "Whether it tells good sentences from bad ones is open: the good one is likelier to it in "
            f"{in_100(first.value)} pairs, and guessing has 50."
        )
        beside = Bars.of({"it": first, "guessing": 0.5}, most=1.0)
        found.append(Consequence("knows", text, 0.5, "phenomena", beside, bool(is_open_half)))
    for lost in result.numbers(key="forgotten"):
        if is_open(lost):
            text = "Whether fine-tuning made it forget grammar is open: no loss can be shown."
        else:
            text = (
                f"Fine-tuning made it forget grammar: {points(lost.value)} points of telling good from bad are lost."
            )
        found.append(Consequence("changed", text, 0.3 if is_open(lost) else 0.6, "phenomena", is_open=is_open(lost)))
    return found
