"""Westfall and Young's max-T against a plain loop, against what is planted, and against nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import ttest_ind
from statsmodels.stats.proportion import confint_proportions_2indep

from bertscope.core.max_t import lowest_p_of_nothing, max_t


def slices(n: int, count: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.random((count, n)) < generator.uniform(0.05, 0.5, (count, 1))


def test_against_a_plain_loop() -> None:
    generator = np.random.default_rng(1)
    member, values = slices(60, 7), generator.normal(size=60)
    values[member[2]] += 1.0
    found = max_t(values, csr_array(member), permutations=400, seed=3)
    t = np.array([ttest_ind(values[inside], values[~inside]).statistic for inside in member])
    np.testing.assert_allclose(found.t, t)
    np.testing.assert_allclose(found.difference, [values[one].mean() - values[~one].mean() for one in member])
    orders = np.random.default_rng(3).permuted(np.tile(values, (400, 1)), axis=1)
    each = [ttest_ind(orders[:, one], orders[:, ~one], axis=1).statistic for one in member]
    drawn = np.abs(np.stack(each, 1))
    np.testing.assert_allclose(found.p, (1 + (drawn >= np.abs(t)).sum(0)) / 401)
    ranked, left, most = np.argsort(-np.abs(t)), list(range(7)), 0.0
    for one in ranked:  # step down: the largest of those that are left
        most = max(most, (1 + (drawn[:, left].max(1) >= abs(t[one])).sum()) / 401)
        assert found.p_adjusted[one] == pytest.approx(most)
        left.remove(one)


def test_intervals_are_those_of_others() -> None:
    generator = np.random.default_rng(2)
    member, hits = slices(200, 5), (generator.random(200) < 0.8).astype(float)
    found = max_t(hits, member, permutations=99)
    for at, inside in enumerate(member):
        one, other = hits[inside], hits[~inside]
        low, high = confint_proportions_2indep(
            one.sum(), len(one), other.sum(), len(other), method="newcomb", compare="diff"
        )
        assert (found.low[at], found.high[at]) == pytest.approx((low, high), abs=1e-6)
    losses = generator.exponential(size=200)
    found = max_t(losses, member, permutations=99)
    for at, inside in enumerate(member):
        ends = ttest_ind(losses[inside], losses[~inside], equal_var=False).confidence_interval()
        assert (found.low[at], found.high[at]) == pytest.approx((ends.low, ends.high))


def test_intervals_cover() -> None:
    generator, held = np.random.default_rng(3), np.zeros(2)
    inside = np.arange(120) < 30
    for _ in range(400):
        hits = (generator.random(120) < np.where(inside, 0.9, 0.7)).astype(float)
        losses = generator.exponential(np.where(inside, 1.0, 2.0))
        for at, (values, true) in enumerate(((hits, 0.2), (losses, -1.0))):
            found = max_t(values, inside[None], permutations=1)
            held[at] += found.low[0] <= true <= found.high[0]
    assert (held / 400 > 0.92).all() and (held / 400 < 0.985).all()


@pytest.mark.parametrize("kind", ["hits", "losses"])
def test_nothing_is_found_in_nothing(kind: str) -> None:
    """Overlapping slices, rare mistakes, heavy tails: the family-wise error is at most 5%."""
    generator, found = np.random.default_rng(4), 0
    for seed in range(200):
        member = slices(150, 40, seed)
        values = (
            (generator.random(150) < 0.93).astype(float) if kind == "hits" else generator.exponential(size=150) ** 2
        )
        found += np.nanmin(max_t(values, member, permutations=199, seed=seed).p_adjusted) < 0.05
    assert found <= 18


def test_the_planted_slice_is_found_and_only_it() -> None:
    generator, only = np.random.default_rng(5), 0
    for seed in range(20):
        member = slices(600, 60, seed)
        hits = (generator.random(600) < np.where(member[17], 0.55, 0.92)).astype(float)
        found = max_t(hits, member, permutations=499, seed=seed)
        assert found.p_adjusted[17] < 0.05
        only += (found.p_adjusted < 0.05).sum() == 1
    assert only >= 17


def test_the_panel_of_nothing_is_what_the_test_gives() -> None:
    member, hits = slices(100, 12), (np.random.default_rng(6).random(100) < 0.8).astype(float)
    p = lowest_p_of_nothing(hits, member, draws=200, permutations=499, seed=7)
    assert (p < 0.05).sum() <= 18 and 0.4 < p.mean() < 0.65
    permuted = np.random.default_rng(8).permuted(np.tile(hits, (200, 1)), axis=1)
    plain = [np.nanmin(max_t(row, member, permutations=499, seed=7).p_adjusted) for row in permuted]
    assert abs(np.mean(plain) - p.mean()) < 0.1
    assert np.isnan(lowest_p_of_nothing(hits, np.ones((1, 100)), draws=3)).all()


def test_what_has_no_other_side_or_no_value() -> None:
    values = np.array([1.0, 0.0, np.nan, 1.0, 1.0, 0.0])
    member = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0]])
    found = max_t(values, member, permutations=99)
    assert np.isnan(found.p_adjusted[:3]).all() and np.isnan(found.difference[:3]).all()
    assert found.n.tolist() == [0, 5, 0, 2]
    assert found.inside[3] == 0.5 and found.outside[3] == pytest.approx(2 / 3)
    alike = max_t(np.ones(10), slices(10, 4), permutations=99)
    assert (alike.p == 1).all() and (alike.p_adjusted == 1).all() and (alike.t == 0).all()
    apart = max_t(np.arange(20) < 10, (np.arange(20) < 10)[None], permutations=199)
    assert np.isinf(apart.t[0]) and apart.p_adjusted[0] < 0.05
    assert len(max_t(values, np.zeros((0, 6)), permutations=99).p) == 0
    assert np.isnan(max_t(np.full(6, np.nan), member, permutations=99).p).all()


def test_the_unit_of_the_values_makes_no_difference() -> None:
    """The squared errors of a cosine, or their change from a model to its int8 self, are a millionth or less."""
    member, values = slices(300, 5), np.random.default_rng(9).exponential(size=300)
    member[0] = values > 1.5
    wanted = max_t(values, member, permutations=199)
    assert wanted.p_adjusted[0] == 1 / 200
    for unit in (1e-7, 1e7):
        found = max_t(unit * values, member, permutations=199)
        np.testing.assert_array_equal(found.p_adjusted, wanted.p_adjusted)
        np.testing.assert_allclose(found.t, wanted.t)
    rounded = np.full(300, 1e6) + 0.1
    assert (max_t(rounded, member, permutations=99).p == 1).all(), "a mean of equal values is rounded"
