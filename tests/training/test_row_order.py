"""The order of rows: each once in a pass, inside the text, another order in another pass."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.training.row_order import RowOrder, permuted


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 17, 100, 1023, 4097])
def test_numbers_are_permuted(count):
    key = np.random.default_rng(0).integers(2**63, size=6, dtype=np.uint64)
    assert sorted(permuted(np.arange(count), count, key)) == list(range(count))


def test_a_permutation_is_as_random_as_one_should_be():
    """Neighbours go far apart: about as many stay within a tenth of each other as would by chance."""
    key = np.random.default_rng(1).integers(2**63, size=6, dtype=np.uint64)
    found = permuted(np.arange(5000), 5000, key)
    near = np.mean(np.abs(np.diff(found)) < 500)
    assert near == pytest.approx(0.19, abs=0.02)  # of two uniform numbers: 1 - 0.9**2
    assert abs(np.corrcoef(np.arange(5000), found)[0, 1]) < 0.06


def test_a_pass_has_each_row_once_and_all_lie_in_the_text():
    order = RowOrder(pieces=1000, length=12, special=2, rows_per_step=7, seed=3)
    assert order.rows_per_pass == 99
    starts = np.concatenate([order.rows(step) for step in range(30)])
    first, second = starts[:99], starts[99:198]
    for one in (first, second):
        assert len(np.unique(one // 10)) >= 98 and len(np.unique(np.diff(np.sort(one)))) == 1  # 10 apart
        assert one.min() >= 0 and one.max() + 10 <= 1000
    assert not np.array_equal(first // 10, second // 10)
    begun = {int(order.rows(99 * number)[0] % 10) for number in range(0, 20)}  # a step a pass, as 7 x 99 rows are 7
    assert len(begun) > 5, "rows begin elsewhere in another pass"
    assert np.array_equal(order.rows(20), RowOrder(1000, 12, 2, 7, 3).rows(20))  # by seed and step alone
    assert not np.array_equal(order.rows(20), RowOrder(1000, 12, 2, 7, 4).rows(20))
