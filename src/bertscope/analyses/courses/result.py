"""The answer of `courses`: mean lines with bands over trainings, and how far each number moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertscope.analyses.courses.question import courses as question
from bertscope.core.figure import Figure
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
    certain = changes[changes["certain"]]
    n = len(courses)
    numbers = [Number("trainings", n), Number("certain", len(certain), n=len(changes))]
    numbers += [
        Number("final_change", row.change, row.low, row.high, n, row.unit, of={"line": row.line})
        for row in certain.itertuples()
    ]
    made = {key: record for one in courses for key, record in one.models.items()}
    known = [one.tables["checkpoints"].assign(training=name) for one, name in zip(courses, names, strict=True)]
    notes = [
        f"intervals of means are over {n} trainings, not over texts; {len(changes)} numbers are each tested at 5% "
        "for a change, not corrected for their number"
    ]
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
        figures=[*_mean_figures(means), *_change_figure(changes), *_each_figure(lines)],
        models=made,
        subject=courses[-1].subject | {"trainings": str(n)},
        notes=[*notes, *dict.fromkeys(note for one in courses for note in one.notes[1:])],
    )


def _mean_figures(means: pd.DataFrame) -> list[Figure]:
    """One for each unit."""
    figures = []
    for place, unit in enumerate(means["unit"].unique()):
        own = unit == "" or means[means["unit"] == unit]["line"].nunique() > _IN_ONE
        by: Any = {"facet": "line"} if own else {"color": "line"}
        figures.append(
            Figure(
                "lines", "means", x="step", y="mean", low="low", high="high", where={"unit": unit}, **by,
                title=f"Over the steps, mean of the trainings{f' ({unit})' if unit else ''}",
                caption="At each step the mean over trainings, with its 95% interval over trainings (Student's).",
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
    certain = changes[changes["certain"]]
    told = (
        f"From step {steps.min():,} to step {steps.max():,} of {result['trainings'].value:.0f} trainings, "
        f"{len(certain)} of {len(changes)} numbers of {result.subject['question']} changed for certain over "
        "trainings"
    )
    known = certain.dropna(subset=["earliest"]).sort_values(["latest", "earliest"], kind="stable")
    if len(known):
        row = known.iloc[0]
        told += (
            f"; first {row['line']}, which reached its final level at step {row['earliest']:,} to {row['latest']:,} "
            f"in the {row['told']} trainings where that is certain"
        )
    return Statement(f"{told}.", float(len(certain)), lambda count: f"{count:.0f}")
