"""What follows from `prune`: how little of the model does the task."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good, is_above
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    left, (full,), (pruned,) = (
        result["left"], result.numbers(key="score", arm="full"), result.numbers(key="score", arm="pruned")
    )  # fmt: skip
    above = result["above_bar"]
    reached = is_above(above, 0.0)
    keeps = {
        True: "",
        False: ", less than was asked for",
        None: " (whether that is as much as was asked for is open)",
    }
    between = ""
    if left.low is not None and left.high is not None:
        between = f" ({percent(1 - left.high)} to {percent(1 - left.low)})"
    by = " by the validation set, and not by the test set" if reached is False else ""
    text = (
        f"{percent(1 - left.value)}{between} of the weights in its layers can go{by}: what is left gets "
        f"{how_good(pruned.value, pruned.unit)}, the whole model {how_good(full.value, full.unit)}{keeps[reached]}."
    )
    beside = Bars.of({"whole": full, f"{percent(left.value)} of it": pruned}, most=1.0)
    return [
        Consequence("price", text, 0.6, "trajectory", beside, reached is None, "bertscope shrink {model} --on {data}")
    ]
