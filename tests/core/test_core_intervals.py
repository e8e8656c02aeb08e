"""Intervals, and groups that are left out: against formulas worked by hand, and against what a sample really varies
by; and that nobody makes their own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import norm, t

from bertscope.core.intervals import (
    jackknife_error,
    jackknife_interval,
    jackknife_interval_of_difference,
    percentile_ends,
    reach,
    share_by_chance,
    wider_for_all,
)
from bertscope.core.resampling import group_bounds, left_out
from house import FILES, SOURCE


def test_groups_keep_owners_together_and_are_about_equal():
    owner = np.repeat(np.arange(7), [3, 1, 2, 2, 4, 1, 3])
    assert group_bounds(owner, 4).tolist() == [0, 4, 8, 12, 16]
    assert group_bounds(owner, 100).tolist() == [0, 3, 4, 6, 8, 12, 13, 16], "no more groups than owners"
    assert group_bounds(owner, 1).tolist() == [0, 16]
    assert group_bounds(np.array([5, 5, 9]), 2).tolist() == [0, 2, 3], "owners may be any rising numbers"
    many = np.repeat(np.arange(1000), np.random.default_rng(0).integers(1, 40, 1000))
    edges = group_bounds(many, 20)
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


def test_groups_without_anything_of_it_do_not_count():
    """A statistic of the first four of nine groups is as sure as one that knows of no others."""
    draws = np.random.default_rng(2).normal(size=(10, 2))
    draws[5:, 1] = draws[0, 1]
    having = np.ones((9, 2), dtype=bool)
    having[4:, 1] = False
    low, high = jackknife_interval(draws, having=having)
    every, four = jackknife_interval(draws[:, 0]), jackknife_interval(draws[:5, 1])
    assert (low[0], high[0]) == every and (low[1], high[1]) == pytest.approx(four)
    having[1:, 1] = False
    assert np.isnan(jackknife_interval(draws, having=having)[0]).tolist() == [False, True]


def test_long_texts_and_short_ones_make_groups_that_hold_what_they_promise():
    """Texts of 1 to some hundred words, whose words are alike: groups are of very different sizes. Weighted by them
    (Busing et al. 1999), 88 of 100 intervals hold the truth."""
    generator, inside = np.random.default_rng(3), 0
    for _ in range(1000):
        words = np.exp(generator.normal(2.5, 1.2, size=40)).astype(int) + 1
        owner = np.repeat(np.arange(40), words)
        values = generator.normal(size=40)[owner] + generator.normal(size=len(owner))
        edges = group_bounds(owner, 20)
        draws = left_out(np.add.reduceat(values, edges[:-1])) / left_out(np.diff(edges).astype(float))
        low, high = jackknife_interval(draws)
        inside += low <= 0 <= high
    assert 920 <= inside <= 970


def test_percentile_ends_leave_out_what_is_missing():
    draws = np.random.default_rng(4).normal(size=(500, 2))
    (low, other_low), (high, other_high) = percentile_ends(draws)
    assert [low, high] == pytest.approx(np.quantile(draws[:, 0], [0.025, 0.975]))
    draws[::2, 0] = np.nan
    (low, low_now), (high, high_now) = percentile_ends(draws)
    assert [low, high] == pytest.approx(np.quantile(draws[1::2, 0], [0.025, 0.975]))
    assert (low_now, high_now) == (other_low, other_high)


def test_two_independent_samples_are_further_apart_than_either_knows():
    one, other = (np.random.default_rng(seed).normal(size=size) for seed, size in ((6, 21), (7, 11)))
    low, high = jackknife_interval_of_difference(one, other)
    either = t.ppf(0.975, 9) * np.sqrt(jackknife_error(one) ** 2 + jackknife_error(other) ** 2)  # 10 groups, not 20
    assert (low, high) == pytest.approx((one[0] - other[0] - either, one[0] - other[0] + either))


def test_many_intervals_are_wider():
    assert wider_for_all(1) == 1 and wider_for_all(5) == pytest.approx(norm.ppf(0.995) / norm.ppf(0.975))


def test_a_variance_falls_short_of_that_share_in_one_case_of_forty():
    drawn = np.random.default_rng(8).normal(size=(20_000, 5)).var(1, ddof=1)
    assert (drawn < share_by_chance(5)).mean() == pytest.approx(0.025, abs=0.004)


OWN = re.compile(r"quantile\(|percentile\(|multinomial\(|poisson\(|\.ppf\(|\.isf\(|inv_cdf\(")
DESCRIBING = (
    "np.quantile(numbers, 0.5, axis=0, method=",  # shapes: the typical head's numbers
    "np.quantile(lengths, np.arange(1, limits.bins)",  # probe: where bins of lengths end
    "np.quantile(values, [0.1, 0.5, 0.9])",  # importance: how a layer's neurons are spread
    "np.quantile(self.attention, _BRIGHT)",  # labelling: which cell is drawn brightest
    "np.quantile(values[told], [0.25, 0.5, 0.75])",  # slices: where quarters of lengths end
    "np.percentile(confidence, np.linspace(0, 1, bins + 1) * 100)",  # calibration: where bins of equal mass end
)
"""Quantiles of data, which are no interval."""


def test_draws_and_intervals_are_made_in_one_place():
    made_here = {SOURCE / "core" / f"{name}.py" for name in ("resampling", "intervals")}
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in FILES
        if path not in made_here
        for line in path.read_text(encoding="utf-8").splitlines()
        if OWN.search(line) and not any(one in line for one in DESCRIBING)
    ]
    assert found == [], "use core/resampling.py and core/intervals.py"
