"""Which rows train, which decide, which are scored: a data set's own splits, or seeded parts of what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.task import Kind

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1
LEAST_ROWS = 10
"""Fewer can't be split: each part should hold at least one row, and train several."""

T = TypeVar("T")
U = TypeVar("U")
Splits = tuple[Examples, Examples, Examples]
"""Train, validation, test."""


class Own(NamedTuple, Generic[T]):
    """What a data set has of its own for each split: names, files or rows."""

    train: T
    validation: T | None = None
    """None: a part of train is held out."""
    test: T | None = None
    """None: there is nothing but train, which has to do for all three."""

    @property
    def there(self) -> list[T]:
        """What it has, in this order."""
        return [one for one in self if one is not None]

    def each(self, change: Callable[[T], U]) -> Own[U]:
        """The same of what becomes of each."""
        train, *others = (None if one is None else change(one) for one in self)
        assert train is not None
        return Own(train, *others)


def make_splits(own: Own[Examples], groups: np.ndarray, order: np.ndarray, name: str, folder: str) -> Splits:
    """Three splits as they are; otherwise parts of train, by whole groups of its rows, as they come in the shuffled
    order of the groups. Each split is in the order of its file; `name` and `folder` are for messages."""
    if own.validation is not None and own.test is not None:
        for split, rows in (("train", own.train), ("validation", own.validation), ("test", own.test)):
            if not len(rows):
                raise UserError(f"{folder}: no {split} row can be used; mend the {split} file")
        return own.train, own.validation, own.test
    if len(order) < LEAST_ROWS:
        what = "rows" if len(order) == len(groups) else "different texts"
        raise UserError(f"{name} has {len(order)} {what}; at least {LEAST_ROWS} are needed to split it")
    if own.test is not None and not len(own.test):
        raise UserError(f"{folder}: no row can be scored; mend the test file")
    *held_out, rest = parts(order, *([TEST_SHARE, VALIDATION_SHARE] if own.test is None else [VALIDATION_SHARE]))
    train, validation, *test = (
        own.train.take(np.flatnonzero(np.isin(groups, part))) for part in (rest, *reversed(held_out))
    )
    return train, validation, test[0] if own.test is None else own.test


def mixed_order(label: np.ndarray, kind: Kind, seed: int) -> np.ndarray:
    """A shuffled order of the rows. For classification every stretch of it holds the labels in about the shares of
    the whole, so that its slices are stratified splits; a label's only row comes in the middle. Of several labels a
    row counts by its rarest."""
    order = np.random.default_rng(seed).permutation(len(label))
    if kind in ("regression", "vectors"):
        return order
    if label.ndim > 1:
        label = np.where(label > 0, label.sum(0), len(label) + 1).argmin(1) + label.any(1)  # 0: a row that has none
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
