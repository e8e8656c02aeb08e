"""What follows from `circuit`: how few of the model's parts do its work."""

from __future__ import annotations

from bertscope.analyses.circuit.result import favoured
from bertscope.core.consequence import Consequence, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Line

_NAMES = {"head": "attention heads", "mlp": "MLPs", "both": "heads and MLPs"}


def consequences(result: Result) -> list[Consequence]:
    row = favoured(result)
    if row is None:
        return []
    kind = row["kind"]
    change = Estimate.of(row["change"], row["low"], row["high"])
    text = (
        f"{row['kept']:.0f} of its {row['of']:.0f} {_NAMES[kind]} {'does' if row['kept'] == 1 else 'do'} nearly all "
        f"of its work: holding the others at their usual output {lost(change)}."
    )
    curves = result.tables["curves"]
    mine = curves[(curves["kind"] == kind) & (curves["ranking"] == row["ranking"])].sort_values("kept")
    beside = Line.of(mine, "kept", "score", marked=float(row["kept"]), along=f"{_NAMES[kind]} kept")
    is_open = change.low is None or change.high is None or change.low <= 0 <= change.high
    return [Consequence("needs", text, 0.6, f"{kind}_score", beside, is_open)]
