"""From arrays to tables, and from draws [1 + repeats, ...], the first the sample itself, to their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.intervals import interval, unless_alike


def tidy(axes: Mapping[str, Sequence[Any]], **values: np.ndarray) -> pd.DataFrame:
    """Arrays that have these axes as a table: a row for each cell, a column for each axis and each array."""
    table = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False)
    return table.assign(**{name: value.ravel() for name, value in values.items()})


def with_intervals(
    draws: np.ndarray, names: Sequence[str], shares_of: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Columns of draws [1 + repeats, row, name]: each value, and the ends of its interval. With `shares_of`
    [row, name], values are shares of so many examples, and no interval is a point (`unless_alike`)."""
    low, high = interval(draws)
    if shares_of is not None:
        low, high = unless_alike(draws[0], (low, high), np.maximum(shares_of, 1))
    columns: dict[str, np.ndarray] = {}
    for place, name in enumerate(names):
        columns |= {name: draws[0, :, place], f"{name}_low": low[:, place], f"{name}_high": high[:, place]}
    return columns


def over_half(draws: np.ndarray) -> np.ndarray:
    """The share of heads above a half in draws [1 + repeats, head]; NaN where a resample holds no text."""
    return np.where(np.isnan(draws).all(1), np.nan, (draws > 0.5).mean(1))
