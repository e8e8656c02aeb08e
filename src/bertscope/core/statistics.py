"""Tests: paired permutations for any metric and any number of arms at once, exact sign flips, Student's t; and
Holm's correction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bertscope.core.intervals import percentile_ends
from bertscope.core.resampling import Value, chunks, resamples


@dataclass(frozen=True)
class Effects:
    """The difference of each arm from the reference on the same examples, one entry per arm."""

    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray


def paired_effects(
    value: Value,
    reference: np.ndarray,
    arms: np.ndarray,
    *,
    repeats: int = 2000,
    permutations: int = 9999,
    seed: int = 0,
) -> Effects:
    """How much each arm's metric differs from the reference's. `reference` is [n, k], `arms` is [arms, n, k].

    The interval is a paired bootstrap over examples. The p-value is a paired permutation test: under the null the
    two models' predictions for an example are exchangeable, so they are swapped at random. A metric that doesn't see
    the predictions' scale must make its moments of standardised ones: exchangeable they are only in one unit.
    """
    n = len(reference)
    columns = np.concatenate([reference[None], arms]).transpose(1, 0, 2)  # [n, 1 + arms, k]
    flat = columns.reshape(n, -1)

    def differences(counts: np.ndarray) -> np.ndarray:  # [r, n] -> [r, arms]
        metrics = value((counts @ flat / n).reshape(len(counts), *columns.shape[1:]))
        return metrics[:, 1:] - metrics[:, :1]

    effect = differences(np.ones((1, n)))[0]
    draws = np.concatenate([differences(counts) for counts in resamples(n, repeats, seed)])
    low, high = percentile_ends(draws)

    total = flat.mean(0).reshape(columns.shape[1:])  # [1 + arms, k]
    both = total[:1] + total[1:]  # what the two sides of a swap always add up to: [arms, k]
    apart = (columns[:, 1:] - columns[:, :1]).reshape(n, -1)
    as_extreme = np.ones(len(arms))
    for swap in _swaps(n, permutations, seed + 1):
        kept = total[1:] - ((swap @ apart) / n).reshape(len(swap), *both.shape)  # arm with swapped examples
        shuffled = value(kept) - value(both - kept)
        as_extreme += (np.abs(shuffled) >= np.abs(effect) - 1e-12).sum(0)
    return Effects(effect, low, high, as_extreme / (permutations + 1))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's correction: the p-values to compare with the level when all of `p` were tested together."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    corrected = np.empty_like(stepped)
    corrected[order] = stepped
    return corrected


def sign_flip_p(differences: np.ndarray) -> float:
    """The exact paired permutation test of whole numbers, such as how many more hits each sentence had: two-sided.

    Under the null each difference is as likely to have the other sign. The sum's distribution over all signs is the
    convolution of a binomial for each size of difference; with differences of 1 only, this is McNemar's exact test.
    """
    return float(sign_flip_ps(differences, np.array([differences.sum()]))[0])


def sign_flip_ps(differences: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The same for other sums that the differences have with other signs."""
    from scipy.stats import binom

    sizes, counts = np.unique(np.abs(differences[differences != 0]).astype(int), return_counts=True)
    chance = np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chance = np.convolve(chance, steps)
    middle = len(chance) // 2
    beyond = np.cumsum(chance[::-1])[::-1]  # as far to the right, or further
    far = np.abs(sums).astype(int)
    return np.where(far == 0, 1.0, 2 * beyond[middle + far]).clip(max=1.0)


def t_test(sums: np.ndarray, squares: np.ndarray, n: int) -> np.ndarray:
    """Two-sided p-values by Student's t of n independent differences, from their sums and the sums of their squares:
    whatever signs they get, the squares stay. NaN where n is under 2."""
    from scipy.special import stdtr

    if n < 2:
        return np.full(np.broadcast_shapes(np.shape(sums), np.shape(squares)), np.nan)
    spread = np.maximum(squares - sums**2 / n, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(sums) / np.sqrt(spread * n / (n - 1))
    return np.where((sums == 0) & (spread == 0), 1.0, 2 * stdtr(n - 1, -t))


def _swaps(n: int, repeats: int, seed: int) -> Iterator[np.ndarray]:
    """Which examples change sides, [some, n]."""
    generator = np.random.default_rng(seed)
    for size in chunks(n, repeats):
        yield generator.integers(0, 2, size=(size, n)).astype(float)
