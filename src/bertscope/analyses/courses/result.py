"""The answer of `courses`: mean lines with bands over trainings, and how far each number moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertscope.analyses.courses.question import courses as question
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement

_IN_ONE = 5  # lines that one picture can hold; more get a picture each
_LABELS = {"step": "step", "line": "", "mean": "", "low": "from", "high": "to", "change": "change", "training": ""}


def courses_result(
    courses: Sequence[Result], names: Sequence[str], lines: pd.DataFrame, means: pd.DataFrame, changes: pd.DataFrame,
    left_out: Sequence[str],
) -> Result:  # fmt: skip
    """It is about the last checkpoints: what each training made."""
    n = len(courses)
    numbers = [Number("trainings", n), Number("certain", int(changes["certain"].sum()), n=_tested(changes))]
    numbers += [
        _final_change(row, n)
        for _, row in changes.dropna(subset=["change"]).iterrows()
        if row["certain"] or row["known_end"] or pd.isna(row["low"])
    ]
    made = {key: record for one in courses for key, record in one.models.items()}
    known = [one.tables["checkpoints"].assign(training=name) for one, name in zip(courses, names, strict=True)]
    notes = _how_sure(changes, n)
    if left_out:
        notes.append(f"left out, since not every training has them: {', '.join(left_out[:6])}")
    return question.result(
        tables={
            "means": means,
            "changes": changes,
            "lines": lines,
            "checkpoints": pd.concat(known, ignore_index=True),
        },
        headline=numbers,
        figures=[*_mean_figures(means, n), *_change_figure(changes), *_each_figure(lines)],
        models=made,
        subject=courses[-1].subject | {"trainings": str(n)},
        notes=[*notes, *dict.fromkeys(note for one in courses for note in one.notes[1:])],
    )


def _tested(changes: pd.DataFrame) -> int:
    """Of how many numbers it is asked whether they changed: of those with an interval, and without a known end."""
    return int((changes["low"].notna() & ~changes["known_end"]).sum())


def _final_change(row: pd.Series, n: int) -> Number:
    change = cell(row, "change", "low", "high")
    return Number("final_change", change.value, change.low, change.high, n, row["unit"], of={"line": row["line"]})


def _how_sure(changes: pd.DataFrame, n: int) -> list[str]:
    """What the means' intervals are over, and why some have none."""
    if n < ENOUGH_RUNS:
        return [
            f"{n} trainings are too few for an interval over trainings, {ENOUGH_RUNS} are enough: means are points, "
            "and no number is tested for a change"
        ]
    notes = [
        f"intervals of means are over {n} trainings, not over texts; {_tested(changes)} numbers are each tested at "
        "5% for a change, not corrected for how many they are"
    ]
    if alike := changes.loc[changes["change"].notna() & changes["low"].isna(), "line"].tolist():
        notes.append(
            f"no interval for what changed by the same in all {n} trainings, which doesn't say how unlike another "
            f"would be: {', '.join(alike[:6])}"
        )
    return notes


def _mean_figures(means: pd.DataFrame, n: int) -> list[Figure]:
    """One for each unit."""
    sure = "with its 95% interval over trainings (Student's)" if n >= ENOUGH_RUNS else "too few for an interval"
    figures = []
    for place, unit in enumerate(means["unit"].unique()):
        own = unit == "" or means[means["unit"] == unit]["line"].nunique() > _IN_ONE
        by: Any = {"facet": "line"} if own else {"color": "line"}
        figures.append(
            Figure(
                "lines", "means", x="step", y="mean", low="low", high="high", where={"unit": unit}, **by,
                title=f"Over the steps, mean of the trainings{f' ({unit})' if unit else ''}",
                caption=f"At each step the mean over {n} trainings, {sure}.",
                labels=_LABELS | {"mean": unit}, key=f"means_{place}" if place else "means",
            )
        )  # fmt: skip
    return figures


def _change_figure(changes: pd.DataFrame) -> list[Figure]:
    if not changes["certain"].any():
        return []
    return [
        Figure(
            "intervals", "changes", x="change", y="line", low="low", high="high", where={"certain": True},
            title="From the first checkpoint to the last",
            caption="The mean change over trainings with its 95% interval; only numbers that changed for certain.",
            labels=_LABELS, key="changes",
        )
    ]  # fmt: skip


def _each_figure(lines: pd.DataFrame) -> list[Figure]:
    return [
        Figure(
            "lines", "lines", x="step", y="value", facet="line", color="training",
            title="Each training", caption="Every training's own line.", labels=_LABELS | {"value": ""}, key="each",
        )
    ]  # fmt: skip


def sentence(result: Result) -> Statement | None:
    changes, steps = result.tables["changes"], result.tables["means"]["step"]
    certain, tested = changes[changes["certain"]], result["certain"].n
    found = (
        f"{len(certain)} of {tested} numbers of {result.subject['question']} changed for certain, over trainings"
        if tested
        else f"no number of {result.subject['question']} is tested for a change, over trainings"
    )
    told = f"From step {steps.min():,} to step {steps.max():,} of {result['trainings'].value:.0f} trainings, {found}"
    effects = changes[changes["certain"] | changes["known_end"]]
    known = effects.dropna(subset=["earliest"]).sort_values(["latest", "earliest"], kind="stable")
    if len(known):
        row = known.iloc[0]
        told += (
            f"; first {row['line']}, which reached its final level at step {row['earliest']:,} to {row['latest']:,} "
            f"in the {row['told']} trainings that show it"
        )
    return Statement(f"{told}.", float(len(certain)), lambda count: f"{count:.0f}")
