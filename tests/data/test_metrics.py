"""Metrics against sklearn and scipy, and their weighted form against literally resampled data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn

from bertscope.core.errors import UserError
from bertscope.core.statistics import paired_effects
from bertscope.data.metrics import metric, spearman

REFERENCE = {
    "accuracy": sklearn.accuracy_score,
    "macro_f1": lambda gold, said: sklearn.f1_score(gold, said, average="macro", zero_division=0),
    "matthews": sklearn.matthews_corrcoef,
}


@st.composite
def answers(draw, most_classes=4):
    c = draw(st.integers(2, most_classes))
    n = draw(st.integers(1, 30))
    column = st.lists(st.integers(0, c - 1), min_size=n, max_size=n).map(np.array)
    return c, draw(column), draw(column), draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))


def resampled(name, c, said, gold, rows):
    """The metric of the resample by weights, as the bootstrap computes it."""
    measure = metric(name, c)
    weights = np.bincount(rows, minlength=len(gold)) / len(gold)
    return measure.value(weights @ measure.moments(said, gold))


@pytest.mark.parametrize("name", REFERENCE)
@settings(max_examples=60, deadline=None)
@given(case=answers())
def test_classification_metrics_equal_sklearn_also_when_resampled(name, case):
    c, said, gold, rows = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sklearn warns of a single label
        assert metric(name, c)(said, gold) == pytest.approx(REFERENCE[name](gold, said), abs=1e-12)
        expected = REFERENCE[name](gold[rows], said[rows])
    assert resampled(name, c, said, gold, rows) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(case=answers(most_classes=2))
def test_binary_f1_is_that_of_class_1(case):
    _, said, gold, rows = case
    assert metric("f1", 2)(said, gold) == pytest.approx(sklearn.f1_score(gold, said, zero_division=0))
    expected = sklearn.f1_score(gold[rows], said[rows], zero_division=0)
    assert resampled("f1", 2, said, gold, rows) == pytest.approx(expected)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 40), offset=st.floats(-1e4, 1e4), scale=st.floats(0.01, 100))
def test_pearson_and_spearman_equal_scipy_also_when_resampled(seed, n, offset, scale):
    rng = np.random.default_rng(seed)
    gold = offset + scale * rng.normal(size=n)
    said = offset + 0.5 * (gold - offset) + scale * rng.normal(size=n)
    rows = np.append(rng.integers(0, n, size=n - 2), [0, 1])  # two different rows at least: scipy has no value else
    assert metric("pearson", 0)(said, gold) == pytest.approx(stats.pearsonr(said, gold)[0], abs=1e-7)
    expected = stats.pearsonr(said[rows], gold[rows])[0]
    assert resampled("pearson", 0, said, gold, rows) == pytest.approx(expected, abs=1e-7)
    tied = np.round(said / scale)
    if len(set(tied)) > 1:
        assert spearman(tied, gold) == pytest.approx(stats.spearmanr(tied, gold)[0], abs=1e-9)


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.3, 1e6])
def test_constant_scores_are_chance_without_warnings(constant):
    gold = np.linspace(0, 5, 37)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric("pearson", 0)(np.full(37, constant), gold) == 0
        assert metric("pearson", 0)(gold, np.full(37, constant)) == 0
        assert spearman(np.full(37, constant), gold) == 0
        weights = np.random.default_rng(0).multinomial(37, np.full(37, 1 / 37), size=500) / 37
        pearson = metric("pearson", 0)
        assert (pearson.value(weights @ pearson.moments(np.full(37, constant), gold)) == 0).all()


@pytest.mark.parametrize(("level", "spread"), [(2000, 5), (300_000, 90_000), (1.7e9, 1000)])
def test_pearson_of_predictions_far_from_the_scores(level, spread):
    """As a model's that has learnt nothing yet: years from 1950 on, answered by 0.1."""
    rng = np.random.default_rng(0)
    gold = level + spread * rng.normal(size=50)
    said = 0.1 + 1e-4 * rng.normal(size=50)
    expected = stats.pearsonr(said, gold)[0]
    assert metric("pearson", 0)(said, gold) == pytest.approx(expected, abs=1e-7)
    assert metric("pearson", 0)(np.stack([said, np.full(50, 0.1)]), gold) == pytest.approx([expected, 0], abs=1e-7)


def test_constant_classes_are_chance_without_warnings():
    gold = np.arange(30) % 3
    weights = np.random.default_rng(0).multinomial(30, np.full(30, 1 / 30), size=200) / 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measure = metric("matthews", 3)
        assert (measure.value(weights @ measure.moments(np.full(30, 2), gold)) == 0).all()
        assert (measure.value(weights @ measure.moments(gold, np.full(30, 2))) == 0).all()
        assert metric("f1", 2)(np.zeros(4), np.zeros(4)) == 0


@pytest.mark.parametrize("name", ["accuracy", "f1", "macro_f1", "matthews", "pearson"])
def test_arms_are_measured_at_once(name):
    rng = np.random.default_rng(1)
    gold, arms = rng.integers(0, 2, 50), rng.integers(0, 2, (4, 3, 50))
    at_once = metric(name, 2)(arms, gold)
    assert at_once.shape == (4, 3)
    assert at_once[2, 1] == pytest.approx(float(metric(name, 2)(arms[2, 1], gold)))


@pytest.mark.parametrize("name", ["accuracy", "matthews", "pearson"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_outputs_that_are_no_numbers_are_refused(name, bad):
    with pytest.raises(UserError, match="1 of 3 outputs are NaN or infinite"):
        metric(name, 2)(np.array([0.0, bad, 1.0]), np.array([0, 1, 1]))
    with pytest.raises(UserError, match="diverged"):
        spearman(np.array([0.0, bad, 1.0]), np.array([0, 1, 1]))


def test_moments_of_two_models_may_be_mixed_example_by_example():
    """The permutation test swaps predictions of two models: Pearson's moments must share their units, which are each
    model's own mean and deviation."""
    rng = np.random.default_rng(2)
    gold = rng.normal(size=20)
    one, other = gold + rng.normal(size=20), 5 + 3 * rng.normal(size=20)
    swap = rng.integers(0, 2, 20).astype(bool)
    pearson = metric("pearson", 0)
    mixed = np.where(swap[:, None], pearson.moments(one, gold), pearson.moments(other, gold))
    expected = stats.pearsonr(np.where(swap, stats.zscore(one), stats.zscore(other)), gold)[0]
    assert pearson.value(mixed.mean(0)) == pytest.approx(expected)


def test_an_identical_arm_has_no_effect():
    rng = np.random.default_rng(3)
    gold, said = rng.normal(size=30), rng.normal(size=30)
    pearson = metric("pearson", 0)
    moments = pearson.moments(said, gold)
    effects = paired_effects(pearson.value, moments, moments[None], repeats=50, permutations=99)
    assert np.abs([effects.effect, effects.low, effects.high]).max() < 1e-12 and effects.p == 1
