"""What follows from `geometry`: whether cosines of its vectors can be read."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Line

_CONE = 0.2
"""A cosine of any two words from which on cosines mislead."""


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    known = result.numbers(key="baseline", model=last)
    if not known:
        return []
    layers = result.tables["layers"]
    layers = layers[
        (layers["checkpoint"] == last) & (layers["measure"] == "baseline") & (layers["form"] == "as_it_is")
    ]
    beside = Line.of(layers, "layer", "value", rule=_CONE)
    cosine, mended = known[0].value, result.numbers(key="baseline_mended", model=last)
    if cosine < _CONE:
        text = f"Cosines of its word vectors can be read as they are: that of two random words is {cosine:.2f}."
        return [Consequence("knows", text, 0.2, "cone", beside)]
    better = min((abs(number.value) for number in mended), default=cosine)
    cure = f" (without the top directions, or standardised: {better:.2f})" if better < _CONE else ""
    text = (
        "Don't read cosines of its word vectors as they are: in the last layer that of two random words is "
        f"{cosine:.2f}{cure}."
    )
    return [Consequence("knows", text, min(1.0, 0.2 + cosine / 2), "cone", beside)]
