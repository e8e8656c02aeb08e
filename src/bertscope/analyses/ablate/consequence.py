"""What follows from `ablate`: what a model can't do without, and what it can."""

from __future__ import annotations

import pandas as pd

from bertscope.analyses.ablate.result import MEASURES
from bertscope.core.consequence import HEADS, LAYERS, Consequence
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.small_picture import Cells
from bertscope.core.statement import points

_NAMES = {
    "head": HEADS,
    "layer": LAYERS,
    "mlp": "MLPs (the parts that work on each word alone)",
    "heads": "layers of attention heads",
}
_ONE = {"head": "Head", "layer": "Layer", "mlp": "MLP", "heads": "Layer"}


def consequences(result: Result) -> list[Consequence]:
    """Told by the loss, which sees what the score is too coarse for; of a model of scores by what leads, since its
    loss says nothing where it answers in another unit than the task's."""
    effects = result.tables["effects"]
    found = [_of(kind, effects[effects["kind"] == kind], result) for kind in _NAMES]
    return [one for one in found if one is not None]


def _of(kind: str, rows: pd.DataFrame, result: Result) -> Consequence | None:
    if rows.empty:
        return None
    told_by = rows["told_by"].iloc[0] if "squared_change" in rows else "loss"
    by = MEASURES[told_by]
    rows = rows.assign(cost=by.needed * rows[by.value])
    needed = rows[rows[by.certain] & (rows["cost"] > 0)]
    trust = _reliability(result, kind, told_by)
    across = "head" if kind == "head" else None
    beside = Cells.of(rows, "cost", column=across, marked=needed, both_ways=True)
    if needed.empty:
        text = (
            f"Which of its {len(rows)} {_NAMES[kind]} it needs is open: as far as these texts can tell, it does as "
            "well without any one of them."
        )
        return Consequence("needs", text, 0.3, kind, beside, is_open=True)
    most = needed.loc[needed["cost"].idxmax()]
    place = f"{_ONE[kind]} {str(most['unit']).partition(':')[2]}"
    falls = f": without it the score falls by {points(-most['effect'])} points"
    costs = falls if most["certain"] and most["effect"] < 0 else ""
    text = f"It needs {len(needed)} of its {len(rows)} {_NAMES[kind]}. {place} matters most{costs}."
    others = len(rows) - len(needed)
    if others:
        rest = "the other one" if others == 1 else f"any one of the other {others}"
        text += f" Switching off {rest} does no harm that these texts can show."
    text += trust
    return Consequence("needs", text, 0.9 if kind == "layer" else 0.7 if kind == "head" else 0.4, kind, beside)


def _reliability(result: Result, kind: str, measure: str) -> str:
    known = result.numbers(key="reliability", kind=kind, measure=measure)
    if not known or known[0].value >= ENOUGH:
        return ""
    return f" Other texts might rank them differently (reliability {known[0].value:.2f})."
