"""What follows from `minimal-pairs`: whether the model tells good sentences from bad ones, and what tuning forgot."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100, is_above, is_open
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import points

_GUESSING = 0.5


def consequences(result: Result) -> list[Consequence]:
    own = result.numbers(key="accuracy", way="own")
    found = []
    if own:
        first, above = own[0], is_above(own[0], _GUESSING)
        share = f"it finds the good one likelier in {in_100(first.value)} pairs; guessing gets 50"
        tells = "It tells good sentences from bad ones" if above else "It takes bad sentences for good ones"
        text = (
            f"Whether it tells good sentences from bad ones is open: {share}."
            if above is None
            else f"{tells}: {share}."
        )
        beside = Bars.of({"it": first, "guessing": _GUESSING}, most=1.0)
        found.append(Consequence("knows", text, 0.5, "phenomena", beside, above is None))
    for lost in result.numbers(key="forgotten"):
        if is_open(lost):
            text = "Whether fine-tuning made it forget grammar is open: no loss can be shown."
        elif lost.value < 0:
            text = (
                "Fine-tuning did its grammar no harm: read through an affine map, it tells good from bad better than "
                "before."
            )
        else:
            text = (
                f"Fine-tuning made it forget grammar: at telling good from bad it loses {points(lost.value)} points."
            )
        found.append(Consequence("changed", text, 0.3 if is_open(lost) else 0.6, "phenomena", is_open=is_open(lost)))
    return found
