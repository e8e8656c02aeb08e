"""Intervals over training runs: hand-worked, against a simulation of trainings, and for metrics that are no means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bertscope.core.variance_components import error_of_mean, example_values, group_values, interval_over_runs
from bertscope.data.metrics import metric


def test_worked_by_hand():
    values = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 7.0]])  # runs 2, 4; examples 2, 2, 5; mean 3
    error, freedom = error_of_mean(values)
    by_run, by_example = 2.0 / 2, 3.0 / 3
    rest = values - np.array([[2.0], [4.0]]) - np.array([2.0, 2.0, 5.0]) + 3.0
    by_both = (rest**2).sum() / 2 / 6
    assert (rest**2).sum() == pytest.approx(4.0)
    variance = by_run + by_example - by_both
    assert error == pytest.approx(variance**0.5)
    assert freedom == pytest.approx(variance**2 / (by_run**2 / 1 + by_example**2 / 2 + by_both**2 / 2))


def test_of_one_run_it_is_students_over_examples():
    values = np.random.default_rng(0).normal(size=(1, 40))
    mean, error = values.mean(), values.std(ddof=1) / 40**0.5
    assert interval_over_runs(values) == pytest.approx(stats.t.interval(0.95, 39, mean, error))


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_few_runs_have_none(runs):
    assert np.isnan(interval_over_runs(np.random.default_rng(1).normal(size=(runs, 50)))).all()


def test_runs_that_agree_on_everything_still_have_one():
    values = np.broadcast_to(np.random.default_rng(2).normal(size=30), (5, 30))
    low, high = interval_over_runs(values)
    error = values[0].std(ddof=1) / 30**0.5
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 29) * error)
    assert interval_over_runs(np.full((5, 30), 0.25)) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("sd_run", "sd_example", "sd_rest"),
    [(0.0, 0.0, 0.4), (0.0, 0.2, 0.4), (0.02, 0.3, 0.3), (0.09, 0.1, 0.4), (0.21, 0.1, 0.4)],
)
def test_covers_the_truth_as_often_as_it_says(sd_run, sd_example, sd_rest):
    draw, repeats, runs, n = np.random.default_rng(3), 2000, 5, 120
    values = (
        draw.normal(0, sd_run, (repeats, runs, 1))
        + draw.normal(0, sd_example, (repeats, 1, n))
        + draw.normal(0, sd_rest, (repeats, runs, n))
    )
    low, high = interval_over_runs(values)
    assert 0.93 <= ((low <= 0) & (high >= 0)).mean() <= 0.97


def test_runs_that_are_right_equally_often_are_no_interval_of_nothing():
    """Each of five runs gains as many examples as it loses, each others: the runs' means say nothing of the rest."""
    values = np.zeros((5, 40))
    for run in range(5):
        values[run, [4 * run, 4 * run + 1]], values[run, [4 * run + 2, 4 * run + 3]] = 1.0, -1.0
    assert (values.mean(1) == 0).all()
    low, high = interval_over_runs(values)
    assert low < 0 < high and high > 0.005


def test_group_values_of_a_mean_are_the_groups_means():
    draw = np.random.default_rng(6)
    groups = draw.normal(size=(5, 20, 3))  # [run, group, layer]
    left = (groups.sum(1, keepdims=True) - groups) / 19
    draws = np.concatenate([groups.mean(1, keepdims=True), left], axis=1)
    assert group_values(draws) == pytest.approx(groups.transpose(2, 0, 1))


def test_example_values_of_a_mean_are_what_it_is_the_mean_of():
    hits = np.random.default_rng(4).integers(0, 2, size=(3, 5, 20, 1)).astype(float)
    assert example_values(lambda means: means[..., 0], hits) == pytest.approx(hits[..., 0])


def test_example_values_of_a_correlation_give_its_standard_error():
    draw = np.random.default_rng(5)
    gold = draw.normal(size=400)
    said = gold + draw.normal(size=400)
    moments = np.stack([said, gold, said**2, gold**2, said * gold], -1)
    pearson = metric("pearson", 0)
    values = example_values(pearson.value, moments)
    r = float(np.corrcoef(said, gold)[0, 1])
    assert values.mean() == pytest.approx(r)
    assert values.std(ddof=1) / 20 == pytest.approx((1 - r**2) / 20, rel=0.1)  # Fisher's, of normal data
