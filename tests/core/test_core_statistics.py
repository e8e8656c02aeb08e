"""Intervals and tests against scipy, exact enumeration, and data with known answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from bertscope.core.intervals import bootstrap_interval
from bertscope.core.null_panel import most
from bertscope.core.statistics import _swaps, holm, mcnemar_p, paired_effects, paired_p_of_nothing, sign_flip_p
from bertscope.data.metrics import metric


def mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def hits(generator, n, rate):
    return (generator.random(n) < rate).astype(float)[:, None]


def test_interval_equals_scipys_percentile_bootstrap():
    sample = hits(np.random.default_rng(1), 300, 0.7)
    ours = bootstrap_interval(mean, sample, repeats=20_000)
    theirs = stats.bootstrap((sample[:, 0],), np.mean, n_resamples=20_000, method="percentile", rng=2)
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)
    assert bootstrap_interval(mean, sample, seed=3) == bootstrap_interval(mean, sample, seed=3)


def test_paired_interval_equals_scipys():
    generator = np.random.default_rng(4)
    reference = hits(generator, 250, 0.8)
    arm = np.where(generator.random((250, 1)) < 0.15, 1 - reference, reference)
    ours = paired_effects(mean, reference, arm[None], repeats=20_000, permutations=99)
    theirs = stats.bootstrap(
        (arm[:, 0], reference[:, 0]), lambda a, b, axis: a.mean(axis) - b.mean(axis),
        n_resamples=20_000, method="percentile", paired=True, vectorized=True, rng=5,
    )  # fmt: skip
    assert ours.effect[0] == pytest.approx((arm - reference).mean())
    assert (ours.low[0], ours.high[0]) == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)


def test_permutation_equals_mcnemars_exact_test():
    reference = np.repeat([1.0, 1.0, 0.0, 0.0], [60, 14, 4, 22])[:, None]
    arm = np.repeat([1.0, 0.0, 1.0, 0.0], [60, 14, 4, 22])[:, None]
    ours = paired_effects(mean, reference, arm[None], repeats=100, permutations=40_000)
    assert ours.p[0] == pytest.approx(mcnemar([[60, 14], [4, 22]], exact=True).pvalue, abs=0.004)


def test_permutation_of_a_correlation_equals_all_swaps():
    """For a metric that isn't a mean: against every one of the 2^9 swaps of the two models' predictions."""
    generator = np.random.default_rng(6)
    gold = generator.normal(size=9)
    one, other = gold + generator.normal(size=9), generator.normal(size=9)

    def moments(p):
        return np.stack([p, gold, p * p, gold * gold, p * gold], -1)

    def pearson(m):
        return (m[..., 4] - m[..., 0] * m[..., 1]) / np.sqrt(
            (m[..., 2] - m[..., 0] ** 2) * (m[..., 3] - m[..., 1] ** 2)
        )

    ours = paired_effects(pearson, moments(one), moments(other)[None], repeats=100, permutations=40_000)
    observed = stats.pearsonr(other, gold)[0] - stats.pearsonr(one, gold)[0]
    assert ours.effect[0] == pytest.approx(observed)
    extreme = 0
    for swap in itertools.product([False, True], repeat=9):
        a, b = np.where(swap, other, one), np.where(swap, one, other)
        extreme += abs(stats.pearsonr(b, gold)[0] - stats.pearsonr(a, gold)[0]) >= abs(observed) - 1e-9
    assert ours.p[0] == pytest.approx(extreme / 2**9, abs=0.01)


def correlated(generator, n, strength):
    """Gold, and predictions of two models that correlate so with it, and with each other beyond that."""
    gold, shared = generator.normal(size=(2, n))
    noise = 0.8 * shared + 0.6 * generator.normal(size=(2, n))
    return gold, strength * gold + np.sqrt(1 - strength**2) * noise


def test_a_correlations_test_does_not_see_units_and_equals_all_swaps():
    """Pearson's r is the same in any unit: so must be the p-value of a model whose predictions are shifted and
    stretched. Against every one of the 2^11 swaps of standardised predictions."""
    pearson = metric("pearson", 0)
    gold, (one, other) = correlated(np.random.default_rng(12), 11, 0.6)
    arms = np.stack([other, 7 + 3 * other, other - 40])
    found = paired_effects(
        pearson.value, pearson.moments(one, gold), pearson.moments(arms, gold), repeats=100, permutations=40_000
    )
    assert found.p[1:] == pytest.approx(found.p[0], abs=1e-12) and found.low[1:] == pytest.approx(found.low[0])
    swaps = np.array(list(itertools.product([False, True], repeat=11)))
    one, other = stats.zscore(one), stats.zscore(other)

    def r(mixed):
        return np.array([stats.pearsonr(row, gold)[0] for row in mixed])

    apart = r(np.where(swaps, one, other)) - r(np.where(swaps, other, one))
    assert found.effect[0] == pytest.approx(apart[0])
    assert found.p[0] == pytest.approx((np.abs(apart) >= abs(apart[0]) - 1e-9).mean(), abs=0.01)


def test_a_correlations_p_values_are_uniform_where_two_models_differ_in_unit_only():
    """As a layer that is off shifts all scores: equally good, in other units. Swapped as they are, the shift would
    drown every difference, and no p-value would be small."""
    pearson, generator, found = metric("pearson", 0), np.random.default_rng(13), []
    for _ in range(300):
        gold, (one, other) = correlated(generator, 120, 0.7)
        arm = pearson.moments(5 + 2 * other, gold)[None]
        found.append(
            paired_effects(pearson.value, pearson.moments(one, gold), arm, repeats=100, permutations=199).p[0]
        )
    assert stats.kstest(found, "uniform").pvalue > 0.01 and np.mean(np.array(found) < 0.05) < 0.09


def test_many_arms_at_once_equal_one_at_a_time():
    generator = np.random.default_rng(7)
    reference, arms = hits(generator, 120, 0.7), np.stack([hits(generator, 120, rate) for rate in (0.7, 0.5, 0.9)])
    together = paired_effects(mean, reference, arms, repeats=500, permutations=499)
    for place in range(3):
        alone = paired_effects(mean, reference, arms[place : place + 1], repeats=500, permutations=499)
        for name in ("effect", "low", "high", "p"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name)[0])


def test_no_effect_is_no_effect():
    reference = hits(np.random.default_rng(8), 200, 0.6)
    same = paired_effects(mean, reference, reference[None], repeats=200, permutations=199)
    assert same.effect[0] == same.low[0] == same.high[0] == 0 and same.p[0] == 1


def test_p_values_of_the_null_are_uniform():
    generator = np.random.default_rng(9)
    reference = generator.normal(size=(100, 1))
    arms = np.stack([generator.normal(size=(100, 1)) for _ in range(300)])
    found = paired_effects(mean, reference * 0, arms, repeats=100, permutations=999)
    assert stats.kstest(found.p, "uniform").pvalue > 0.01


def test_intervals_cover_the_truth():
    generator = np.random.default_rng(10)
    covered = 0
    for seed in range(200):
        low, high = bootstrap_interval(mean, hits(generator, 200, 0.7), repeats=400, seed=seed)
        covered += low <= 0.7 <= high
    assert 180 <= covered <= 199


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])


def test_chunks_do_not_show(monkeypatch):
    sample = hits(np.random.default_rng(11), 50, 0.5)
    whole = bootstrap_interval(mean, sample, repeats=300)
    monkeypatch.setattr("bertscope.core.resampling._CELLS", 50 * 7)
    assert bootstrap_interval(mean, sample, repeats=300) == pytest.approx(whole, abs=1e-12)


def test_mcnemars_p_of_many_arms_equals_the_exact_sign_flips():
    generator = np.random.default_rng(8)
    differences = generator.integers(-1, 2, size=(40, 30)) * (generator.random((40, 1)) < np.linspace(0, 1, 30))
    ours = mcnemar_p(differences.sum(1), np.abs(differences).sum(1))
    np.testing.assert_allclose(ours, [sign_flip_p(each) for each in differences], rtol=1e-9)


def test_where_nothing_is_to_be_found_draws_are_tested_as_data_is():
    """Each draw's p equals what the exchanged data themselves give, and they are spread evenly."""
    generator = np.random.default_rng(9)
    reference, arms = generator.normal(size=(40, 1)), generator.exponential(size=(5, 40, 1)) + 2
    p = paired_p_of_nothing(mean, reference, arms, draws=400, permutations=999)
    swap = np.concatenate(list(_swaps(40, 400, 2)))[7].astype(bool)[:, None]  # the coins of the eighth draw
    for arm, found in zip(arms, p[7], strict=True):
        one, other = np.where(swap, arm, reference), np.where(swap, reference, arm)
        assert found == pytest.approx(paired_effects(mean, one, other[None], repeats=100).p[0], abs=0.04)
    assert stats.kstest(p[:, 0], "uniform").pvalue > 0.01
    assert (holm(p) < 0.05).any(1).sum() <= most(400)


def test_a_test_with_too_few_exchanges_finds_something_in_nothing(monkeypatch):
    """The panel can fail: permutations that leave most examples where they are make anything look extreme."""
    generator = np.random.default_rng(10)
    reference, arms = generator.normal(size=(60, 1)), generator.normal(size=(12, 60, 1))
    sound = paired_p_of_nothing(mean, reference, arms, draws=200, permutations=999)
    assert (holm(sound) < 0.05).any(1).sum() <= most(200)

    def timid(n, repeats, seed):
        share = 0.5 if repeats == 200 else 0.1  # the draws are exchanged as they ought to be
        yield (np.random.default_rng(seed).random((repeats, n)) < share).astype(float)

    monkeypatch.setattr("bertscope.core.statistics._swaps", timid)
    broken = paired_p_of_nothing(mean, reference, arms, draws=200, permutations=999)
    assert (holm(broken) < 0.05).any(1).sum() > most(200)
