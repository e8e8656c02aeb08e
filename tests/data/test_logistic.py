"""Regressions of many labels against scikit-learn's, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from bertscope.data.logistic import Logistic

STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def made(seed: int = 0) -> tuple[csr_matrix, np.ndarray]:
    """Counts of 60 words, rare and common, in 300 texts, and five labels; the last two are never and always there."""
    random = np.random.default_rng(seed)
    counts = random.poisson(np.geomspace(0.01, 3, 60), (300, 60))
    odds = counts @ random.normal(size=(60, 3)) * 0.3 + (-3, 0, 1)
    gold = (random.random((300, 3)) < 1 / (1 + np.exp(-odds))).astype(int)
    return csr_matrix(counts), np.hstack([gold, np.zeros((300, 1), int), np.ones((300, 1), int)])


def test_the_optimum_is_scikit_learns():
    features, gold = made()
    model = Logistic(features, gold, tolerance=1e-9)
    for strength in STRENGTHS:
        model.fit(strength)
        for label in range(3):
            wanted = LogisticRegression(C=strength, tol=1e-9, max_iter=100_000).fit(features, gold[:, label])
            found = model.log_odds(features)[:, label]
            np.testing.assert_allclose(found, wanted.decision_function(features), atol=2e-4)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_as_usual_a_fit_ends_as_flat_as_scikit_learns(strength):
    """And where it ends doesn't depend on where it began, but for that."""
    features, gold = made(1)
    warm, cold = Logistic(features, gold), Logistic(features, gold)
    for each in STRENGTHS[: STRENGTHS.index(strength) + 1]:
        warm.fit(each)
    cold.fit(strength)
    for model in (warm, cold):
        odds = model.log_odds(features)[:, :3]
        weights = model._weights[:-1, :3]
        gradient = features.T @ (1 / (1 + np.exp(-odds)) - gold[:, :3]) / 300 + weights / (strength * 300)
        assert abs(gradient).max() <= 1e-4


def test_a_label_that_all_texts_have_or_none_is_as_good_as_certain():
    features, gold = made()
    model = Logistic(features, gold)
    model.fit(1.0)
    assert (model.log_odds(features)[:, 3:] == (-30, 30)).all()
