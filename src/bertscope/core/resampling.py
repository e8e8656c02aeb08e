"""Bootstrap intervals of means over examples, in one pass: what is kept doesn't grow with the examples.

Each example has a weight in each resample: how often it was drawn. Drawn from Poisson(1), the weights of different
examples are independent, so they need not be known together: sums of weighted values, for all resamples at once, are
one matrix product per batch. An example's weights are a hash of its id and the seed, so that neither batches nor
their order matter, and whatever is measured on the same examples is resampled alike: differences are paired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from zlib import crc32

import numpy as np

from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.result import Number
from bertscope.core.statistics import ENDS

_COUNTS = 10  # more draws of one example than this happen once in a hundred million
# Examples that are resampled at a time: the totals of all resamples are large, and visited once for them. Columns of
# the totals at a time: a product is small beside them.
_TOGETHER, _COLUMNS = 1024, 1024


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
        self._all: list[_Totals] = []

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """How often each resample holds these examples, [1 + repeats, rows]; the first is the sample itself."""
        return _weights(self.keys[rows].tobytes(), self.repeats)

    def add(self, totals: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        """Add to each resample's totals [1 + repeats, column] the values [row, column] of these examples."""
        weights = self.weights(rows).astype(values.dtype, copy=False)
        for start in range(0, values.shape[1], _COLUMNS):
            some = slice(start, start + _COLUMNS)
            totals[:, some] += self._product(weights, values[:, some])

    def totals(self, shape: Sequence[int], precision: type) -> _Totals:
        self._all.append(_Totals(self, shape, precision))
        return self._all[-1]

    def settle(self) -> None:
        """Resample what waits. Nobody has to ask for it: a mean does so itself when it is read."""
        for totals in self._all:
            totals.settle()


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

    @property
    def draws(self) -> np.ndarray:
        """[1 + repeats, ...]: the sums in the sample itself, then in each resample."""
        self.settle()
        return self._totals.reshape(-1, *self._shape)


class RunningMean:
    """The mean of some numbers over examples, with its interval; examples may count for more, less or nothing."""

    def __init__(self, resampling: Resampling) -> None:
        self._resampling = resampling
        self._parts: tuple[_Totals, _Totals] | None = None  # sums and counts

    def add(self, rows: np.ndarray, sums: np.ndarray, counts: np.ndarray | None = None) -> None:
        """Take in examples by their positions: `sums` [rows, ...] of `counts` [rows, ...] things each (1 if None).

        What has a count of 0 must have a sum of 0. Single-precision sums are resampled in single precision.
        """
        counts = np.ones(len(rows)) if counts is None else counts
        if self._parts is None:
            precision = np.float32 if sums.dtype == np.float32 else np.float64
            of_sums, of_counts = (self._resampling.totals(one.shape[1:], precision) for one in (sums, counts))
            self._parts = of_sums, of_counts
        for part, values in zip(self._parts, (sums, counts), strict=True):
            part.add(rows, values)

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


def interval(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval of draws [1 + repeats, ...], the first of which is the sample itself."""
    missing = np.isnan(draws[0])
    filled = np.where(missing, 0.0, draws[1:])  # where the sample itself has nothing
    quantile = np.nanquantile if np.isnan(filled).any() else np.quantile  # the latter is faster by far
    low, high = quantile(filled, ENDS, axis=0)
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def drawn_number(name: str, draws: np.ndarray, n: int, unit: str) -> Number:
    """The headline number whose draws these are, [1 + repeats]."""
    low, high = interval(draws)
    return Number(name, float(draws[0]), float(low), float(high), n, unit)


def hashed(ids: Sequence[str], seed: int) -> np.ndarray:
    """A number for each id, uint64: the same wherever the id stands. Examples that share an id get numbers of their
    own, in their order: they are different examples, and must not be drawn together."""
    times: Counter[str] = Counter()
    numbers = np.empty((2, len(ids)), dtype=np.uint64)
    for place, name in enumerate(ids):
        numbers[:, place] = crc32(name.encode()), times[name]
        times[name] += 1
    return mixed(mixed(numbers[0], np.uint64(seed)), numbers[1])


def hashed_texts(texts: Sequence[str], seed: int) -> np.ndarray:
    """A number for each text, uint64, the same for equal texts: what decides on which side of a split they fall."""
    return mixed(np.array([crc32(text.encode()) for text in texts], dtype=np.uint64), np.uint64(seed))


def mixed(key: np.ndarray, number: np.ndarray | np.uint64) -> np.ndarray:
    """A hash of two numbers, uint64 (the finaliser of SplitMix64): close keys give unrelated values."""
    with np.errstate(over="ignore"):
        z = key + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def to_unit(number: np.ndarray) -> np.ndarray:
    """Hashes as numbers in [0, 1)."""
    return (number >> np.uint64(11)) * 2.0**-53


@lru_cache(maxsize=1)
def _weights(keys: bytes, repeats: int) -> np.ndarray:
    """Many quantities ask for the same examples' weights, one after the other."""
    numbers = np.frombuffer(keys, np.uint64)
    uniform = to_unit(mixed(numbers, np.arange(1, repeats + 1, dtype=np.uint64)[:, None]))
    drawn = sum((uniform >= least).view(np.int8) for least in _POISSON)
    return np.concatenate([np.ones((1, len(numbers))), drawn]).astype(np.float32)


def _poisson() -> np.ndarray:
    """The distribution function of Poisson(1)."""
    terms = np.cumprod(np.concatenate([[1.0], 1 / np.arange(1, _COUNTS + 1)]))
    return np.exp(-1) * np.cumsum(terms)


_POISSON = _poisson()
