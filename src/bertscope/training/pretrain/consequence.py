"""What follows from `pretrain`: whether the encoder learnt the language of its text."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100, is_above
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    guessed, chance = result["accuracy"], result["chance"].value
    said = f"of 100 masked words of text that it never saw it guesses {100 * guessed.value:.0f}"
    beside = Bars.of({"it": guessed, "same guess": chance}, most=1.0)
    above = is_above(guessed, chance)
    if above:
        text = f"It learnt something of its language: {said}, where always the same guess has {in_100(chance)}."
        then = "bertscope finetune {model} --on {data} --out tuned"
        return [Consequence("knows", text, 0.6, "", beside, command=then)]
    began = "Whether it learnt anything is open" if above is None else "It learnt nothing"
    text = f"{began}: {said}, and always the same guess has {in_100(chance)}. Try a lower learning rate."
    return [Consequence("knows", text, 0.9, "", beside, above is None)]
