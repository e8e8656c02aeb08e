"""What follows from `prune`: how little of the model does the task."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    left, (full,), (pruned,) = (
        result["left"], result.numbers(key="score", arm="full"), result.numbers(key="score", arm="pruned")
    )  # fmt: skip
    above = result["above_bar"]
    keeps = "" if above.low is not None and above.low > 0 else " (whether that is as much as was asked is open)"
    text = (
        f"{percent(left.value)} of the weights in its layers do the task nearly as well: "
        f"{how_good(pruned.value, pruned.unit)}, and {how_good(full.value, full.unit)} whole{keeps}."
    )
    beside = Bars.of({"whole": full, f"{percent(left.value)} of it": pruned}, most=1.0)
    return [
        Consequence("price", text, 0.6, "trajectory", beside, bool(keeps), "bertscope shrink {model} --on {data}")
    ]
