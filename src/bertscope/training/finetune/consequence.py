"""What follows from `finetune`: whether the training taught more than the labels' shares and words alone do."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good, is_above
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars

_SLOWER = "bertscope finetune {base} --on {data} --learning-rate 1e-4 --epochs 10"


def consequences(result: Result) -> list[Consequence]:
    after = result["after"]
    bars = {key: result[key].value for key in ("chance", "bag_of_words") if key in result}
    good = how_good(after.value, after.unit)
    names = {"chance": "same answer", "bag_of_words": "counting words"}
    beside = Bars.of({"it": after} | {names[key]: value for key, value in bars.items()}, most=1.0)
    if "chance" in bars and not is_above(after, bars["chance"]):
        text = (
            f"The training failed: {good}, no more than always giving the same answer has. Try more steps, or a "
            "smaller learning rate."
        )
        return [Consequence("works", text, 1.0, "learning_curve", beside, command=_SLOWER, at_chance=True)]
    if "bag_of_words" in bars:
        words, above = how_good(bars["bag_of_words"], after.unit), is_above(after, bars["bag_of_words"])
        if above:
            text = f"The training worked: {good}, where counting words has {words}."
            return [Consequence("works", text, 0.5, "learning_curve", beside)]
        than = "worse than" if above is False else "not better for certain than"
        text = f"It is {than} counting words: {good}, where that has {words}."
        return [Consequence("works", text, 0.9, "learning_curve", beside, above is None, _SLOWER)]
    return [Consequence("works", f"The training worked: {good}.", 0.5, "learning_curve", beside)]
