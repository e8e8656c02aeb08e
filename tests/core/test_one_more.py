"""The interval of a difference from random draws: drawn like them, it holds 0; over examples alone it wouldn't."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from bertscope.core.intervals import interval, interval_from_one_more


@pytest.mark.parametrize("examples", [40, 200])
@pytest.mark.parametrize("orders", [3, 5, 10])
def test_a_random_order_has_no_advantage_over_random_orders(orders, examples):
    """Areas of random orders: each order has its own, and examples differ in how they feel each."""
    generator = np.random.default_rng(orders * examples)
    held, over_examples, runs = 0, 0, 400
    for _ in range(runs):
        own = generator.normal(0.6, 0.1, orders + 1)
        each = own + generator.normal(0, 0.3, (examples, 1)) + generator.normal(0, 0.3, (examples, orders + 1))
        counts = generator.multinomial(examples, np.full(examples, 1 / examples), size=100)
        draws = np.concatenate([each.mean(0)[None], counts @ each / examples])  # [1 + repeats, orders]
        more = draws[:, 0] - draws[:, 1:].mean(1)
        low, high = interval_from_one_more(more, draws[0, 1:])
        held += low <= 0 <= high
        low, high = interval(more)
        over_examples += low <= 0 <= high
    assert held / runs > 0.93
    assert over_examples / runs < 0.85, "which is why examples alone don't do"


def test_by_hand():
    draws, others = np.array([0.5, 0.4, 0.6, 0.5]), np.array([1.0, 2.0, 3.0])
    either = np.sqrt(1.959964**2 * np.var([0.4, 0.6, 0.5]) + t.ppf(0.975, 2) ** 2 * 1.0 * (1 + 1 / 3))
    assert interval_from_one_more(draws, others) == pytest.approx((0.5 - either, 0.5 + either))
    reach = 1.959964 * np.std([0.4, 0.6, 0.5])
    assert interval_from_one_more(draws, np.ones(3)) == pytest.approx((0.5 - reach, 0.5 + reach))
