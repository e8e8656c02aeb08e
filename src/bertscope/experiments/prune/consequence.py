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
    keeps = "" if above.low is not None and above.low > 0 else " (whether that is as much as was asked for is open)"
    between = ""
    if left.low is not None and left.high is not None:
        between = f" ({percent(1 - left.high)} to {percent(1 - left.low)})"
    text = (
        f"{percent(1 - left.value)}{between} of the weights in its layers can go: what is left gets "
        f"{how_good(pruned.value, pruned.unit)}, the whole model {how_good(full.value, full.unit)}{keeps}."
    )
    beside = Bars.of({"whole": full, f"{percent(left.value)} of it": pruned}, most=1.0)
    return [
        Consequence("price", text, 0.6, "trajectory", beside, bool(keeps), "bertscope shrink {model} --on {data}")
    ]
