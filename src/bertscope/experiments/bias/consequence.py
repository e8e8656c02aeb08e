"""What follows from `bias`: what texts that are missing from the training data cost, and whom."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    found = []
    for on, what in (("slice", "texts that have the words"), ("rest", "other texts")):
        for effect in result.numbers(key="effect_of_words", on=on):
            undecided = is_open(effect)
            text = f"Leaving texts with these words out of training {lost(Estimate.of_number(effect))} on {what}."
            found.append(Consequence("fails", text, 0.3 if undecided else 0.6, "effects", is_open=undecided))
    return found
