"""What follows from `structure`: whether sentences' trees can be read off a layer."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    model = spoken_of(result)
    uuas, chain = result.numbers(key="uuas", model=model), result.numbers(key="linear_chain")
    if not uuas or not chain:
        return []
    layer = result.numbers(key="best_layer", model=model, probe="distance")
    where = f"from layer {layer[0].value:.0f}" if layer else "off it"
    beside = Bars.of({"its states": uuas[0], "order alone": chain[0]}, most=1.0)
    low, high = uuas[0].low, chain[0].high
    if low is None or high is None or low <= high:
        text = (
            f"Whether it knows how sentences are built is open: {in_100(uuas[0].value)} links between words can be "
            f"read off it; the order of words alone gives {in_100(chain[0].value)}."
        )
        return [Consequence("knows", text, 0.2, "uuas_by_layer", beside, is_open=True)]
    text = (
        f"It knows how sentences are built: {in_100(uuas[0].value)} links between words can be read {where}; the "
        f"order of words alone gives {in_100(chain[0].value)}."
    )
    return [Consequence("knows", text, 0.5, "uuas_by_layer", beside)]
