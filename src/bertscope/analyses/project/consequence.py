"""What follows from `project`: how much of a sentence a picture in two dimensions shows."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, spoken_of
from bertscope.core.result import Result
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    known = result.numbers(key="explained_variance", model=last)
    if not known:
        return []
    text = (
        f"In the last layer, two directions hold {percent(known[0].value)} of what tells the tokens of this sentence "
        "apart: the picture shows that much."
    )
    return [Consequence("looks", text, 0.1, "points")]
