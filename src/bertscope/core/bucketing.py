"""The order of examples in an epoch: shuffled, yet with little padding."""

from __future__ import annotations

import numpy as np

POOL = 50
"""Batches that are sorted by length together: enough to pair equals, few enough to stay random."""


def bucketed(lengths: np.ndarray, batch_size: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Every row once, in batches of `batch_size` rows of like length, the batches in random order.

    Rows are shuffled, sorted by length within pools of 50 batches, split into batches, and the batches are shuffled.
    Each batch has the same number of examples (the last may be short), so that every example weighs the same.
    """
    rows = generator.permutation(len(lengths))
    pool = batch_size * POOL
    ordered = [rows[start : start + pool] for start in range(0, len(rows), pool)]
    ordered = [part[np.argsort(lengths[part], kind="stable")] for part in ordered]
    batches = [part[start : start + batch_size] for part in ordered for start in range(0, len(part), batch_size)]
    return [batches[place] for place in generator.permutation(len(batches))]


def rounded(size: int) -> int:
    """The next of a few sizes: multiples of 8 up to 64, then four in each doubling (80, 96, 112, 128, 160, ...). So
    many shapes are one, and little of it is padding."""
    between = max(8, 2 ** ((size - 1).bit_length() - 3))
    return -(-size // between) * between
