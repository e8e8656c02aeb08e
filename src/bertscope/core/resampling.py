"""Who is drawn: resamples of examples, and groups that are left out in turn.

`draws` are a statistic of the sample itself and then of each resample, or of the sample without each group:
[1 + repeats, ...]. What is measured on the same examples is resampled alike, so differences of draws are paired.
`core/intervals.py` makes intervals of them. Training runs are never drawn: they are too few
(`core/variance_components.py`). There are three ways to draws:

**In one pass** (`Resampling`), where what is kept must not grow with the examples. Each example has a weight in each
resample: how often it was drawn. Drawn from Poisson(1), the weights of different examples are independent, so they
need not be known together: sums of weighted values, for all resamples at once, are one matrix product per batch. An
example's weights are a hash of its id and the seed, so that neither batches nor their order matter.

**Of a metric** (`metric_draws`), where all examples are at hand. A metric is a function of the means of a few
per-example quantities ("moments": for accuracy, whether the example is right; for Pearson's r, p, y, pp, yy, py). A
resample is then a row of weights, and resampling every arm on the same examples is one matrix product: what scipy's
functions, which take one statistic at a time, can't share.

**By leaving groups out** (`left_out`), for what is a mean over pairs of things. A bootstrap draws some words more
than once, and a word is perfectly similar to itself: similarities come out too high. Leaving a group out repeats
nothing. Groups are neighbouring texts, often about the same thing: what varies from text to text, and from one part
of a corpus to the next, is in the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import numpy as np

from bertscope.core.hashing import hashed, mixed, to_unit
from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.sums import Sums

Value = Callable[[np.ndarray], np.ndarray]
"""From means of moments [..., k] to the metric [...]."""

_COUNTS = 10  # more draws of one example than this happen once in a hundred million
# Examples that are resampled at a time: the totals of all resamples are large, and visited once for them. Columns of
# the totals at a time: a product is small beside them.
_TOGETHER, _COLUMNS = 1024, 1024
_CELLS = 2**24  # weights held at a time: 128 MiB
_KEPT = 2**20  # and so many kept for the next to ask: 8 MiB


class Resampling:
    """Which examples each of `repeats` resamples holds.

    product   of two matrices; whoever has idle threads can bring one that uses them
    """

    def __init__(
        self,
        ids: Sequence[str],
        *,
        repeats: int = 1000,
        seed: int = 0,
        product: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.matmul,
    ) -> None:
        self.keys = hashed(ids, seed)
        self.repeats = repeats
        self._product = product
        self._all: list[Totals] = []

    def of(self, keys: np.ndarray) -> Resampling:
        """The same resamples of other examples, by their numbers."""
        other = Resampling((), repeats=self.repeats, product=self._product)
        other.keys = keys
        return other

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """How often each resample holds these examples, [1 + repeats, rows]; the first is the sample itself."""
        return _weights(self.keys[rows].tobytes(), self.repeats)

    def add(self, totals: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        """Add to each resample's totals [1 + repeats, column] the values [row, column] of these examples."""
        weights = self.weights(rows).astype(values.dtype, copy=False)
        for start in range(0, values.shape[1], _COLUMNS):
            some = slice(start, start + _COLUMNS)
            totals[:, some] += self._product(weights, values[:, some])

    def totals(self, sums: Any, counts: Any) -> tuple[Totals, Totals]:
        """Where sums and counts of examples are added up that have these shapes after their first axis."""
        precision = np.float32 if sums.dtype == np.float32 else np.float64
        found = _Totals(self, sums.shape[1:], precision), _Totals(self, counts.shape[1:], precision)
        self._all += found
        return found

    def settle(self) -> None:
        """Resample what waits. Nobody has to ask for it: a mean does so itself when it is read."""
        for totals in self._all:
            totals.settle()


class Totals(Protocol):
    """Each resample's sums of some numbers, wherever they are added up."""

    def add(self, rows: np.ndarray, values: Any) -> None: ...
    def settle(self) -> None: ...
    def add_totals(self, totals: np.ndarray) -> None: ...
    @property
    def draws(self) -> np.ndarray: ...


class _Totals:
    """Each resample's sums of some numbers. What waits to be resampled has its own place, used again and again:
    memory stays as it is from the first examples to the last."""

    def __init__(self, resampling: Resampling, shape: Sequence[int], precision: type) -> None:
        self._resampling, self._shape, self._waiting = resampling, shape, 0
        self._rows = memory_mapped([_TOGETHER], np.int64)
        self._values = memory_mapped([_TOGETHER, prod(shape)], precision)
        self._totals = memory_mapped([1 + resampling.repeats, prod(shape)], np.float64)

    def add(self, rows: np.ndarray, values: np.ndarray) -> None:
        flat = values.reshape(len(values), -1)
        while len(rows):
            place = slice(self._waiting, self._waiting + len(rows))
            taken = len(self._rows[place])  # fewer, where there is no room for all
            self._rows[place], self._values[place] = rows[:taken], flat[:taken]
            self._waiting += taken
            rows, flat = rows[taken:], flat[taken:]
            if self._waiting == _TOGETHER:
                self.settle()

    def settle(self) -> None:
        """Resample what waits."""
        if self._waiting:
            self._resampling.add(self._totals, self._rows[: self._waiting], self._values[: self._waiting])
            self._waiting = 0

    def add_totals(self, totals: np.ndarray) -> None:
        """Take in the sums of other examples, as `draws` has them."""
        self._totals += totals.reshape(self._totals.shape)

    @property
    def draws(self) -> np.ndarray:
        """[1 + repeats, ...]: the sums in the sample itself, then in each resample."""
        self.settle()
        return self._totals.reshape(-1, *self._shape)


class RunningMean:
    """The mean of some numbers over examples, with its interval; examples may count for more, less or nothing."""

    def __init__(self, resampling: Resampling) -> None:
        self._resampling = resampling
        self._parts: tuple[Totals, Totals] | None = None  # of sums and counts

    def add(self, rows: np.ndarray, sums: Any, counts: Any = None) -> None:
        """Take in examples by their positions: `sums` [rows, ...] of `counts` [rows, ...] things each (1 if None).

        What has a count of 0 must have a sum of 0. Single-precision sums are resampled in single precision. Both are
        arrays, or whatever else the resampling can add up.
        """
        counts = np.ones(len(rows)) if counts is None else counts
        for part, values in zip(self._begun(sums, counts), (sums, counts), strict=True):
            part.add(rows, values)

    def _begun(self, sums: Any, counts: Any) -> tuple[Totals, Totals]:
        if self._parts is None:
            self._parts = self._resampling.totals(sums, counts)
        return self._parts

    def sums(self) -> Sums:
        """What was taken in, for `merge`; nothing where nothing was."""
        if self._parts is None:
            return Sums()
        sums, counts = (part.draws for part in self._parts)
        return Sums({"sums": sums, "counts": counts})

    def merge(self, other: Sums) -> None:
        """Take in the sums of other examples, resampled with the same seed and as often."""
        if other.arrays:
            totals = other.arrays["sums"], other.arrays["counts"]
            for part, values in zip(self._begun(*totals), totals, strict=True):
                part.add_totals(values)

    @property
    def draws(self) -> np.ndarray:
        """The mean in the sample itself, then in each resample, [1 + repeats, ...]; NaN where there is nothing."""
        assert self._parts is not None, "nothing was taken in"
        sums, counts = (part.draws for part in self._parts)
        counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    @property
    def value(self) -> np.ndarray:
        return self.draws[0]

    @property
    def count(self) -> np.ndarray:
        """How many things the mean is over."""
        assert self._parts is not None, "nothing was taken in"
        return self._parts[1].draws[0]


def resampled_means(resampling: Resampling, values: np.ndarray) -> np.ndarray:
    """The mean of examples' values [example, ...], in the sample itself and in each resample: [1 + repeats, ...]."""
    mean = RunningMean(resampling)
    for start in range(0, len(values), _TOGETHER):
        some = values[start : start + _TOGETHER]
        mean.add(np.arange(start, start + len(some)), some)
    return mean.draws


@lru_cache(maxsize=1)
def _weights(keys: bytes, repeats: int) -> np.ndarray:
    """Many quantities ask for the same examples' weights, one after the other."""
    numbers = np.frombuffer(keys, np.uint64)
    uniform = to_unit(mixed(numbers, np.arange(1, repeats + 1, dtype=np.uint64)[:, None]))
    drawn = sum((uniform >= least).view(np.int8) for least in POISSON)
    return np.concatenate([np.ones((1, len(numbers))), drawn]).astype(np.float32)


def _poisson() -> np.ndarray:
    """The distribution function of Poisson(1)."""
    terms = np.cumprod(np.concatenate([[1.0], 1 / np.arange(1, _COUNTS + 1)]))
    return np.exp(-1) * np.cumsum(terms)


POISSON = _poisson()
"""What a number in [0, 1) must reach for an example to be drawn once more."""


def metric_draws(value: Value, arms: np.ndarray, *, repeats: int = 2000, seed: int = 0) -> np.ndarray:
    """Each arm's metric in the sample itself and then in each resample, [1 + repeats, arms]; `arms` is [arms, n, k].

    All arms are resampled alike: any difference of columns is a paired one.
    """
    n = arms.shape[1]
    flat = arms.transpose(1, 0, 2).reshape(n, -1)

    def metrics(counts: np.ndarray) -> np.ndarray:
        return value((counts @ flat / n).reshape(len(counts), len(arms), -1))

    return np.concatenate([metrics(np.ones((1, n))), *map(metrics, resamples(n, repeats, seed))])


def resamples(n: int, repeats: int, seed: int, *, cells: int | None = None) -> Iterator[np.ndarray]:
    """How often each example is drawn, [some, n]: whole numbers, so that sums of hits stay exact. `cells` are held of
    each resample, where that is more than one for an example."""
    if (cells or n) * repeats <= _KEPT:
        yield _few_counts(n, repeats, seed)
        return
    generator = np.random.default_rng(seed)
    for size in chunks(cells or n, repeats):
        yield generator.multinomial(n, np.full(n, 1 / n), size=size).astype(float)


@lru_cache(maxsize=2)
def _few_counts(n: int, repeats: int, seed: int) -> np.ndarray:
    """All of them, kept: the numbers of one result ask for the same, one after the other."""
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=repeats).astype(float)
    counts.flags.writeable = False
    return counts


def chunks(n: int, repeats: int) -> Iterator[int]:
    """How many repeats to hold at a time, of so many things each."""
    step = max(1, _CELLS // n)
    for start in range(0, repeats, step):
        yield min(step, repeats - start)


def group_bounds(owner: np.ndarray, groups: int) -> np.ndarray:
    """Where groups of about equally many neighbouring items begin, and the end, [1 + at most `groups`]. `owner` says
    whose each item is; an owner's items, which stand one after the other, stay together."""
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    middles = (firsts + np.append(firsts[1:], len(owner))) / 2
    group = (groups * middles / len(owner)).astype(int)
    return np.append(firsts[np.flatnonzero(np.diff(group, prepend=-1))], len(owner))


def left_out(sums: np.ndarray) -> np.ndarray:
    """From each group's sums [group, ...] to those of all groups and then of all but each, [1 + groups, ...]."""
    whole = sums.sum(0)
    return np.concatenate([whole[None], whole - sums])
