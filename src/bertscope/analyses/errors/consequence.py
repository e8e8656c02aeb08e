"""What follows from `errors`: whether the model works, on which texts it fails, and whether it knows when it does."""

from __future__ import annotations

from bertscope.core.calibration import COOLEST, HOTTEST
from bertscope.core.consequence import Consequence, how_good, in_100, is_above
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import points

_ENOUGH = 0.02
"""So much more sure than right, on average, that it is worth a sentence."""
_NAMED = 2
"""So many groups are named beside the one that has most mistakes."""


def consequences(result: Result) -> list[Consequence]:
    return [*_works(result), *_slices(result), *_confidence(result)]


def _works(result: Result) -> list[Consequence]:
    score, chance = result["score"], result["chance"].value
    good, blind = how_good(score.value, score.unit), how_good(chance, score.unit)
    above, beside = is_above(score, chance), Bars.of({"it": score, "same answer": chance}, most=1.0)
    if above:
        text = f"It works: {good}; always giving the same answer gets {blind}."
        return [Consequence("works", text, 0.6, "confusion" if _has(result, "confusion") else "", beside)]
    if above is None:
        text = (
            f"Whether it works is open: {good} can't be told from what always giving the same answer gets ({blind})."
        )
        return [Consequence("works", text, 0.9, "", beside, True, "bertscope finetune {base} --on {data}", True)]
    text = f"It does not work: {good}, while always giving the same answer gets {blind}. Were its labels swapped?"
    return [Consequence("works", text, 1.0, "", beside, command="bertscope data {data}", at_chance=True)]


def _slices(result: Result) -> list[Consequence]:
    if "slices" not in result.tables:
        return []
    table = result.tables["slices"]
    right = table[table["by"] == "right"]
    if right.empty:
        return []
    worse = right[right["certain"] & (right["difference"] < 0)]
    tried = result["slices_tried"].value
    if "right" in result and (known := result["right"]).value == 1:
        text = f"Nowhere on these {known.n:,} texts. Only more texts, or harder ones, can show where it fails."
        return [Consequence("fails", text, 0.3, is_open=True)]
    if worse.empty:
        text = f"No group of texts was found on which it fails more than elsewhere (groups tried: {tried:.0f})."
        return [Consequence("fails", text, 0.3, is_open=True)]
    most = worse.loc[(worse["n"] * worse["difference"]).idxmin()]
    others = [*worse.drop(most.name).sort_values("difference").to_dict("records")]
    named = [f"{_called(one['kind'], one['slice'])} ({in_100(one['inside'])})" for one in others[:_NAMED]]
    named += [f"{len(others) - _NAMED} more"] * (len(others) > _NAMED)
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    also = f" It also fails more on {listed}." if named else ""
    text = (
        f"It fails{' most' * bool(others)} on {_called(most['kind'], most['slice'])}: "
        f"{in_100(most['inside'])} right, against {in_100(most['outside'])} on other texts.{also}"
    )
    beside = Bars.of({"these": most["inside"], "others": most["outside"]}, most=1.0)
    return [Consequence("fails", text, min(1.0, 0.5 + abs(most["difference"])), "slices_right", beside)]


def _called(kind: str, name: str) -> str:
    """A slice in words."""
    if kind == "word":
        return f"texts with {name}"
    return f"texts labelled {name}" if kind == "label" else f"{name} texts" if kind == "length" else f"texts: {name}"


def _confidence(result: Result) -> list[Consequence]:
    if "overconfidence" not in result:
        return []
    over = result["overconfidence"]
    if over.low is None or over.high is None or abs(over.value) < _ENOUGH or over.low <= 0 <= over.high:
        return []
    more = "higher" if over.value > 0 else "lower"
    text = (
        f"Its confidence can't be taken at its word: on average it is {points(abs(over.value))} points {more} than "
        "its share of right answers."
    )
    # It fits the validation set, which may be another matter: then it would make things worse. At the ends of what is
    # tried, none fits.
    known = result["temperature"].value if "temperature" in result else 1.0
    if COOLEST < known < HOTTEST and (known > 1) == (over.value > 0):
        text += f" To mend that, divide its raw scores (logits) by {known:.2f}."
    bins = result.tables["reliability"]
    bins = bins[bins["series"] == "model"]  # of what is decided, which may be several things in a row
    right = float((bins["share"] * bins["n"]).sum() / bins["n"].sum())
    beside = Bars.of({"sure": right + over.value, "right": right}, most=1.0)
    return [Consequence("fails", text, min(1.0, 0.4 + 2 * abs(over.value)), "reliability", beside)]


def _has(result: Result, figure: str) -> bool:
    return any(one.key == figure for one in result.figures)
