"""How numbers are written in sentences, and what is said of one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Told:
    """What is said of one result."""

    sentence: str
    main: float
    """The number by which results of this question are compared."""
    what: str
    """What that number is."""
    written: Callable[[float], str]


def percent(value: float) -> str:
    """
    >>> percent(0.405), percent(0.0137), percent(0.0)
    ('40%', '1.4%', '0%')
    """
    few = 0 < abs(value) < 0.0995
    return f"{100 * value:.{int(few)}f}%"


def decimals(value: float) -> str:
    return f"{value:.3f}"


def points(value: float) -> str:
    return f"{100 * value:.1f}"


def sure(of: Estimate, written: Callable[[float], str] = decimals) -> str:
    """The value, and its interval if it has one: `41% (39% to 42%)`."""
    if of.low is None or of.high is None:
        return written(of.value)
    return f"{written(of.value)} ({written(of.low)} to {written(of.high)})"


def seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def runs(row: pd.Series) -> str:
    return seeds(int(row["runs"]))


def in_points(value: float) -> str:
    return f"{points(value)} points"
