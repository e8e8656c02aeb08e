"""What follows from `finetune`: whether the training taught more than the labels' shares and words alone do."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.training.advice import advice, shortfall
from bertscope.training.finetune.question import BASELINES

_IN_WORDS = BASELINES | {"chance": "same answer", "bag_of_words": "counting words"}


def consequences(result: Result) -> list[Consequence]:
    after = result["after"]
    good, bars = how_good(after.value, after.unit), {key: result[key].value for key in BASELINES if key in result}
    beside = Bars.of({"it": after} | {_IN_WORDS[key]: value for key, value in bars.items()}, most=1.0)
    short = shortfall(result)
    if short is None:
        best = max((key for key in bars if key != "chance"), key=bars.__getitem__, default="")
        than = f"; {_IN_WORDS[best]} gets {how_good(bars[best], after.unit)}" if best else ""
        return [Consequence("works", f"The training worked: {good}{than}.", 0.5, "learning_curve", beside)]
    told, failed = advice(result), short.baseline == "chance"
    if failed:
        began = "The training may have failed" if short.is_open else "The training failed"
        text = f"{began}: {good}, {'hardly' if short.is_open else 'no'} more than always giving the same answer gets."
    else:
        than = "not certain to be better than" if short.is_open else "no better than"
        has = how_good(short.score.value, after.unit)
        text = f"It is {than} {_IN_WORDS[short.baseline]}: {good}, against {has}."
    text = " ".join([text, *(f"{each[0].upper()}{each[1:]}." for each in (told.seen, told.todo))])
    weight = 1.0 if failed else 0.9
    return [Consequence("works", text, weight, "learning_curve", beside, short.is_open, told.command, failed)]
