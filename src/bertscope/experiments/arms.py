"""The arms of an experiment: trained with the same seeds, scored on the same examples, compared pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.core.intervals import ENOUGH_RUNS, percentile_interval_over_runs
from bertscope.core.number import Number
from bertscope.core.resampling import Value, seed_draws


class Arms:
    """What each arm's runs say about the same examples.

    runs    for each arm, the moments [n, k] of each run; run i of every arm has the same seed
    value   from means of moments to the metric
    """

    def __init__(self, runs: Mapping[str, Sequence[np.ndarray]], value: Value) -> None:
        moments = np.stack([np.stack(list(each)) for each in runs.values()])  # [arm, run, n, k]
        self.names, (_, self.runs, self.n, _) = tuple(runs), moments.shape
        self.each = value(moments.mean(2))
        """[arm, run]: the metric of every single training."""
        self._draws = seed_draws(value, moments)  # [1 + repeats, arm]

    def table(self) -> pd.DataFrame:
        """A row for each arm: the mean over its runs, with its interval and their standard deviation."""
        low, high = percentile_interval_over_runs(self._draws, self.runs)
        sd = self.each.std(1, ddof=1) if self.runs > 1 else np.full(len(self.names), np.nan)
        return pd.DataFrame(
            {"arm": self.names, "score": self._draws[0], "sd": sd, "low": low, "high": high, "runs": self.runs,
             "n": self.n}
        )  # fmt: skip

    def against(self, reference: Mapping[str, str]) -> pd.DataFrame:
        """The table, with how far each arm is from the one that it is compared with."""
        found = self.effects({arm: (arm, reference[arm]) for arm in self.names})
        return self.table().assign(effect=found["difference"], effect_low=found["low"], effect_high=found["high"])

    def effects(self, pairs: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
        """A row for each named pair of arms: the first minus the second, on the same seeds and examples."""
        one, other = ([self.names.index(pair[side]) for pair in pairs.values()] for side in (0, 1))
        apart = self._draws[:, one] - self._draws[:, other]
        low, high = percentile_interval_over_runs(apart, self.runs)
        first, second = zip(*pairs.values(), strict=True)
        return pd.DataFrame(
            {"effect": list(pairs), "arm": first, "against": second, "difference": apart[0], "low": low,
             "high": high, "runs": self.runs, "n": self.n}
        )  # fmt: skip

    def combined(self, weights: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """A row for each named combination of arms, such as the mean of some minus the mean of others."""
        draws = self._draws @ np.stack(list(weights.values()), axis=1)
        low, high = percentile_interval_over_runs(draws, self.runs)
        return pd.DataFrame(
            {
                "effect": list(weights),
                "difference": draws[0],
                "low": low,
                "high": high,
                "runs": self.runs,
                "n": self.n,
            }
        )

    def trainings(self, seeds: Sequence[int]) -> pd.DataFrame:
        """A row for every single training."""
        return pd.DataFrame(
            {"arm": arm, "seed": seed, "score": float(self.each[at, run])}
            for at, arm in enumerate(self.names)
            for run, seed in enumerate(seeds)
        )


def how_sure(runs: int) -> str:
    """What the intervals are over, for a caption."""
    if runs == 1:
        return "One seed: intervals are over examples."
    return (
        "Too few seeds for intervals."
        if runs < ENOUGH_RUNS
        else "Intervals: two-level bootstrap over seeds and examples."
    )


def few_seeds(runs: int) -> list[str]:
    """What has to be said where there are too few runs."""
    if runs == 1:
        return ["one seed: intervals are over examples and say nothing about how trainings vary"]
    if runs < ENOUGH_RUNS:
        return [f"{runs} seeds are too few for an interval over trainings; {ENOUGH_RUNS} are enough"]
    return []


def number(
    key: str, row: pd.Series, value: str, unit: str, ends: tuple[str, str] = ("low", "high"), **of: str
) -> Number:
    """A row of these tables as a headline number."""
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ends)
    return Number(key, float(row[value]), low, high, int(row["n"]), unit, of=of)


def in_points(row: pd.Series) -> str:
    """An effect in hundredths, and whether an interval over trainings says which way it goes: `-3.1 (clear of 0)`."""
    points = f"{100 * row['difference']:+.1f}"
    if row["runs"] < ENOUGH_RUNS:
        return points
    return f"{points} ({'clear of 0' if row['low'] * row['high'] > 0 else 'may be 0'})"
