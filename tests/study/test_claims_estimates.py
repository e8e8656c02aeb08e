"""How a claim is judged: the verdict by an interval and a bound; intervals of differences, extremes and seeds."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.estimate import Estimate, extreme, mean
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.study.claims.records.claim import Bound
from bertscope.study.claims.records.estimates import over_seeds

# The rule


@pytest.mark.parametrize(
    ("side", "low", "high", "verdict"),
    [
        (">", 0.01, 0.2, "holds"), (">", -0.2, -0.01, "fails"), (">", -0.1, 0.1, "underpowered"),
        (">", 0.0, 0.1, "underpowered"), (">", -0.1, 0.0, "fails"), (">", 0.0, 0.0, "underpowered"),
        (">=", 0.0, 0.1, "holds"), (">=", 0.0, 0.0, "holds"), (">=", -0.1, 0.0, "underpowered"),
        ("<", -0.2, -0.01, "holds"), ("<", 0.01, 0.2, "fails"), ("<", -0.1, 0.0, "underpowered"),
        ("<", 0.0, 0.1, "fails"), ("<=", -0.1, 0.0, "holds"), ("<=", 0.0, 0.0, "holds"), ("<=", 0.01, 0.1, "fails"),
    ],
)  # fmt: skip
def test_the_verdict_follows_from_the_interval_and_the_bound(side, low, high, verdict):
    assert Bound(side, 0.0).verdict(Estimate((low + high) / 2, low, high)) == verdict


def test_without_an_interval_nothing_is_decided():
    assert Bound(">", 0).verdict(Estimate(99.0)) == "underpowered"
    assert Estimate.of(1.0, float("nan"), 2.0) == Estimate(1.0) and not Estimate.of(1.0, None, None).sure


def test_a_margin_is_where_the_bound_lies():
    within_a_point = Bound(">", -0.01)
    assert within_a_point.verdict(Estimate(-0.002, -0.008, 0.004)) == "holds"
    assert within_a_point.verdict(Estimate(-0.05, -0.06, -0.04)) == "fails"
    assert within_a_point.verdict(Estimate(-0.002, -0.02, 0.016)) == "underpowered"


def test_a_share_of_a_skill_is_known_no_better_than_the_skill():
    a_tenth = Bound(">", -0.1, of_skill=True)
    skill = Estimate(0.4, 0.3, 0.5)
    assert a_tenth.place(skill) == pytest.approx(-0.04) and a_tenth.place(None) is None
    for low, high, verdict in (
        (-0.02, 0.01, "holds"), (-0.035, 0.01, "underpowered"), (-0.045, 0.01, "underpowered"),
        (-0.06, -0.045, "underpowered"), (-0.07, -0.051, "fails"),
    ):  # fmt: skip
        assert a_tenth.verdict(Estimate((low + high) / 2, low, high), skill) == verdict
    assert a_tenth.verdict(Estimate(0.0, -0.035, 0.01), Estimate(0.4)) == "holds", "a skill without an interval"
    assert a_tenth.verdict(Estimate(0.0, -0.01, 0.01)) == "underpowered", "no skill is known that it is a share of"


# Intervals


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.9])
def test_a_difference_of_intervals_covers_the_truth_however_they_are_correlated(correlation):
    generator = np.random.default_rng(0)
    noise = generator.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=4000)
    one, other = noise.T + np.array([[5.0], [2.0]])
    found = [
        Estimate(a, a - 1.96, a + 1.96) - Estimate(b, b - 1.96, b + 1.96) for a, b in zip(one, other, strict=True)
    ]
    covered = np.mean([difference.low <= 3 <= difference.high for difference in found])
    assert covered > 0.945  # exactly 95% at -1, more elsewhere
    averaged = mean([Estimate(1.0, 0.0, 2.0), Estimate(3.0, 2.5, 3.5)])
    assert averaged == Estimate(2.0, 1.25, 2.75)


@pytest.mark.parametrize("pick", [max, min])
def test_the_best_of_many_is_corrected_for_the_choice(pick):
    """A hundred parts that do nothing: the largest effect seen is far from 0, and its interval must still hold 0."""
    generator = np.random.default_rng(1)
    draws = generator.normal(size=(2000, 100))
    plain = corrected = 0
    for row in draws:
        parts = [Estimate(x, x - 1.96, x + 1.96) for x in row]
        found = extreme(parts, pick)
        assert found.value == pick(row) and found.low <= found.value <= found.high
        corrected += found.low <= 0 <= found.high
        plain += parts[int(np.argmax(row) if pick is max else np.argmin(row))].low <= 0 <= pick(row) + 1.96
    assert corrected / 2000 >= 0.94 and plain / 2000 < 0.6


def test_over_seeds_it_is_students_interval_and_needs_five():
    from scipy.stats import ttest_1samp

    values = [0.61, 0.64, 0.6, 0.66, 0.63, 0.59]
    oracle = ttest_1samp(values, 0).confidence_interval(0.95)
    found = over_seeds(values)
    assert (found.low, found.high) == pytest.approx(tuple(oracle))
    assert not over_seeds(values[:4]).sure and ENOUGH_RUNS == 5
    assert not over_seeds([0.61] * 5).sure, "trainings that are all alike don't say how unlike another would be"
