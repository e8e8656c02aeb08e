"""Leaving groups out: against formulas worked by hand, and against what a sample really varies by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from bertscope.core.jackknife import jackknife_error, jackknife_interval, left_out, reach, runs


def test_runs_keep_owners_together_and_are_about_equal():
    owner = np.repeat(np.arange(7), [3, 1, 2, 2, 4, 1, 3])
    assert runs(owner, 4).tolist() == [0, 4, 8, 12, 16]
    assert runs(owner, 100).tolist() == [0, 3, 4, 6, 8, 12, 13, 16], "no more runs than owners"
    assert runs(owner, 1).tolist() == [0, 16]
    assert runs(np.array([5, 5, 9]), 2).tolist() == [0, 2, 3], "owners may be any rising numbers"
    many = np.repeat(np.arange(1000), np.random.default_rng(0).integers(1, 40, 1000))
    edges = runs(many, 20)
    assert len(edges) == 21 and np.ptp(np.diff(edges)) <= 2 * 40
    assert all(many[edge - 1] != many[edge] for edge in edges[1:-1])


def test_left_out_sums():
    draws = left_out(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]]))
    assert draws.tolist() == [[9, 6], [8, 4], [6, 2], [4, 6]]


def test_of_single_values_the_error_is_that_of_their_mean():
    values = np.random.default_rng(1).normal(size=30)
    draws = left_out(values) / np.array([30, *[29] * 30])
    error = values.std(ddof=1) / np.sqrt(30)
    assert jackknife_error(draws) == pytest.approx(error)
    low, high = jackknife_interval(draws)
    assert (low, high) == pytest.approx((values.mean() - t.ppf(0.975, 29) * error, values.mean() + reach(30) * error))
    assert jackknife_interval(draws, least=low + 0.01, most=high - 0.01) == pytest.approx((low + 0.01, high - 0.01))


def test_one_group_has_no_interval():
    assert np.isnan(jackknife_interval(np.array([[0.5], [np.nan]]))).all()


def test_a_value_that_never_varies_has_an_interval_of_nothing():
    assert jackknife_interval(np.full(11, 0.25)) == (0.25, 0.25)
