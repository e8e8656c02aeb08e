"""Shares that labels correct: a hand-worked case, and a classifier whose own interval never holds the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from bertscope.core.prediction_powered import Labelled, corrected_shares
from labelled_shares import SELDOM, labelled_shares

CLASSES = 5


def things(said: list[int], told: list[int], text: list[int] | None = None, shares: object = None) -> Labelled:
    """Of texts of their own that are like all, unless something else is said."""
    return Labelled(np.array(said), np.array(told), np.array(text or range(len(said))), np.array(shares))


def half(said: list[int], told: list[int]) -> float:
    """The variance of the first class's mean difference, with half a thing more in each of the four cells."""
    pairs, n = list(zip(said, told, strict=True)), len(said) + 2
    up, down = (sum(pair[one] == 0 != pair[1 - one] for pair in pairs) + 0.5 for one in (0, 1))
    return (up / n + down / n - (up / n - down / n) ** 2) / n


def test_by_hand():
    """Of 8 labelled things the classifier calls 6 the first class; of these 2 are the second, and of the others none
    is the first: its share is 2 / 8 lower than the classifier says."""
    said, told, called = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1], np.array([0.7, 0.3])
    share, low, high = corrected_shares(called, np.array([0.03, 0.03]), 50, things(said, told, shares=[called] * 8))
    np.testing.assert_allclose(share, [0.45, 0.55])
    of_labels, of_texts = half(said, told), 0.03**2
    assert of_labels == pytest.approx((0.05 + 0.25 - 0.2**2) / 10)
    freedom = (of_labels + of_texts) ** 2 / (of_labels**2 / 7 + of_texts**2 / 49)
    either = t.ppf(0.975, freedom) * np.sqrt(of_labels + of_texts)
    np.testing.assert_allclose([low[0], high[0]], [0.45 - either, 0.45 + either])
    np.testing.assert_allclose(high - low, 2 * either)  # of two classes one is what the other isn't


@pytest.mark.parametrize(
    ("text", "together"), [([5, 5, 6, 6], 2 * 0.75**2 + 2 * 0.25**2), ([5, 6, 5, 6], -4 * 0.75 * 0.25)]
)
@pytest.mark.parametrize("first", [0.1, 0.9])
def test_what_texts_have_in_common_widens_the_interval_and_never_narrows_it(text, together, first):
    """Four times the same 8 things. The differences are -1 in things 5 and 6 and 0 in the others: -0.75 and 0.25 from
    their mean. Of the last four things two and two are of one text."""
    said, told, called = [0, 0, 0, 0, 1, 1, 1, 1] * 4, [0, 0, 0, 0, 0, 0, 1, 1] * 4, np.array([0.7, 0.3])
    texts = [10 * block + one for block in range(4) for one in (1, 2, 3, 4, *text)]
    shares = ([called] * 4 + [np.array([first, 1 - first])] * 2 + [called] * 2) * 4
    _, low, high = corrected_shares(called, np.array([0.03, 0.03]), 50, things(said, told, texts, shares))
    with_text = 2 * (2 * (first - 0.7) * -0.75 / 8) / 50
    variance = half(said, told) + 0.03**2 + max(with_text + 4 * together / 32**2, 0)
    freedom = variance**2 / (half(said, told) ** 2 / 31 + 0.03**4 / 49)
    np.testing.assert_allclose(high - low, 2 * t.ppf(0.975, freedom) * np.sqrt(variance))


def test_shares_add_up_and_stay_shares():
    random = np.random.default_rng(0)
    said, told = random.integers(0, CLASSES, (2, 100)).tolist()
    called = np.array([0.3, 0.3, 0.2, 0.1, 0.1])
    share, low, high = corrected_shares(
        called, np.full(CLASSES, 0.01), 200, things(said, told, shares=[called] * 100)
    )
    assert share.sum() == pytest.approx(1)
    assert (low >= 0).all() and (low < share).all() and (share < high).all() and (high <= 1).all()
    same = things([0] * 100, [0] * 100, shares=[[1, 0]] * 100)
    none, low, high = corrected_shares(np.array([1.0, 0.0]), np.zeros(2), 200, same)
    assert none.tolist() == [1, 0] and low[0] < 1 and high[1] > 0, "a class that wasn't met in 100 may still be there"


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [100, 300])
def test_the_interval_holds_the_truth_where_the_classifiers_own_never_does(labelled):
    """600 samples: a class's own rate is known to 0.018."""
    found = labelled_shares(np.random.default_rng(0), 600, labelled=labelled)
    holds, own = found.holds.mean(0), found.own.mean(0)
    assert 0.93 <= holds.mean() <= 0.975 and holds.min() > 0.92, holds
    assert own[0] < 0.05 and own[SELDOM] < 0.05, "the classifier is wrong about these"
