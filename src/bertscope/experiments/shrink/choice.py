"""Which form to take: the model in int8 alone, cut, or both.

Whoever wants a smaller model gets much of it from 8 bits alone, without training and mostly at no loss: a cut has to
do better than that. The rule looks at the validation set and at the clock; the test set only reports.

1. Forms that meet the target. Times as fast: as measured, but for 2%. A share of parameters: no larger on disk than
   the cut model, which has it. Points: no more of the score is lost. Where none meets it, all go on, which is said.
2. Of these, those whose score is at most a point below the best one's; of a target in points, all.
3. Of these the fastest; of a target in parameters the smallest. What comes within 2% of that ties, and the form that
   least was done to is taken: int8 alone, then the cut, then both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bertscope.core.statement import points
from bertscope.experiments.comparison import CUT, FORMS, WHOLE

if TYPE_CHECKING:
    from bertscope.experiments.shrink.question import Target

RULE = (
    "which form is taken: of those that meet the target and whose score on the validation set is at most a point "
    "below the best one's (with a target in points, of all that meet it), the fastest (with a target in parameters, "
    "the smallest); forms within 2% of it tie, and then int8 alone goes before the cut, and the cut before both"
)
AS_GOOD = 0.01
"""So much below the best score is as good as it."""
TIE = 1.02
"""No two measurements agree to the last percent."""
_ROUNDING = 1e-9


def chosen(models: pd.DataFrame, times: pd.DataFrame, target: Target | None, texts: int) -> pd.DataFrame:
    """The table `forms`: a row for each that there is, with what the rule says of it; `best` is the one to take.

    models, times   as `comparison.measured` gives them
    texts           how many at a time where speed counts
    """
    by = models.set_index("arm")
    speed = times[times["texts"] == texts].set_index("arm")
    arms = [arm for arm in FORMS if arm in by.index]
    table = pd.DataFrame(
        {"arm": arms, "model": by.loc[arms, "model"].to_numpy(), "texts": texts,
         "faster": speed.loc[arms, "faster"].to_numpy(),
         "size": (by.loc[arms, "megabytes"] / by.loc[WHOLE, "megabytes"]).to_numpy(),
         "validation": by.loc[arms, "validation"].to_numpy(),
         "change": (by.loc[arms, "validation"] - by.loc[WHOLE, "validation"]).to_numpy()}
    )  # fmt: skip
    table["meets"] = _meets(table, target)
    able = table[table["meets"]] if table["meets"].any() else table
    table["as_good"] = True
    if target is None or target.kind != "points":
        table["as_good"] = table["validation"] >= able["validation"].max() - AS_GOOD - _ROUNDING
    able = able[table.loc[able.index, "as_good"]]
    cost = able["size"] if target is not None and target.kind == "share" else 1 / able["faster"]
    table["best"] = table.index == cost[cost <= TIE * cost.min()].index[0]
    return table


def _meets(table: pd.DataFrame, target: Target | None) -> pd.Series:
    if target is None:
        return pd.Series(True, index=table.index)
    if target.kind == "times":
        return table["faster"] * TIE >= target.value
    if target.kind == "points":
        return table["change"] >= -target.value - _ROUNDING
    return table["size"] <= table.loc[table["arm"] == CUT, "size"].item() + _ROUNDING


def best_of(forms: pd.DataFrame) -> str:
    """The key (`arm`) of the form to take."""
    return str(forms.loc[forms["best"], "arm"].item())


def reasons(forms: pd.DataFrame, target: Target | None) -> list[str]:
    """Why the best is the best, against each of the others; and where none is what was asked for, that."""
    best = forms[forms["best"]].iloc[0]
    asked = f" (target: {target})" if target else ""
    others = [_against(best, other, target) for _, other in forms[~forms["best"]].iterrows()]
    told = [f"to be taken{asked}: {best['model']}; {'; '.join(others) or 'there was nothing else to choose from'}"]
    return told if best["meets"] else [*told, f"none of the forms meets the target {target}"]


def _against(best: pd.Series, other: pd.Series, target: Target | None) -> str:
    """Why this one wasn't taken."""
    name = other["model"]
    if best["meets"] and not other["meets"]:
        return f"{name} doesn't meet the target"
    if not other["as_good"]:
        worse = best["validation"] - other["validation"]
        return f"{name} scores {points(worse)} points less on the validation set"
    by_size = target is not None and target.kind == "share"
    ratio = other["size"] / best["size"] if by_size else best["faster"] / other["faster"]
    less, more = ("smaller", "larger") if by_size else ("faster", "slower")
    return f"{name} is {more}" if ratio > 1 else f"{name} is hardly {less}"
