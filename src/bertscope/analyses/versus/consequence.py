"""What follows from `versus`: what it costs to take the other model."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.words import model_names


def consequences(result: Result) -> list[Consequence]:
    change = result["change"]
    first, second = list(model_names(result.models).values())[:2]
    told = lost(Estimate.of_number(change))
    rows = (
        f"; {result['fixed'].value:,.0f} answer{' becomes' if result['fixed'].value == 1 else 's become'} right "
        f"and {result['broken'].value:,.0f} wrong"
        if "fixed" in result else ""
    )  # fmt: skip
    scores = dict(zip(("this", "the other"), result.numbers(key="score"), strict=True))
    text = f"Taking {second} instead of {first} {told}{rows}."
    return [Consequence("price", text, 0.6, "outcomes", Bars.of(scores, most=1.0), is_open(change))]
