"""Split-half reliability: against its closed form, where nothing differs, and where parts are ranked by no mean."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.reliability import split_half, split_half_of_means
from bertscope.data.metrics import metric


@pytest.mark.parametrize("noise", [0.5, 2.0, 6.0])
def test_closed_form(noise):
    """Of parts whose true values have variance 1, seen through n examples: 1 / (1 + noise^2 / n)."""
    draw, n = np.random.default_rng(0), 40
    values = draw.normal(size=(3000, 1)) + noise * draw.normal(size=(3000, n))
    found = split_half_of_means(values)
    assert found.pearson == pytest.approx(1 / (1 + noise**2 / n), abs=0.02)
    assert found.spearman == pytest.approx(found.pearson, abs=0.04)


def test_nothing_is_reliable_where_parts_are_alike():
    values = np.random.default_rng(1).normal(size=(400, 60))
    assert split_half_of_means(values).pearson < 0.1
    assert split_half_of_means(np.ones((10, 20))).pearson == 0.0


def test_too_few_to_rank():
    found = split_half_of_means(np.ones((2, 20)))
    assert np.isnan(found.pearson)
    assert not found.is_enough


def test_of_a_metric_that_is_no_mean():
    draw = np.random.default_rng(2)
    gold = draw.normal(size=300)
    said = gold + np.linspace(0.2, 3, 30)[:, None] * draw.normal(size=(30, 300))
    moments = np.stack([said, np.broadcast_to(gold, said.shape), said**2, np.broadcast_to(gold, said.shape) ** 2,
                        said * gold], -1)  # fmt: skip
    assert split_half(metric("pearson", 0).value, moments).pearson > 0.95
