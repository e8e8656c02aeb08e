"""What follows from `pretrain`: whether the encoder learnt the language of its text."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100, is_above
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    guessed, before, chance = result["accuracy"], result["before"], result["chance"].value
    said = f"in text that it never saw it guesses {100 * guessed.value:.0f} of 100 masked words right"
    if is_above(before, chance):  # weights that were drawn know how frequent words are, and nothing else
        return [_went_on(guessed, before, said)]
    beside = Bars.of({"it": guessed, "same guess": chance}, most=1.0)
    above = is_above(guessed, chance)
    if above:
        text = f"It learnt something of its language: {said}; always guessing the same word gets {in_100(chance)}."
        then = "bertscope finetune {model} --on {data} --out tuned"
        return [Consequence("knows", text, 0.6, "", beside, command=then)]
    began = "Whether it learnt anything is open" if above is None else "It learnt nothing"
    text = f"{began}: {said}; always guessing the same word gets {in_100(chance)}. Try a lower learning rate."
    return [Consequence("knows", text, 0.9, "", beside, above is None)]


def _went_on(guessed: Number, before: Number, said: str) -> Consequence:
    """Of a model that had learnt before. Both scores are of the same words; that their intervals don't overlap is
    more than is needed to tell them apart."""
    assert before.low is not None and before.high is not None
    beside = Bars.of({"now": guessed, "before": before}, most=1.0)
    then = "bertscope finetune {model} --on {data} --out tuned"
    if is_above(guessed, before.high):
        text = f"It learnt something about these texts: {said}; before, it guessed {in_100(before.value)}."
        return Consequence("knows", text, 0.6, "", beside, command=then)
    if is_above(guessed, before.low) is False:
        text = f"It knows less about these texts than before: {said}; before, it guessed {in_100(before.value)}."
        return Consequence("knows", f"{text} Try a lower learning rate.", 0.9, "", beside)
    text = f"Whether it learnt anything about these texts is open: {said}; before, it guessed {in_100(before.value)}."
    return Consequence("knows", text, 0.6, "", beside, True)
