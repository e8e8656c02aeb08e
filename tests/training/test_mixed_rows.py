"""Rows of several lengths in turn: each has its share, evenly spread, and its own rows one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.training.mixed_rows import MixedRows
from bertscope.training.pretrain.question import PretrainConfig
from bertscope.training.row_order import RowOrder

ORDERS = [RowOrder(100_000, length, 2, 1024 // length, 0) for length in (64, 16, 256)]


@pytest.mark.parametrize("shares", [(0.65, 0.25, 0.1), (0.5, 0.49, 0.01), (1.0, 0.0, 0.0)])
def test_each_length_has_its_share_and_its_own_rows(shares):
    mixed, seen = MixedRows(ORDERS, shares), {order.length: [] for order in ORDERS}
    turns = []
    for step in range(300):
        rows = mixed.rows(step)
        turns.append(1024 // len(rows))
        seen[turns[-1]].append(rows)
    for order, share in zip(ORDERS, shares, strict=True):
        mine = np.array(turns) == order.length
        assert mine.reshape(3, 100).sum(1).tolist() == [round(100 * share)] * 3
        lag = np.cumsum(mine) - share * np.arange(1, 301)
        assert np.abs(lag).max() < 1.5, "evenly spread"
        assert all(np.array_equal(rows, order.rows(number)) for number, rows in enumerate(seen[order.length]))


def test_the_largest_step_is_that_of_the_longest_rows():
    assert MixedRows(ORDERS, [0.65, 0.25, 0.1]).largest == (4, 256)


@pytest.mark.parametrize(
    ("given", "lengths"),
    [
        ({}, {128: 0.65, 32: 0.25, 512: 0.1}),
        ({"long_share": 0.0}, {128: 0.75, 32: 0.25}),
        ({"short_share": 0.0, "positions": 128}, {128: 1.0}),
        ({"length": 31, "positions": 31}, {31: 1.0}),  # a quarter of it would be no row
        ({"length": 16, "positions": 64, "long_share": 0.8}, {16: 0.2, 64: 0.8}),
        ({"length": 250}, {250: 0.65, 50: 0.25, 512: 0.1}),
        ({"length": 127}, {127: 0.9, 512: 0.1}),  # nothing divides it
    ],
)
def test_which_lengths_there_are(given, lengths):
    assert PretrainConfig(**{"positions": 512} | given).lengths == pytest.approx(lengths)


@pytest.mark.parametrize("length", [8, 31, 32, 90, 100, 127, 128, 250, 500])
def test_short_rows_make_steps_no_larger(length):
    """All steps have as many tokens: a length that nothing fits would make them enormous."""
    without, mixed = (
        PretrainConfig(positions=512, length=length, short_share=share).settled(5_000_000) for share in (0.0, 0.25)
    )
    assert mixed.batch_tokens == without.batch_tokens and mixed.batch_tokens % (mixed.short or 1) == 0
