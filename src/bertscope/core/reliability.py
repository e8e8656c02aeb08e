"""How reliable a ranking of parts is: would other examples have ranked them alike?

The examples are split into random halves, again and again; each half ranks the parts, and the halves' agreement is
averaged. Half the examples are less reliable than all: the average r is stepped up to 2r / (1 + r) (Spearman and
Brown). A reliable ranking need not be a valid one: it says that the examples don't matter, not that the measure is
right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertscope.core.resampling import Value

SPLITS = 100
ENOUGH = 0.5
"""Under this a ranking is mostly noise."""


@dataclass(frozen=True)
class Reliability:
    """Of a ranking by all examples; 0 where halves don't agree at all, NaN where there is nothing to rank."""

    pearson: float
    spearman: float

    @property
    def is_enough(self) -> bool:
        return self.pearson >= ENOUGH


def split_half(value: Value, moments: np.ndarray, *, splits: int = SPLITS, seed: int = 0) -> Reliability:
    """Of the ranking of parts by a metric of moments [part, n, k], or by its difference from anything that is the
    same for all parts."""
    parts, n, k = moments.shape
    if parts < 3 or n < 4:
        return Reliability(np.nan, np.nan)
    flat = moments.transpose(1, 0, 2).reshape(n, -1)
    generator, half = np.random.default_rng(seed), n // 2
    first = np.zeros((splits, n))
    for row in first:
        row[generator.permutation(n)[:half]] = 1
    means = [side @ flat / side.sum(1, keepdims=True) for side in (first, 1 - first)]
    sides = [value(each.reshape(splits, parts, k)) for each in means]
    pearson = _correlations(*sides)
    spearman = _correlations(*(_ranks(side) for side in sides))
    return Reliability(_stepped_up(pearson), _stepped_up(spearman))


def split_half_of_means(values: np.ndarray, *, splits: int = SPLITS, seed: int = 0) -> Reliability:
    """The same where parts are ranked by the mean of values [part, n]."""
    return split_half(lambda means: means[..., 0], values[..., None], splits=splits, seed=seed)


def _correlations(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Pearson's, row by row, [splits]; 0 where a half ranks nothing."""
    one, other = (side - side.mean(1, keepdims=True) for side in (one, other))
    scale = np.sqrt((one**2).sum(1) * (other**2).sum(1))
    return np.divide((one * other).sum(1), scale, out=np.zeros(len(one)), where=scale > 0)


def _ranks(values: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return rankdata(values, axis=1)


def _stepped_up(each: np.ndarray) -> float:
    mean = float(each.mean())
    return 2 * mean / (1 + mean) if mean > 0 else 0.0
