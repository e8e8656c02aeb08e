"""Which rows of a packed text a step reads: all of them once before any comes again, in an order that is computed.

A shuffled list of rows would grow with the text. A Feistel network is a permutation of the numbers under a power of 4
that is known by its key alone; numbers that lie past the last row are sent through it again until they don't.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ROUNDS = 6
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # splitmix64's


@dataclass(frozen=True)
class RowOrder:
    """Rows of a text of so many `pieces`. In each pass over the text they begin at other places."""

    pieces: int
    length: int
    """Tokens of a row."""
    special: int
    """How many of them aren't pieces of the text."""
    rows_per_step: int
    seed: int

    @property
    def rows_per_pass(self) -> int:
        """One row less than there are: so much room is there for rows to begin elsewhere in another pass."""
        return self.pieces // self._taken - 1

    @property
    def _taken(self) -> int:
        return self.length - self.special

    def rows(self, step: int) -> np.ndarray:
        """Where the rows of a step begin in the text."""
        number = np.arange(step * self.rows_per_step, (step + 1) * self.rows_per_step)
        passes, places = np.divmod(number, self.rows_per_pass)
        starts = np.empty(len(number), np.int64)
        for one in np.unique(passes):
            generator = np.random.default_rng([self.seed, self.length, int(one)])
            key, shift = generator.integers(2**63, size=_ROUNDS, dtype=np.uint64), generator.integers(self._taken)
            here = passes == one
            starts[here] = permuted(places[here], self.rows_per_pass, key) * self._taken + shift
        return starts


def permuted(numbers: np.ndarray, count: int, key: np.ndarray) -> np.ndarray:
    """Where a permutation of the numbers under `count`, which the key decides, sends these."""
    half = np.uint64(max(1, -(-(count - 1).bit_length() // 2)))
    low = np.uint64((1 << int(half)) - 1)
    found = numbers.astype(np.uint64)
    outside = np.ones(len(found), bool)
    while outside.any():
        left, right = found[outside] >> half, found[outside] & low
        for one in key:
            left, right = right, left ^ (mixed(right + one) & low)
        found[outside] = left << half | right
        outside = found >= count
    return found.astype(np.int64)


def mixed(values: np.ndarray) -> np.ndarray:
    """[value]: other numbers of 64 bits, which look drawn at random."""
    for shift, factor in zip((30, 27), _MIX, strict=True):
        values = (values ^ values >> np.uint64(shift)) * factor
    return values ^ values >> np.uint64(31)
