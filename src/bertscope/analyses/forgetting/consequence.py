"""What follows from `forgetting`: whether the fine-tuned encoder still serves for what its base was good at."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import points


def consequences(result: Result) -> list[Consequence]:
    lost, base = result["forgotten"], result["base"]
    assert lost.low is not None and lost.high is not None
    beside = Bars.of({"base": base.value, "mapped": base.value - lost.value}, most=1.0)
    if lost.low <= 0 <= lost.high:
        text = "Whether fine-tuning made it forget words is open: beyond the drift of its states no loss is shown."
        return [Consequence("changed", text, 0.2, "forgetting", beside, is_open=True)]
    if lost.high < 0:
        text = "Fine-tuning forgot no words: with the drift undone, it guesses more of them than before."
        return [Consequence("changed", text, 0.3, "forgetting", beside)]
    text = (
        f"Fine-tuning forgot {points(lost.value)} points of the masked words that the base guesses "
        f"({points(lost.low)} to {points(lost.high)}). What a head of the base's loses beyond that is drift, not "
        "loss."
    )
    return [Consequence("changed", text, 0.5, "forgetting", beside)]
