"""Agreement between raters, against statsmodels and cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.inter_rater import fleiss_kappa as reference

from bertscope.core.agreement import (
    chance_jaccard,
    chance_kept_by_four,
    cochran_q,
    fleiss_kappa,
    jaccard,
    kappa_interval,
    kept_by_four,
    kept_by_four_interval,
)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_and_q_equal_the_library(seed):
    generator = np.random.default_rng(seed)
    votes = generator.random((5, 144)) < generator.random(144)
    yes = votes.sum(0)
    assert fleiss_kappa(votes) == pytest.approx(reference(np.stack([yes, 5 - yes], axis=1)))
    found = cochrans_q(votes.T.astype(int))
    assert cochran_q(votes) == pytest.approx((found.statistic, found.pvalue))


def test_kappa_by_hand():
    # Two raters, four items: they agree on three; yes is said 5 times of 8.
    votes = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    chance = (5 / 8) ** 2 + (3 / 8) ** 2
    assert fleiss_kappa(votes) == pytest.approx((3 / 4 - chance) / (1 - chance))
    assert fleiss_kappa(np.array([[1, 0, 1], [1, 0, 1]], bool)) == 1


def test_where_there_is_nothing_to_agree_on():
    assert np.isnan(fleiss_kappa(np.ones((3, 4), bool)))
    assert np.isnan(fleiss_kappa(np.ones((1, 4), bool)))
    assert np.isnan(cochran_q(np.ones((3, 4), bool))).all()


def test_jaccard_by_hand():
    one, other = np.array([1, 1, 1, 0, 0], bool), np.array([0, 1, 1, 1, 0], bool)
    assert jaccard(one, other) == 2 / 4
    assert chance_jaccard(one, other) == pytest.approx((9 / 5) / (6 - 9 / 5))
    assert jaccard(np.zeros(3, bool), np.zeros(3, bool)) == 1


def test_kept_by_four_by_hand():
    # Of 3, 2, 2 and 1 that four raters keep, 2 on average, all keep the first.
    votes = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]], bool)
    assert kept_by_four(votes) == pytest.approx(1 / 2)
    fifth = np.vstack([votes, [True, True, True, True]])  # of the five sets of four, one has another in common: none
    every_four = [np.delete(fifth, one, axis=0).all(0).sum() for one in range(5)]
    assert kept_by_four(fifth) == pytest.approx(np.mean(every_four) / (12 / 5))
    assert np.isnan(kept_by_four(np.zeros((4, 4), bool))) and np.isnan(kept_by_four(votes[:3]))


def test_kept_by_four_does_not_fall_as_raters_are_added_and_by_chance_is_that_of_independent_ones():
    draw = np.random.default_rng(5)
    chances = draw.beta(1.65, 1.35, 144)
    means = [np.mean([kept_by_four(draw.random((raters, 144)) < chances) for _ in range(300)]) for raters in (5, 20)]
    assert means[0] == pytest.approx(means[1], abs=0.01) and means[0] == pytest.approx(
        (chances**4).mean() / chances.mean(), abs=0.01
    )
    votes = draw.random((6, 200_000)) < np.linspace(0.3, 0.8, 6)[:, None]
    assert chance_kept_by_four(votes) == pytest.approx(kept_by_four(votes), abs=0.005)


def test_the_interval_is_the_jackknifes_over_raters():
    votes = np.random.default_rng(0).random((6, 40)) < np.random.default_rng(1).random(40)
    for statistic, found in ((fleiss_kappa, kappa_interval(votes)), (kept_by_four, kept_by_four_interval(votes))):
        without = np.array([statistic(np.delete(votes, one, axis=0)) for one in range(6)])
        either = t.ppf(0.975, 5) * np.sqrt(5 / 6 * ((without - without.mean()) ** 2).sum())
        assert found == pytest.approx((statistic(votes) - either, statistic(votes) + either))


def test_raters_that_are_exactly_alike_or_too_few_have_no_interval():
    alike = np.tile(np.arange(12) % 3 == 0, (5, 1))
    assert fleiss_kappa(alike) == 1 and np.isnan(kappa_interval(alike)).all()
    unlike = np.random.default_rng(2).random((4, 12)) < 0.5
    assert np.isnan(kappa_interval(unlike)).all() and np.isnan(kept_by_four_interval(unlike)).all()


@pytest.mark.parametrize("raters", [5, 10])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_interval_of_kappa_holds_the_kappa_of_many_more_raters(raters, spread):
    """Heads survive with chances of their own: what an interval over layers took for the whole uncertainty is none
    of it, since the heads are all there are."""
    draw = np.random.default_rng(3)
    chances = draw.beta(spread, spread, 144)
    truth = fleiss_kappa(draw.random((4000, 144)) < chances)
    inside = 0
    for _ in range(400):
        low, high = kappa_interval(draw.random((raters, 144)) < chances)
        inside += low <= truth <= high
    assert 0.93 <= inside / 400 <= 0.99  # on the safe side: docs/methods.md
