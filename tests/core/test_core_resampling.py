"""The streaming bootstrap: against the ordinary one, in any order, and for ratios."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.hashing import hashed, hashed_texts, mixed, to_unit
from bertscope.core.intervals import bootstrap_interval, interval
from bertscope.core.resampling import Resampling, RunningMean, resampled_means, resamples

N = 400


@pytest.fixture
def values():
    return np.random.default_rng(0).gamma(2.0, size=(N, 3))


def run(values, order, size, counts=None, **how):
    ids = [f"row:{i}" for i in range(len(values))]
    mean = RunningMean(Resampling([ids[i] for i in order], **how))
    for start in range(0, len(order), size):
        at = np.arange(start, min(start + size, len(order)))
        mean.add(at, values[order][at], None if counts is None else counts[order][at])
    return mean


def test_value_is_the_mean_and_the_interval_is_the_ordinary_bootstraps(values):
    mean = run(values, np.arange(N), 32, repeats=4000)
    np.testing.assert_allclose(mean.value, values.mean(0), rtol=1e-12)
    low, high = interval(mean.draws)
    for k in range(3):
        one, other = bootstrap_interval(lambda means: means[..., 0], values[:, k : k + 1], repeats=4000)
        width = other - one
        assert abs(low[k] - one) < 0.06 * width and abs(high[k] - other) < 0.06 * width


def test_values_that_are_all_at_hand_are_resampled_in_one_go():
    values = np.random.default_rng(0).gamma(2.0, size=(1100, 3))  # more than are resampled at a time
    resampling = Resampling([f"row:{i}" for i in range(1100)], repeats=100)
    np.testing.assert_allclose(
        resampled_means(resampling, values), run(values, np.arange(1100), 7, repeats=100).draws
    )


def test_neither_batches_nor_order_matter(values):
    once = run(values, np.arange(N), N).draws
    again = run(values, np.random.default_rng(1).permutation(N), 7).draws
    np.testing.assert_allclose(once, again, rtol=1e-12)


def test_seeds_differ_and_differences_are_paired(values):
    assert not np.allclose(run(values, np.arange(N), 50).draws[1:], run(values, np.arange(N), 50, seed=1).draws[1:])
    shifted = run(values + 1.0, np.arange(N), 50).draws - run(values, np.arange(N), 50).draws
    np.testing.assert_allclose(shifted, 1.0, rtol=1e-9)  # a constant difference has no uncertainty


def test_examples_that_count_for_nothing_are_left_out(values):
    counts = (np.arange(N)[:, None] % np.array([1, 2, 10**6]) == 0).astype(float)
    counts[:, 2] = 0
    mean = run(values * counts, np.arange(N), 64, counts=counts)
    np.testing.assert_allclose(mean.value[:2], [values[:, 0].mean(), values[::2, 1].mean()], rtol=1e-12)
    assert np.isnan(mean.value[2]) and np.isnan(interval(mean.draws)[0][2])
    assert mean.count.tolist() == [N, N / 2, 0]


def test_counts_that_are_kept_for_the_next_are_those_drawn_in_parts():
    (kept,), (again,) = resamples(20, 300, 7), resamples(20, 300, 7)
    parts = list(resamples(20, 300, 7, cells=2**17))
    assert len(parts) > 1 and (np.concatenate(parts) == kept).all() and again is kept
    assert (kept.sum(1) == 20).all() and not (kept == next(resamples(20, 300, 8))).all()
    with pytest.raises(ValueError, match="read-only"):
        kept += 1


def test_weights_are_poisson():
    weights = Resampling([str(i) for i in range(500)], repeats=1000).weights(np.arange(500))
    assert (weights[0] == 1).all()
    drawn = weights[1:]
    assert drawn.mean() == pytest.approx(1, abs=0.01) and drawn.var() == pytest.approx(1, abs=0.02)
    assert np.mean(drawn == 0) == pytest.approx(np.exp(-1), abs=0.005)
    assert np.abs(np.corrcoef(drawn[:, :40].T) - np.eye(40)).max() < 0.15  # examples are independent


def test_hashes_spread_evenly():
    units = to_unit(mixed(hashed(["a"], 0), np.arange(100_000, dtype=np.uint64)))
    counts = np.histogram(units, bins=50, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 100  # chi-squared with 49 degrees: 1 in 40,000


def test_examples_that_share_an_id_are_drawn_apart(values):
    mean = RunningMean(Resampling(["same"] * N, repeats=1000))
    mean.add(np.arange(N), values)
    low, high = interval(mean.draws)
    one, other = interval(run(values, np.arange(N), 50).draws)
    np.testing.assert_allclose(high - low, other - one, rtol=0.15)


def test_equal_texts_fall_on_one_side():
    texts = ["one", "two", "one", "three", "two"]
    numbers = hashed_texts(texts, 3)
    assert numbers[0] == numbers[2] and numbers[1] == numbers[4]
    assert len(set(numbers.tolist())) == 3
    assert hashed(["one", "one"], 3)[0] != hashed(["one", "one"], 3)[1]  # examples that share an id are two examples
    many = to_unit(hashed_texts([str(number) for number in range(20_000)], 0))
    assert abs((many < 0.3).mean() - 0.3) < 0.015


def test_the_sample_itself_is_no_resample():
    """Of values that lie far from all resamples the interval knows nothing."""
    low, high = interval(np.array([[100.0], [1.0], [2.0], [3.0]]))
    assert low == pytest.approx(1 + 2 * 0.025) and high == pytest.approx(1 + 2 * 0.975)
