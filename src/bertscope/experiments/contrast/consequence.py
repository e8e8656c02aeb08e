"""What follows from `contrast`: whether contrastive training makes better vectors of texts."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    gains = result.numbers(key="spearman_difference", arm="contrastive", against="before")
    if not gains:
        return []
    gain = gains[0]
    arms = {
        name: result.numbers(key="spearman", arm=arm)[0]
        for name, arm in (("before", "before"), ("after", "contrastive"))
    }
    if is_open(gain):
        text = "Whether contrastive training makes its vectors rank texts more as people do is open."
    else:
        more = "more" if gain.value > 0 else "less"
        text = (
            f"Contrastive training makes its vectors rank texts {more} as people do: {gain.value:+.2f} of rank "
            "correlation."
        )
    return [Consequence("changed", text, 0.4, "sts", Bars.of(arms, most=1.0), is_open(gain))]
