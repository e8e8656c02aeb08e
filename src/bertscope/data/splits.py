"""Seeded splits: which rows train, which choose, which are scored."""

from __future__ import annotations

import numpy as np

from bertscope.data.task import Kind

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1
LEAST_ROWS = 10
"""Fewer can't be split: each part should hold at least one row, and train several."""


def mixed_order(label: np.ndarray, kind: Kind, seed: int) -> np.ndarray:
    """A shuffled order of the rows. For classification every stretch of it holds the labels in about the shares of
    the whole, so that its slices are stratified splits; a label's only row comes in the middle."""
    order = np.random.default_rng(seed).permutation(len(label))
    if kind == "regression":
        return order
    shuffled = label[order]
    by_label = np.argsort(shuffled, kind="stable")
    _, starts, counts = np.unique(shuffled[by_label], return_index=True, return_counts=True)
    rank = np.arange(len(label)) - np.repeat(starts, counts)
    place = (rank + 0.5) / np.repeat(counts, counts)  # how far through its label's rows each row comes
    # Rows that come equally far keep their shuffled order: otherwise the lowest label would always lead.
    return order[by_label[np.lexsort((by_label, place))]]


def parts(order: np.ndarray, *shares: float) -> list[np.ndarray]:
    """The order in slices: each share is of what is left, at least one row; the last part is the rest."""
    slices = []
    for share in shares:
        size = max(1, round(share * len(order)))
        slices.append(order[:size])
        order = order[size:]
    return [*slices, order]
