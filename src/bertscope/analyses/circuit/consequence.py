"""What follows from `circuit`: how few of the model's parts do its work."""

from __future__ import annotations

import pandas as pd

from bertscope.analyses.circuit.result import favoured
from bertscope.core.consequence import Consequence, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Line

_NAMES = {"head": "attention heads", "mlp": "MLPs", "both": "heads and MLPs"}
_USUAL, _OFF = "holding the others at their usual output", "switching the others off"
_LEFT = {
    "mean": _USUAL, "position": _USUAL, "optimal": "holding the others at the output that is missed least",
    "zero": _OFF, "uniform": _OFF,
}  # fmt: skip
"""By mode, what is done to the parts that aren't kept."""


def consequences(result: Result) -> list[Consequence]:
    row = favoured(result)
    if row is None:
        return []
    kind = row["kind"]
    curves = result.tables["curves"]
    mine = curves[(curves["kind"] == kind) & (curves["ranking"] == row["ranking"])].sort_values("kept")
    beside = Line.of(mine, "kept", "score", marked=float(row["kept"]), along=f"{_NAMES[kind]} kept")
    is_open = bool(row["kept"] == row["of"] or row["verdict"] == "open")
    return [Consequence("needs", _told(row, result.subject["mode"]), 0.6, f"{kind}_score", beside, is_open)]


def _told(row: pd.Series, mode: str) -> str:
    """The validation set chose the parts; whether they are enough, the test set says."""
    names, verdict = _NAMES[row["kind"]], row["verdict"]
    if row["kept"] == row["of"]:
        return (
            f"Whether any of its {row['of']:.0f} {names} can be spared is open: no fewer were found to do its work."
        )
    some = f"{row['kept']:.0f} of its {row['of']:.0f} {names}"
    costs = f"{_LEFT[mode]} {lost(Estimate.of(row['change'], row['low'], row['high']))}."
    if verdict == "open":
        return f"Whether {some} do nearly all of its work is open: {costs}"
    if verdict == "worse":
        return f"{some} seemed to do nearly all of its work on the validation set; on the test set, {costs}"
    return f"{some} {'does' if row['kept'] == 1 else 'do'} nearly all of its work: {costs}"
