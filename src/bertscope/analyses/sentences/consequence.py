"""What follows from `sentences`: whether its vectors can be used to compare texts."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars

_USABLE = 0.7
"""A rank correlation with people's ratings that embedders for use have."""


def consequences(result: Result) -> list[Consequence]:
    keys = [key for key in ("spearman_own", "spearman_mean_pool", "spearman_cls_pool") if key in result]
    if not keys:
        return []
    best = max((result[key] for key in keys), key=lambda number: number.value)
    verdict = "can" if best.value >= _USABLE else "should not"
    text = (
        f"Its vectors {verdict} be used to compare texts as they are: their ranking of pairs agrees "
        f"with people's at {best.value:.2f} (1 is perfect)."
    )
    command = "" if verdict == "can" else "bertscope contrast {model} --on {data}"
    return [Consequence("knows", text, 0.4, "spearman", Bars.of({"it": best}, most=1.0), command=command)]
