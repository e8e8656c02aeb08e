"""`courses`: the lines of several trainings, their means at each step, and how far each number moved in all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.courses.question import CoursesConfig, called
from bertscope.analyses.courses.result import courses_result
from bertscope.core.errors import UserError
from bertscope.core.intervals import ALIKE, ENOUGH_RUNS, student_interval
from bertscope.core.result import Result

_LINE = ["line", "key", "unit"]


def measure(courses: Sequence[Result], config: CoursesConfig) -> Result:
    _refuse_unlike(courses)
    names = called(config.names, len(courses))
    lines = _side_by_side("lines", courses, names)
    onsets = _side_by_side("onsets", courses, names)
    in_all = lines.groupby("line")["training"].nunique()
    shared = in_all[in_all == len(courses)].index
    left_out = [name for name in in_all.index if name not in shared]
    lines, onsets = (table[table["line"].isin(shared)].reset_index(drop=True) for table in (lines, onsets))
    return courses_result(courses, names, lines, _means(lines), _changes(lines, onsets), left_out)


def _refuse_unlike(courses: Sequence[Result]) -> None:
    if other := next((one.question for one in courses if one.question != "course"), None):
        raise UserError(f"trainings are compared by what `course` says of each, not by answers to {other}")
    if len(courses) < 2:
        raise UserError("one training has no spread over trainings; name two or more")
    if old := [one for one in courses if "known_end" not in one.tables["onsets"]]:
        raise UserError(f"these answers to course are of version {old[0].version}; ask them again")
    asked = list(dict.fromkeys(one.subject["question"] for one in courses))
    if len(asked) > 1:
        raise UserError(f"these trainings were asked {' and '.join(asked)}; name answers to one question")
    if len({tuple(sorted(one.subject.items())) for one in courses}) > 1:
        raise UserError(
            "these trainings weren't asked of the same data and of as many checkpoints; name those that were"
        )
    steps = {tuple(one.tables["checkpoints"]["step"]) for one in courses}
    if len(steps) > 1:
        raise UserError("these trainings have checkpoints at other steps; keep them at the same ones")


def _side_by_side(table: str, courses: Sequence[Result], names: Sequence[str]) -> pd.DataFrame:
    return pd.concat(
        [one.tables[table].assign(training=name) for one, name in zip(courses, names, strict=True)], ignore_index=True
    )


def _means(lines: pd.DataFrame) -> pd.DataFrame:
    """At each step, over trainings; where one lacks a number, that step has none."""
    rows = []
    trainings = lines["training"].nunique()
    for (line, key, unit, step), some in lines.groupby([*_LINE, "step"], sort=False):
        if len(some) == trainings:
            mean, low, high = over_trainings(some["value"].to_numpy(float))
            rows.append({"line": line, "key": key, "unit": unit, "step": step, "mean": mean, "low": low, "high": high,
                         "trainings": len(some)})  # fmt: skip
    return pd.DataFrame(rows, columns=[*_LINE, "step", "mean", "low", "high", "trainings"])


def _changes(lines: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """Of each number, its last minus its first, over trainings."""
    rows = []
    units = dict(zip(lines["line"], lines["unit"], strict=True))
    for (line, key), some in onsets.groupby(["line", "key"], sort=False):
        mean, low, high = over_trainings(some["change"].to_numpy(float))
        told, known_end = some["onset"].dropna(), bool(some["known_end"].any())
        rows.append({
            "line": line, "key": key, "unit": units[line], "first": some["first"].mean(), "last": some["last"].mean(),
            "change": mean, "low": low, "high": high, "certain": bool(low > 0 or high < 0) and not known_end,
            "known_end": known_end, "told": len(told),
            "earliest": told.min() if len(told) else pd.NA, "latest": told.max() if len(told) else pd.NA,
        })  # fmt: skip
    return pd.DataFrame(rows).astype({"earliest": "Int64", "latest": "Int64"})


def over_trainings(values: np.ndarray) -> tuple[float, float, float]:
    """The mean and Student's interval, from five trainings on. There is none where all are exactly alike: that
    happens by chance where few texts change, and doesn't say how unlike another training would be."""
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if len(values) < ENOUGH_RUNS or not spread > ALIKE:
        return mean, float("nan"), float("nan")
    return mean, *student_interval(mean, spread, len(values))
