"""What follows from `patterns`: how many heads look at fixed places, whatever the text says."""

from __future__ import annotations

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core.consequence import HEADS, Consequence, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent

_FIXED = ("vertical", "diagonal", "vertical_diagonal")


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    shares = [number for key in _FIXED for number in result.numbers(key=key, model=last)]
    if len(shares) < len(_FIXED) or is_weighted(result):  # the classifiers know attention as it is
        return []
    fixed = sum(number.value for number in shares)
    least = sum(number.low or 0.0 for number in shares)
    text = (
        f"In about {percent(fixed)} of cases its {HEADS} look at fixed places, a special token or the neighbours, "
        f"whatever the text says; in at least {percent(least)}, allowing for the classifier's own errors."
    )
    beside = Bars.of({"fixed places": fixed, "other": 1 - fixed}, most=1.0)
    return [Consequence("looks", text, 0.4, "layers", beside, of_skill=True)]
