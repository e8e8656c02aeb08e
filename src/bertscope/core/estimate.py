"""A number with its interval, where one is read off stored tables: single cells, means, the best of many parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.core.intervals import wider_for_all

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.number import Number


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval; `low` and `high` are None where none can be had."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: Any, low: Any = None, high: Any = None) -> Estimate:
        """From a table's cells: NaN ends are no interval."""
        known = not any(end is None or math.isnan(end) for end in (low, high))
        return cls(float(value), float(low), float(high)) if known else cls(float(value))

    @classmethod
    def of_number(cls, number: Number) -> Estimate:
        return cls(number.value, number.low, number.high)

    @property
    def sure(self) -> bool:
        """Whether it has an interval."""
        return self.low is not None and self.high is not None

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference, with the ends set against each other. However the two are correlated, its error is at most
        the sum of theirs: such an interval is too wide rather than too narrow."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Estimate(self.value - other.value)
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low)

    def __neg__(self) -> Estimate:
        return Estimate.of(-self.value, *(end if end is None else -end for end in (self.high, self.low)))

    def times(self, factor: float) -> Estimate:
        """In a smaller (or larger) unit; not by a negative number."""
        return Estimate.of(*(end if end is None else factor * end for end in (self.value, self.low, self.high)))

    def without_interval(self) -> Estimate:
        return Estimate(self.value)


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
