"""Agreement between raters, against statsmodels and cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.inter_rater import fleiss_kappa as reference

from bertscope.core.agreement import chance_jaccard, cochran_q, fleiss_kappa, jaccard


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
