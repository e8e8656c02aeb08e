"""Intervals over trainings from what results store of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENOUGH_RUNS, student_interval


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over trainings with Student's interval; without one if there are fewer than 5."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return student(float(np.mean(values)), spread, len(values))


def student(value: float, spread: float, runs: int) -> Estimate:
    """The same from mean and standard deviation."""
    if runs < ENOUGH_RUNS:
        return Estimate(value)
    return Estimate(value, *student_interval(value, spread, runs))
