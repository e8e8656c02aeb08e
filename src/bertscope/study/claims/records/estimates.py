"""Intervals from what results store: of heads that come in layers, of seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENOUGH_RUNS, percentile_ends, student_interval
from bertscope.core.resampling import cluster_draws


def share_of(marked: np.ndarray) -> Callable[[np.ndarray], float]:
    """The statistic that says which share of some heads, given by their places, is marked."""
    return lambda places: float(marked[places].mean())


def over_layers(statistic: Callable[[np.ndarray], float], layers: np.ndarray) -> Estimate:
    """A statistic of heads, given their places; the bootstrap draws whole layers, whose heads are alike."""
    draws = cluster_draws(statistic, layers)
    return Estimate.of(draws[0], *percentile_ends(draws[1:]))


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over trainings with Student's interval; without one if there are fewer than 5."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return student(float(np.mean(values)), spread, len(values))


def student(value: float, spread: float, runs: int) -> Estimate:
    """The same from mean and standard deviation."""
    if runs < ENOUGH_RUNS:
        return Estimate(value)
    return Estimate(value, *student_interval(value, spread, runs))
