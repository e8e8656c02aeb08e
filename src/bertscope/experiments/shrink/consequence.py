"""What follows from `shrink`: what 8 bits alone, a cut, and both save, and at what price."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent, points

_SHORT = {"whole_int8": "8 bits", "cut": "cut", "cut_int8": "both"}
_BEST = {
    "whole_int8": "8 bits alone, for which nothing is trained",
    "cut": "the cut one",
    "cut_int8": "both",
}
_MATTERS = 0.05
"""A loss of so much would matter: where it may be that, and may be none, the price is open."""


def consequences(result: Result) -> list[Consequence]:
    forms = result.tables["forms"].set_index("arm")
    scores = {arm: result.numbers(key="score", arm=arm)[0] for arm in ("whole", *forms.index)}
    changes = {arm: result.numbers(key="change", arm=arm)[0] for arm in forms.index}
    told = [
        f"{_done(str(arm), result)}, it is {row['faster']:.1f} times as fast at {percent(row['size'])} of its size "
        f"{_price(changes[arm])}"
        for arm, row in forms.iterrows()
    ]
    best = str(forms.index[forms["best"]][0])
    chosen = f" Best of these: {_BEST[best]}." if len(told) > 1 else ""
    text = f"{'; '.join(told)}.{chosen}"
    beside = Bars.of({_SHORT.get(arm, arm): score for arm, score in scores.items()}, most=1.0)
    command = "" if _trained(result) else "bertscope shrink {model} --on {data} --out smaller"
    is_open = _is_open(changes[best])
    return [Consequence("price", text[0].upper() + text[1:], 0.9, "scores", beside, is_open, command)]


def _done(arm: str, result: Result) -> str:
    """What was done to the model."""
    if arm == "whole_int8":
        return "stored in 8 bits and run by ONNX Runtime"
    if arm == "cut_int8":
        return "with both"
    how = "trained again" if _trained(result) else "not trained again"
    return f"cut to {percent(result['left'].value)} of its inner weights and {how}"


def _trained(result: Result) -> bool:
    return bool(result.provenance.get("settings", {}).get("retrain", True))


def _price(change: Number) -> str:
    """What is lost of the score.

    >>> _price(Number("change", -0.03, -0.05, -0.01)), _price(Number("change", -0.002, -0.008, 0.004))
    ('and loses 3.0 points (1.0 to 5.0)', 'and loses nothing that can be shown (at most 0.8 points)')
    >>> _price(Number("change", -0.07, -0.158, 0.01))
    'and what it loses is open (up to 15.8 points)'
    """
    if change.low is None or change.high is None:
        return f"and its score changes by {points(change.value)} points"
    if change.high < 0:
        return f"and loses {points(-change.value)} points ({points(-change.high)} to {points(-change.low)})"
    if change.low > 0:
        return f"and gains {points(change.value)} points ({points(change.low)} to {points(change.high)})"
    if _is_open(change):
        return f"and what it loses is open (up to {points(-change.low)} points)"
    most = f" that can be shown (at most {points(-change.low)} points)" if change.low < 0 else ""
    return f"and loses nothing{most or ' on these texts'}"


def _is_open(change: Number) -> bool:
    if change.low is None or change.high is None:
        return True
    return change.low < -_MATTERS and change.high >= 0
