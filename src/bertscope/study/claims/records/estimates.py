"""Intervals from what results store: of means, of the best of many parts, of heads that come in layers, of seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.intervals import ENOUGH_RUNS, percentile_ends, student_interval, wider_for_all
from bertscope.core.resampling import cluster_draws
from bertscope.study.claims.records.claim import Estimate

if TYPE_CHECKING:
    import pandas as pd


def cell(row: pd.Series, name: str, low: str | None = None, high: str | None = None) -> Estimate:
    """A table's value with its interval, in the columns `name_low`, `name_high` unless they are named."""
    return Estimate.of(row[name], row[low or f"{name}_low"], row[high or f"{name}_high"])


def column(rows: pd.DataFrame, name: str, low: str = "low", high: str = "high") -> list[Estimate]:
    return [Estimate.of(*values) for values in zip(rows[name], rows[low], rows[high], strict=True)]


def mean(parts: Sequence[Estimate]) -> Estimate:
    """Their mean, with the mean of the ends: wide enough however the parts are correlated."""
    value = sum(part.value for part in parts) / len(parts)
    lows, highs = [part.low for part in parts], [part.high for part in parts]
    if None in lows or None in highs:
        return Estimate(value)
    return Estimate(value, float(np.mean(lows)), float(np.mean(highs)))  # type: ignore[arg-type]


def extreme(
    parts: Sequence[Estimate], pick: Callable[[list[float]], float], certain: Sequence[bool] | None = None
) -> Estimate:
    """The largest (or smallest) of many parts' values, chosen on the data that give the intervals.

    Each part's interval is widened for the number of parts (Bonferroni, on the normal scale), so that all hold at
    once; then the truly largest value lies between the largest low end and the largest high end. `certain` says of
    which parts a corrected test finds that they differ from 0: the others' intervals reach to 0, however few examples
    make them look narrow.
    """
    if not all(part.sure for part in parts):
        return Estimate(pick([part.value for part in parts]))
    wider = wider_for_all(len(parts))
    lows = [part.value - wider * (part.value - part.low) for part in parts]  # type: ignore[operator]
    highs = [part.value + wider * (part.high - part.value) for part in parts]  # type: ignore[operator]
    if certain is not None:
        lows = [low if sure else min(low, 0.0) for low, sure in zip(lows, certain, strict=True)]
        highs = [high if sure else max(high, 0.0) for high, sure in zip(highs, certain, strict=True)]
    return Estimate(pick([part.value for part in parts]), pick(lows), pick(highs))


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


def trained(effect: Estimate, runs: int) -> tuple[Estimate, str]:
    """An effect of training: below 5 trainings without its interval, and why."""
    if runs >= ENOUGH_RUNS:
        return effect, ""
    trainings = "1 training" if runs == 1 else f"{runs} trainings"
    return effect.without_interval(), f"{trainings}; an interval over trainings needs {ENOUGH_RUNS} seeds"
