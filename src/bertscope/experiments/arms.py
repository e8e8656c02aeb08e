"""The arms of an experiment: trained with the same seeds, scored on the same examples, compared pair by pair."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import pandas as pd

from bertscope.core.intervals import ENOUGH_RUNS, percentile_interval_over_runs
from bertscope.core.number import Number
from bertscope.core.resampling import Value, seed_draws

Arm = TypeVar("Arm", bound=Hashable)
"""What an arm is known by: its key, or, where it is one setting of several things, a key for each."""


class Arms(Generic[Arm]):
    """What each arm's trainings say about the same examples.

    runs      by arm and seed, the moments [n, k]; every arm has the same seeds
    value     from means of moments to the metric
    columns   what tables call the keys that an arm is known by
    """

    def __init__(
        self, runs: Mapping[Arm, Mapping[int, np.ndarray]], value: Value, columns: tuple[str, ...] = ("arm",)
    ) -> None:
        self.keys, self.seeds, self._columns = tuple(runs), tuple(next(iter(runs.values()))), columns
        if any(set(of_arm) != set(self.seeds) for of_arm in runs.values()):
            raise ValueError(f"arms of different seeds: { {arm: list(of_arm) for arm, of_arm in runs.items()} }")
        moments = np.stack([[of_arm[seed] for seed in self.seeds] for of_arm in runs.values()])  # [arm, run, n, k]
        self.runs, self.n = moments.shape[1:3]
        self._each = value(moments.mean(2))  # [arm, run]: the metric of every single training
        self._draws = seed_draws(value, moments)  # [1 + repeats, arm]

    def table(self) -> pd.DataFrame:
        """A row for each arm: the mean over its runs, with its interval and their standard deviation."""
        low, high = percentile_interval_over_runs(self._draws, self.runs)
        sd = self._each.std(1, ddof=1) if self.runs > 1 else np.full(len(self.keys), np.nan)
        found = {"score": self._draws[0], "sd": sd, "low": low, "high": high, "runs": self.runs, "n": self.n}
        return pd.concat([pd.DataFrame(map(self._named, self.keys)), pd.DataFrame(found)], axis=1)

    def against(self, reference: Mapping[Arm, Arm]) -> pd.DataFrame:
        """The table, with how far each arm is from the one that it is compared with."""
        apart, low, high = self._apart([(arm, reference[arm]) for arm in self.keys])
        return self.table().assign(effect=apart, effect_low=low, effect_high=high)

    def effects(self, pairs: Mapping[str, tuple[Arm, Arm]]) -> pd.DataFrame:
        """A row for each named pair of arms: the first minus the second, on the same seeds and examples."""
        apart, low, high = self._apart(list(pairs.values()))
        first, second = zip(*pairs.values(), strict=True)
        return pd.DataFrame(
            {"effect": list(pairs), "arm": first, "against": second, "difference": apart, "low": low,
             "high": high, "runs": self.runs, "n": self.n}
        )  # fmt: skip

    def _apart(self, pairs: Sequence[tuple[Arm, Arm]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How far the first of each pair is from the second, and its interval."""
        one, other = ([self.keys.index(pair[side]) for pair in pairs] for side in (0, 1))
        apart = self._draws[:, one] - self._draws[:, other]
        return apart[0], *percentile_interval_over_runs(apart, self.runs)

    def combined(self, weights: Mapping[str, Mapping[Arm, float]]) -> pd.DataFrame:
        """A row for each named combination of arms, such as the mean of some minus the mean of others; arms without a
        weight have none in it."""
        rows = [np.array([each.get(arm, 0.0) for arm in self.keys]) for each in weights.values()]
        draws = self._draws @ np.stack(rows, axis=1)
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

    def trainings(self) -> pd.DataFrame:
        """A row for every single training."""
        return pd.DataFrame(
            self._named(arm) | {"seed": seed, "score": float(self._each[at, run])}
            for at, arm in enumerate(self.keys)
            for run, seed in enumerate(self.seeds)
        )

    def _named(self, arm: Arm) -> dict[str, Hashable]:
        """What tables say of an arm."""
        parts = arm if isinstance(arm, tuple) else (arm,)
        return dict(zip(self._columns, parts, strict=True))


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


def effect_in_points(row: pd.Series) -> str:
    """An effect in hundredths, and whether an interval over trainings says which way it goes: `-3.1 (clear of 0)`."""
    points = f"{100 * row['difference']:+.1f}"
    if row["runs"] < ENOUGH_RUNS:
        return points
    return f"{points} ({'clear of 0' if row['low'] * row['high'] > 0 else 'may be 0'})"
