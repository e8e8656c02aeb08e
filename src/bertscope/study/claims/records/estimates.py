"""Intervals over trainings from what results store of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENOUGH_RUNS, normal_interval, student_interval


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over trainings with Student's interval; without one if there are fewer than 5."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return student(float(np.mean(values)), spread, len(values))


def over_seeds_and_texts(each: Sequence[Estimate]) -> Estimate:
    """The mean of what each training shows, by an interval over texts. What all trainings owe to the same texts is in
    their mean, too: the whole error over texts is added to Student's over seeds, since what trainings share of it
    isn't stored. Too wide rather than too narrow."""
    values = [one.value for one in each]
    if len(each) < ENOUGH_RUNS or not all(one.sure for one in each):
        return Estimate(float(np.mean(values)))
    ends = np.array([(one.low, one.high) for one in each], dtype=float)
    texts = np.square(np.diff(ends, axis=1) / np.diff(normal_interval(np.zeros(1), np.ones(1)), axis=0)).mean()
    spread = float(np.sqrt(np.var(values, ddof=1) + len(each) * texts))
    return student(float(np.mean(values)), spread, len(each))


def student(value: float, spread: float, runs: int) -> Estimate:
    """The same from mean and standard deviation."""
    if runs < ENOUGH_RUNS:
        return Estimate(value)
    return Estimate(value, *student_interval(value, spread, runs))
