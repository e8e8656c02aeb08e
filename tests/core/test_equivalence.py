"""When a score is as good as another: by the margin, never by an interval that merely holds 0."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from bertscope.core.equivalence import SHARE, allowing_for_few, in_words, judged, judged_of, margin
from bertscope.core.estimate import Estimate
from bertscope.core.variance_components import interval_over_runs
from few_flips import lost_in, passing


def test_the_margin_is_a_share_of_the_skill():
    assert margin(0.9, 0.5) == pytest.approx(SHARE * 0.4) and margin(0.9, 0.5, 0.25) == pytest.approx(0.1)
    assert margin(0.45, 0.5) == 0, "a model without skill: nothing is as good as it"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.02, 0.03, "as_good"), (0.01, 0.03, "as_good"), (-0.05, 0.03, "open"), (-0.2, 0.2, "open"),
        (-0.09, -0.01, "worse"), (0.01, 0.09, "better"), (-0.04, 0.04, "open"), (0.0, 0.06, "open"),
    ],
)  # fmt: skip
def test_each_verdict_by_hand(low, high, verdict):
    assert judged(Estimate((low + high) / 2, low, high), 0.04) == verdict


def test_nothing_is_as_good_without_an_interval_or_without_skill():
    assert judged(Estimate(0.0), 1.0) == "open" and in_words(Estimate(0.0), 1.0) == ""
    assert judged(Estimate(0.0, 0.0, 0.0), margin(0.4, 0.5)) == "open"


def test_in_words():
    assert in_words(Estimate(0.0, -0.01, 0.01), 0.042) == "as good, within 4.2 points, 10% of the skill above chance"
    assert in_words(Estimate(0.0, -0.2, 0.2), 0.042).startswith("open: neither clear of 0 nor within 4.2 points")
    assert in_words(Estimate(-0.3, -0.4, -0.2), 0.042) == "worse: clear of 0"
    none = Estimate(0.0, 0.0, 0.0)  # 3.7 of so many texts may be lost where none is
    assert in_words(none, 0.042, 88) == in_words(none, 0.042)
    assert in_words(none, 0.042, 87).startswith("open: 87 texts are too few to say that it is within 4.2 points")
    assert in_words(Estimate(-0.02, -0.03, -0.01), 0.042, 50) == "worse: clear of 0"


def test_where_the_truth_lies_on_the_margin_as_good_is_rarely_said():
    """Arms that truly differ by the margin: the interval lies within it in at most a fortieth of the draws."""
    draw, within = np.random.default_rng(0), 0.04
    values = within + draw.normal(0, 0.02, (4000, 5, 1)) + draw.normal(0, 0.3, (4000, 1, 200))
    values = values + draw.normal(0, 0.3, (4000, 5, 200))
    low, high = interval_over_runs(values)
    said = [judged(Estimate(within, *ends), within) for ends in zip(low.tolist(), high.tolist(), strict=True)]
    assert said.count("as_good") / 4000 <= 0.03


@pytest.mark.parametrize(("n", "within"), [(50, 0.04), (100, 0.04), (277, 0.013), (400, 0.02), (1000, 0.005)])
def test_a_loss_as_large_as_the_margin_is_rarely_as_good_where_few_answers_change(n, within):
    """A text is lost with the margin's probability, and none is won: the bootstrap of those that are is too short."""

    def as_good(lost: int) -> bool:
        return judged(allowing_for_few(lost_in(n, lost), n), within) == "as_good"

    assert passing(n, within, as_good) <= 0.025
    assert passing(n, within, lambda lost: judged(lost_in(n, lost), within) == "as_good") > 0.035


@pytest.mark.parametrize(("n", "within"), [(100, 0.04), (277, 0.013), (277, 0.03), (1000, 0.005)])
@pytest.mark.parametrize("shared", [1.0, 0.5])
def test_trainings_that_lose_the_same_few_texts_are_rarely_as_good_either(n, within, shared):
    """Each of five loses the margin, mostly in the same texts: five are hardly more than one."""
    draw = np.random.default_rng(0)
    of_all = draw.random((2000, 1, n)) < shared * within
    values = -(of_all | (draw.random((2000, 5, n)) < (1 - shared) * within)).astype(float)
    found = list(map(Estimate, values.mean((1, 2)).tolist(), *(ends.tolist() for ends in interval_over_runs(values))))
    assert sum(judged_of(one, within, n) == "as_good" for one in found) <= 0.025 * 2000
    assert sum(judged(one, within) == "as_good" for one in found) > 0.05 * 2000


def test_what_few_texts_allow_only_widens():
    wide = Estimate(-0.01, -0.2, 0.2)
    assert allowing_for_few(wide, 100) == wide and allowing_for_few(Estimate(0.5), 100) == Estimate(0.5)
    one = allowing_for_few(Estimate(-0.01, -0.03, 0.0), 100)
    assert -one.low == pytest.approx(chi2.ppf(0.975, 4) / 200)
    assert one.high == pytest.approx((np.log(40) + np.log(0.975)) / 100)  # P(none) is .975 where .025 is expected
    mirrored = allowing_for_few(-Estimate(-0.01, -0.03, 0.0), 100)
    assert (mirrored.low, mirrored.high) == (-one.high, -one.low)
    assert allowing_for_few(Estimate(0.0, 0.0, 0.0), 100, parts=8).high == pytest.approx(np.log(8 / 0.025) / 100)


@pytest.mark.parametrize("n", [100, 1000, 10_000])
@pytest.mark.parametrize("share", [0.08, 0.4])
def test_many_lost_answers_are_worse_whatever_few_might_be_won(n, share):
    lost = allowing_for_few(lost_in(n, round(share * n)), n)
    won = allowing_for_few(-lost_in(n, round(share * n)), n)
    said = "open" if n * share < 9 else "worse"
    assert judged(lost, share / 4) == said and judged(won, share / 4) == said.replace("worse", "better")


@pytest.mark.parametrize(("n", "loss"), [(50, 0.0), (100, 0.01), (300, 0.01), (300, 0.05)])
def test_the_interval_of_a_loss_holds_the_truth(n, loss):
    """The end that few lost answers allow on the other side is not too near, either."""
    missed = passing(n, loss, lambda lost: not _within(-loss, allowing_for_few(lost_in(n, lost), n)))
    assert missed <= 0.05


def _within(truth: float, estimate: Estimate) -> bool:
    return estimate.low - 1e-12 <= truth <= estimate.high + 1e-12
