"""What follows from `features`: how much attention goes to tokens that say nothing."""

from __future__ import annotations

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core.consequence import Consequence, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    known = result.numbers(key="mostly_on_special", model=last)
    if not known or is_weighted(result):  # what is taken of a token isn't where attention goes
        return []
    share = known[0].value
    many = f"{percent(share)} of its heads spend most of their" if share else "None of its heads spends most of its"
    text = f"{many} attention on special tokens such as [SEP], where there is nothing to read."
    return [Consequence("looks", text, min(1.0, 0.2 + share), "heads", Bars.of({"of heads": known[0]}, most=1.0))]
