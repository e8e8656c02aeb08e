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
_ONE = {"head": "head", "layer": "layer", "mlp": "MLP", "heads": "layer"}


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
    whole = f"{len(needed)} of its {len(rows)} {_NAMES[kind]}"
    if told_by == "loss" and not (needed["certain"] & (needed["effect"] < 0)).any():
        # What is certain may still be next to nothing, and no answer another: of a sure model's heads it often is.
        text = (
            f"It uses {whole}: without any one of them its loss is certain to rise, most without {_named(most)}, "
            "but no fall of its score is certain."
        )
    else:
        falls = f": without it the score falls by {points(-most['effect'])} points"
        costs = falls if most["certain"] and most["effect"] < 0 else ""
        place = _named(most)
        text = f"It needs {whole}. {place[0].upper()}{place[1:]} matters most{costs}."
    text += _of_others(rows.drop(needed.index), float(most["cost"]))
    text += trust
    return Consequence("needs", text, 0.9 if kind == "layer" else 0.7 if kind == "head" else 0.4, kind, beside)


def _named(part: pd.Series) -> str:
    return f"{_ONE[part['kind']]} {str(part['unit']).partition(':')[2]}"


def _of_others(others: pd.DataFrame, most: float) -> str:
    """That no harm is certain isn't that there is none: what costs a few texts much may cost most of all."""
    if others.empty:
        return ""
    which = "the other one" if len(others) == 1 else f"any one of the other {len(others)}"
    above = others.loc[others["cost"].idxmax()]
    more = f", though {_named(above)} may matter more" if above["cost"] > most else ""
    return f" Switching off {which} does no harm that is certain{more}."


def _reliability(result: Result, kind: str, measure: str) -> str:
    known = result.numbers(key="reliability", kind=kind, measure=measure)
    if not known or known[0].value >= ENOUGH:
        return ""
    return f" Other texts might rank them differently (reliability {known[0].value:.2f})."
