"""The arms of an experiment: trained with the same seeds, scored on the same examples, compared pair by pair."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import pandas as pd

from bertscope.core.equivalence import in_words
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENOUGH_RUNS, unless_alike
from bertscope.core.number import Number
from bertscope.core.resampling import Value
from bertscope.core.variance_components import example_values, interval_over_runs

TOO_FEW = "too few seeds to say whether that holds here"
Arm = TypeVar("Arm", bound=Hashable)
"""What an arm is known by: its key, or, where it is one setting of several things, a key for each."""


class Arms(Generic[Arm]):
    """What each arm's trainings say about the same examples.

    runs      by arm and seed, the moments [n, k]; every arm has the same seeds
    value     from means of moments to the metric
    columns   what tables call the keys that an arm is known by
    within    between what the metric lies: no interval of a score goes beyond, and none of a difference by more
    """

    def __init__(
        self,
        runs: Mapping[Arm, Mapping[int, np.ndarray]],
        value: Value,
        columns: tuple[str, ...] = ("arm",),
        within: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        self.keys, self.seeds, self._columns = tuple(runs), tuple(next(iter(runs.values()))), columns
        if any(set(of_arm) != set(self.seeds) for of_arm in runs.values()):
            raise ValueError(f"arms of different seeds: { {arm: list(of_arm) for arm, of_arm in runs.items()} }")
        moments = np.stack([[of_arm[seed] for seed in self.seeds] for of_arm in runs.values()])  # [arm, run, n, k]
        self.runs, self.n = moments.shape[1:3]
        self._each = value(moments.mean(2))  # [arm, run]: the metric of every single training
        self._values, self._within = example_values(value, moments), within  # [arm, run, n]
        self._is_share = moments.shape[-1] == 1 and bool(np.isin(moments, (0, 1)).all())

    def table(self) -> pd.DataFrame:
        """A row for each arm: the mean over its runs, with its interval and their standard deviation."""
        score, ends = self._each.mean(1), interval_over_runs(self._values)
        if self._is_share:
            ends = unless_alike(score, ends, self.n)
        low, high = (end.clip(*self._within) for end in ends)
        sd = self._each.std(1, ddof=1) if self.runs > 1 else np.full(len(self.keys), np.nan)
        found = {"score": score, "sd": sd, "low": low, "high": high, "runs": self.runs, "n": self.n}
        return pd.concat([pd.DataFrame(map(self._named, self.keys)), pd.DataFrame(found)], axis=1)

    def against(self, reference: Mapping[Arm, Arm]) -> pd.DataFrame:
        """The table, with how far each arm is from the one that it is compared with."""
        apart, low, high = self.apart([(arm, reference[arm]) for arm in self.keys])
        return self.table().assign(effect=apart, effect_low=low, effect_high=high)

    def effects(self, sets: Mapping[str, tuple[Arm, ...]]) -> pd.DataFrame:
        """A row for each named set of arms: the first minus the second, on the same seeds and examples. Of more than
        two, the first minus the best of the others: no end of the interval is higher than against any of them."""
        rows = []
        for name, (arm, *others) in sets.items():
            apart, low, high = self.apart([(arm, other) for other in others])
            best = int(apart.argmin())
            rows.append(
                {"effect": name, "arm": arm, "against": others[best], "difference": apart[best], "low": low.min(),
                 "high": high.min(), "runs": self.runs, "n": self.n}
            )  # fmt: skip
        return pd.DataFrame(rows)

    def apart(self, pairs: Sequence[tuple[Arm, Arm]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How far the first of each pair is from the second, and its interval."""
        weights = np.zeros((len(pairs), len(self.keys)))
        for side, sign in ((0, 1.0), (1, -1.0)):
            weights[np.arange(len(pairs)), [self.keys.index(pair[side]) for pair in pairs]] += sign
        return self._weighted(weights)

    def combined(self, weights: Mapping[str, Mapping[Arm, float]]) -> pd.DataFrame:
        """A row for each named combination of arms, such as the mean of some minus the mean of others; arms without a
        weight have none in it."""
        rows = np.array([[each.get(arm, 0.0) for arm in self.keys] for each in weights.values()])
        difference, low, high = self._weighted(rows)
        return pd.DataFrame(
            {
                "effect": list(weights),
                "difference": difference,
                "low": low,
                "high": high,
                "runs": self.runs,
                "n": self.n,
            }
        )

    def _weighted(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of arms by weights [sum, arm], on the same seeds and examples, and their intervals."""
        least, most = self._within
        ends = interval_over_runs(np.tensordot(weights, self._values, 1))
        low, high = (end.clip(least - most, most - least) for end in ends)
        return weights @ self._each.mean(1), low, high

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
    return "Too few seeds for intervals." if runs < ENOUGH_RUNS else "Intervals: Student's, over seeds and examples."


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


def effect_in_points(row: pd.Series, within: float, n: int, value: str = "difference", ends: str = "") -> str:
    """An effect in hundredths, and what an interval over trainings and `n` texts says of it, given how far from 0 is
    as good: `-3.1 [-4.0, -2.2] (worse: clear of 0)`. `ends` is what the columns `low` and `high` begin with."""
    points = f"{100 * row[value]:+.1f}"
    if row["runs"] < ENOUGH_RUNS:
        return points
    low, high = row[f"{ends}low"], row[f"{ends}high"]
    said = in_words(Estimate.of(row[value], low, high), within, n)
    return f"{points} [{100 * low:+.1f}, {100 * high:+.1f}] ({said})"
