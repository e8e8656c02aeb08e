"""What follows from `importance`: how many parts can go in the order that the gradient says."""

from __future__ import annotations

from bertscope.core.consequence import HEADS, Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line
from bertscope.core.statement import percent, points

_COSTS = 0.02
"""So little of the score that it is a fair price for parts."""


def consequences(result: Result) -> list[Consequence]:
    if "curves" not in result.tables:
        return []
    curves = result.tables["curves"]
    by = curves[(curves["kind"] == "head") & (curves["order"] == "importance")].sort_values("off")
    if by.empty:
        return []
    whole = by["score"].iloc[0]
    cheap = by[by["score"] >= whole - _COSTS].iloc[-1]
    random = curves[(curves["kind"] == "head") & (curves["order"] == "random") & (curves["off"] == cheap["off"])]
    beside = Line.of(by, "share", "score", marked=float(cheap["share"]), along="heads off")
    if not cheap["off"]:
        text = (
            f"Few of its {HEADS} can be spared: with the least important {percent(by['share'].iloc[1])} off, the "
            f"score falls by more than {points(_COSTS)} points."
        )
        return [Consequence("price", text, 0.4, "heads_off", beside)]
    at_random = f"; as many at random {_costs(whole - random['score'].iloc[0])}" if len(random) else ""
    text = (
        f"{percent(cheap['share'])} of its {HEADS} can be off at once: if those go first that the gradient calls "
        f"least important, they {_costs(whole - cheap['score'])} of the score{at_random}."
    )
    return [Consequence("price", text, 0.5, "heads_off", beside, command="bertscope shrink {model} --on {data}")]


def _costs(lost: float) -> str:
    return f"cost {points(lost)} points" if lost >= 0 else f"bring {points(-lost)} points"
