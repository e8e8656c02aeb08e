"""What a smaller model answers otherwise than the whole one: rows it fixes and breaks, and what that is by label.

The price that a score hides: where as much is fixed as is broken, it doesn't move. See `versus`, which asks it of any
two models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from bertscope.analyses.changed_calibration import Sure, calibration_tables
from bertscope.analyses.changed_labels import label_table
from bertscope.analyses.changed_predictions import (
    ALL,
    Answers,
    How,
    Pair,
    difference_table,
    distance,
    gold_groups,
    outcome_table,
)
from bertscope.core.estimate import Estimate
from bertscope.core.number import Number
from bertscope.core.statement import p_told, points, sure
from bertscope.core.statistics import holm, mcnemar_p

if TYPE_CHECKING:
    from bertscope.core.predictions import Predictions
    from bertscope.core.result import Result
    from bertscope.data.task import Task

VERSUS, BY_LABEL, DIFFERENCES, CALIBRATION = "versus", "changed_by_label", "differences", "calibration"
"""The tables' names."""
_TOLD = {
    "fixed": "fixed", "broken": "broken", "nearer": "nearer to the right score", "further": "further from it",
}  # fmt: skip
_MOST = 10  # labels that are told


class Said(Protocol):
    """What a model says of both sets."""

    @property
    def validation(self) -> Predictions: ...
    @property
    def test(self) -> Predictions: ...


def changed_answers(
    task: Task, whole: Predictions, others: Mapping[str, Predictions], *, seed: int = 0
) -> dict[str, pd.DataFrame]:
    """Tables of what other forms of a model, by their keys (`arm`), answer otherwise on the test set.

    versus            a row for each form: how many rows have which outcome, the exact test of fixed against broken
                      (corrected for the number of forms), and how many rows get another answer at all
    changed_by_label  recall, precision and F1 of each label in the whole model (a) and in the form (b)
    """
    before = Answers.of(task, whole)
    rows, labels = [], []
    for arm, said in others.items():
        pair = Pair(before, Answers.of(task, said), How(seed=seed))
        counts = outcome_table(pair, {"": gold_groups(pair)[ALL]}).set_index("outcome")["rows"]
        better = pair.better[pair.outcomes != ""]
        p = float(mcnemar_p(better.sum(), abs(better).sum()))
        flips = distance(pair).get("flips")
        apart = dict(zip(("flips", "flips_low", "flips_high"), flips, strict=True)) if flips else {}
        rows.append({"arm": arm, "n": int(counts.sum()), **counts.to_dict(), "p": p, **apart})
        by = label_table(pair)
        if by is not None:
            labels.append(by.assign(arm=arm)[["arm", *by.columns]])
    table = pd.DataFrame(rows)
    table.insert(table.columns.get_loc("p") + 1, "p_holm", holm(table["p"].to_numpy()))
    return {VERSUS: table} | ({BY_LABEL: pd.concat(labels, ignore_index=True)} if labels else {})


def changed_scores(
    task: Task, whole: Predictions, others: Mapping[str, Predictions], *, seed: int = 0
) -> dict[str, pd.DataFrame]:
    """The table `differences`: how much rows, the score and the loss differ from the whole model's, for each form,
    and p of as much by exchanging the two models' answers; corrected for the number of forms."""
    before, found = Answers.of(task, whole), []
    for arm, said in others.items():
        table = difference_table(Pair(before, Answers.of(task, said), How(seed=seed)))
        found.append(table.drop(columns="certain").assign(arm=arm)[["arm", *table.columns.drop("certain")]])
    table = pd.concat(found, ignore_index=True)
    table["p_holm"] = table.groupby("measure")["p"].transform(lambda p: holm(p.to_numpy()))
    return {DIFFERENCES: table}


def changed_confidence(task: Task, models: Mapping[str, Said], *, seed: int = 0) -> dict[str, pd.DataFrame]:
    """The table `calibration`: how far each is as often right as it says; none where answers have no
    probabilities."""
    confident = {arm: Sure(task, one.validation, Answers.of(task, one.test)) for arm, one in models.items()}
    found = calibration_tables(confident, How(seed=seed), "arm")
    return {name: table for name, table in found.items() if name == CALIBRATION}


def changed_numbers(tables: Mapping[str, pd.DataFrame], keys: Sequence[str]) -> list[Number]:
    """How many rows each form fixes and breaks, by these keys, where rows are right or wrong."""
    table = tables[VERSUS]
    return [
        Number(key, float(row[key]), n=row["n"], of={"arm": row["arm"]})
        for row in table.to_dict("records") for key in keys if key in table
    ]  # fmt: skip


def fixed_and_broken(result: Result, arm: str) -> str:
    """The end of a sentence about a form; nothing where rows are neither right nor wrong."""
    told = {key: result.numbers(key=key, arm=arm) for key in ("fixed", "broken")}
    if not all(told.values()):
        return ""
    (fixed,), (broken,) = told.values()
    return f"; {fixed.value:,.0f} of {fixed.n:,} test rows are fixed, {broken.value:,.0f} broken"


def changed_lines(tables: Mapping[str, pd.DataFrame], names: Mapping[str, str], whole: str = "") -> list[str]:
    """The same in sentences, one for each form: what it fixes and breaks, the labels whose recall moves most, and
    where there are tables of that, the score and how sure it is beside the `whole` model."""
    return [
        "; ".join(
            [_cases(row, names), *_score(row["arm"], tables), *_recalls(row["arm"], tables),
             *_confidence(row["arm"], whole, tables)]
        )
        for row in tables[VERSUS].to_dict("records")
    ]  # fmt: skip


def _cases(row: dict[Any, Any], names: Mapping[str, str]) -> str:
    better, worse = ((key, row[key]) for key in _TOLD if key in row)
    cases = f"{better[1]:,} {_TOLD[better[0]]}, {worse[1]:,} {_TOLD[worse[0]]}"
    return f"{names.get(row['arm'], row['arm'])}: of {row['n']:,} test rows {cases} ({p_told(row['p_holm'])})"


def _score(arm: str, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    if DIFFERENCES not in tables:
        return []
    row = tables[DIFFERENCES].set_index(["arm", "measure"]).loc[(arm, "score")]
    change = sure(Estimate.of(row["change"], row["low"], row["high"]), points)
    return [f"the score changes by {change} points ({p_told(row['p_holm'])})"]


def _recalls(arm: str, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    if BY_LABEL not in tables:
        return []
    labels = tables[BY_LABEL]
    recall = labels[(labels["arm"] == arm) & (labels["measure"] == "recall")].dropna(subset="change")
    shown = recall.loc[recall["change"].abs().sort_values(ascending=False, kind="stable").index[:_MOST]]
    parts = [
        f"{one['label']} {one['a']:.3f} to {one['b']:.3f}{', for certain' if one['certain'] else ''}"
        for one in shown.to_dict("records")
    ]
    which = f"the {_MOST} of {len(recall)} that move most" if len(recall) > _MOST else "by class"
    return [f"recall {which}: {'; '.join(parts)}"] if parts else []


def _confidence(arm: str, whole: str, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    if CALIBRATION not in tables:
        return []
    over = tables[CALIBRATION].set_index("arm")[["over", "over_low", "over_high"]]
    told, before = (sure(Estimate.of(*over.loc[one]), points) for one in (arm, whole))
    return [f"it is {told} points surer than it is right, the whole model {before}"]
