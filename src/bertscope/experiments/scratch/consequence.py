"""What follows from `scratch`: what the pretrained weights are worth."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    (gives,) = result.numbers(key="pretraining_gives")
    told = lost(Estimate.of_number(gives))
    arms = {"pretrained": "tuned", "random": "random"}
    beside = Bars.of({name: result.numbers(key="score", arm=arm)[0] for name, arm in arms.items()}, most=1.0)
    text = f"Starting from pretrained weights instead of random ones {told}."
    return [Consequence("knows", text, 0.5, "arms", beside, is_open(gives))]
