"""Intervals over trainings from what results store of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ALIKE, ENOUGH_RUNS, student_interval
from bertscope.core.variance_components import interval_over_runs


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over trainings with Student's interval; without one if there are fewer than 5."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return student(float(np.mean(values)), spread, len(values))


def over_seeds_and_texts(values: np.ndarray) -> Estimate:
    """The mean over trainings of what each example has to do with something, [training, n], with the interval over
    both."""
    low, high = interval_over_runs(values)
    return Estimate.of(float(values.mean()), float(low), float(high))


def student(value: float, spread: float, runs: int) -> Estimate:
    """The same from mean and standard deviation; without one if all trainings came out alike, too."""
    if runs < ENOUGH_RUNS or not spread > ALIKE:
        return Estimate(value)
    return Estimate(value, *student_interval(value, spread, runs))
