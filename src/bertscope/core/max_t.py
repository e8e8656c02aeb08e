"""Which of many slices of the rows differ from the other rows: Westfall and Young's max-T.

All slices are compared inside and outside by a t-test with pooled variance, over the same permutations of the rows'
values. Whatever slices have in common is so in each permutation too, and the largest |t| of each permutation is what
chance does at its best over all of them: a slice whose |t| is above it in 95 of 100 is found, corrected for all that
were tried, however alike they are. Steps go down (Westfall & Young 1993, algorithm 4.1): the second is compared with
the largest of all but the first, and so on.

The pooled t is a rising function, the same for all slices, of |r|, the correlation of values and membership; so |r|
stands for it. A permutation then needs each slice's sum and nothing else: one matrix product for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.intervals import reach, share_interval
from bertscope.core.resampling import chunks

_ROUNDING = 1e-9  # what is as extreme may come out so much smaller


@dataclass(frozen=True, eq=False)
class MaxT:
    """One entry for each slice; NaN for one that holds no row with a value, or all of them."""

    n: np.ndarray
    """How many rows it holds."""
    inside: np.ndarray
    outside: np.ndarray
    """The mean of the values in it, and of the others."""
    low: np.ndarray
    high: np.ndarray
    """The interval of the difference, not corrected: Newcombe's of shares where all values are 0 or 1, otherwise
    Welch's."""
    t: np.ndarray
    p: np.ndarray
    """By permutation, not corrected."""
    p_adjusted: np.ndarray
    """Corrected for all slices."""

    @property
    def difference(self) -> np.ndarray:
        return self.inside - self.outside


def max_t(values: np.ndarray, member: Any, *, permutations: int = 1999, seed: int = 0) -> MaxT:
    """Compare rows' values [n] inside and outside of slices; `member` [slice, n] is an array or a sparse matrix.

    Rows whose value is NaN are left out. Values that are all alike find nothing: p is 1.
    """
    slices = _Slices(values, member)
    r = np.abs(slices.correlations(slices.values[None])[0])
    order = np.argsort(-r, kind="stable")
    as_extreme, stepped = np.ones(len(r)), np.ones(len(r))
    for permuted in slices.permuted(permutations, seed):
        others = np.abs(slices.correlations(permuted))[:, order]
        as_extreme[order] += (others >= r[order] - _ROUNDING).sum(0)
        largest = np.maximum.accumulate(others[:, ::-1], axis=1)[:, ::-1]  # of this slice and those after it
        stepped[order] += (largest >= r[order] - _ROUNDING).sum(0)
    adjusted = np.empty(len(r))
    adjusted[order] = np.maximum.accumulate(stepped[order]) / (permutations + 1)
    return slices.told(as_extreme / (permutations + 1), adjusted)


def lowest_p_of_nothing(
    values: np.ndarray, member: Any, *, draws: int, permutations: int = 1999, seed: int = 0
) -> np.ndarray:
    """The lowest corrected p [draws] that `max_t` gives where there is nothing to be found: rows' values permuted.

    A permutation of permuted values is another permutation, so that one set of them serves all draws. NaN where there
    are no slices.
    """
    slices = _Slices(values, member)
    if not len(slices.size):
        return np.full(draws, np.nan)
    drawn, others = (
        np.concatenate([np.abs(slices.correlations(one)).max(1) for one in slices.permuted(count, own)])
        for count, own in ((draws, seed + 1), (permutations, seed))
    )
    smaller = np.searchsorted(np.sort(others), drawn - _ROUNDING, side="left")
    return (permutations - smaller + 1) / (permutations + 1)


class _Slices:
    """The slices that can be compared, and the rows that have a value."""

    def __init__(self, values: np.ndarray, member: Any) -> None:
        from scipy.sparse import csr_array

        values = np.asarray(values, dtype=np.float64)
        told = np.isfinite(values)
        whole = csr_array(member, dtype=np.float64)[:, np.flatnonzero(told)]
        self.values, sizes = values[told], np.asarray(whole.sum(1)).ravel()
        self.kept = (sizes > 0) & (sizes < len(self.values))
        self.whole, self.sizes = whole, sizes
        self.member, self.size = whole[np.flatnonzero(self.kept)], sizes[self.kept]
        n = len(self.values)
        self._sum = self.values.sum()
        spread = ((self.values - self.values.mean()) ** 2).sum() if n else 0.0
        rounded = _ROUNDING * np.abs(self.values).max(initial=0.0)  # in the values' own unit, whatever that is
        self._spread = spread if spread > rounded**2 else 0.0
        self._scale = np.sqrt(self._spread * self.size * (n - self.size) / max(n, 1))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """[r, slice]: the sum of values [r, n] in each slice."""
        return (self.member @ values.T).T

    def correlations(self, values: np.ndarray) -> np.ndarray:
        """[r, slice]: of permuted values [r, n] with membership."""
        apart = self.sums(values) - self._sum * self.size / max(len(self.values), 1)
        return np.divide(apart, self._scale, out=np.zeros_like(apart), where=self._scale > 0)

    def permuted(self, permutations: int, seed: int) -> Iterator[np.ndarray]:
        """The values in other orders, [some, n]."""
        generator, n = np.random.default_rng(seed), len(self.values)
        for size in chunks(max(n, len(self.size), 1), permutations):
            yield generator.permuted(np.tile(self.values, (size, 1)), axis=1)

    def told(self, p: np.ndarray, adjusted: np.ndarray) -> MaxT:
        """What was found of each slice."""
        n, size, values = len(self.values), self.size, self.values
        inside, squares = self.sums(values[None])[0], self.sums(values[None] ** 2)[0]
        other, other_squares = values.sum() - inside, (values**2).sum() - squares
        means = inside / size, other / (n - size)
        spread = [
            np.maximum(total - count * mean**2, 0.0)
            for total, count, mean in zip((squares, other_squares), (size, n - size), means, strict=True)
        ]
        shares = set(np.unique(values)) <= {0.0, 1.0}
        ends = _newcombe(means, (size, n - size)) if shares else _welch(means, spread, (size, n - size))
        r = self.correlations(values[None])[0]
        with np.errstate(divide="ignore"):
            t = r * np.sqrt(np.divide(max(n - 2, 0), np.maximum(1 - r**2, 0.0)))
        found = np.full((8, len(self.kept)), np.nan)
        found[1:, self.kept] = np.stack([*means, *ends, np.where(r == 0, 0.0, t), p, adjusted])
        return MaxT(self.sizes.astype(np.int64), *found[1:])


def _welch(means: Any, spread: Any, sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The interval of a difference of means; NaN where a side has one value only."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = [each / (n - 1) / n for each, n in zip(spread, sizes, strict=True)]
        whole = errors[0] + errors[1]
        freedom = whole**2 / sum(error**2 / (n - 1) for error, n in zip(errors, sizes, strict=True))
        freedom = np.where(whole > 0, freedom, 1.0)
        either = reach(freedom + 1) * np.sqrt(whole)
    difference = means[0] - means[1]
    return difference - either, difference + either


def _newcombe(means: Any, sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The interval of a difference of shares from their two score intervals (Newcombe 1998, method 10): unlike a
    bootstrap's it has a width where all inside are right."""
    (one, other), difference = means, means[0] - means[1]
    (low, high), (other_low, other_high) = (share_interval(*each) for each in zip(means, sizes, strict=True))
    below, above = np.hypot(one - low, other_high - other), np.hypot(high - one, other - other_low)
    return difference - below, difference + above
