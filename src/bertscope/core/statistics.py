"""Tests: paired permutations for any metric and any number of arms at once, exact sign flips, Student's t, one among
others; and the corrections of Holm and of Benjamini and Hochberg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bertscope.core.intervals import percentile_ends
from bertscope.core.resampling import Value, chunks, resamples

_ROUNDING = 1e-12  # what is as extreme may come out so much smaller


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

    A value may be several numbers at once, such as every label's recall: each has its own effect, [arms, numbers].
    """
    sides = _Sides(value, reference, arms)
    effect = sides.resampled(np.ones((1, sides.n)))[0]
    draws = np.concatenate([sides.resampled(counts) for counts in resamples(sides.n, repeats, seed)])
    low, high = percentile_ends(draws)
    return Effects(effect, low, high, sides.p(effect, permutations, seed))


def paired_p(
    value: Value, reference: np.ndarray, arms: np.ndarray, *, permutations: int = 9999, seed: int = 0
) -> np.ndarray:
    """The p-values of `paired_effects` alone."""
    sides = _Sides(value, reference, arms)
    return sides.p(sides.resampled(np.ones((1, sides.n)))[0], permutations, seed)


def paired_p_of_nothing(
    value: Value, reference: np.ndarray, arms: np.ndarray, *, draws: int, permutations: int = 9999, seed: int = 0
) -> np.ndarray:
    """The p-values [draws, arms] that `paired_effects` gives where there is nothing to be found: in each draw the
    reference and the arms are exchanged example by example at random (the same examples for all arms, so that arms
    stay as alike as they are), and tested anew.

    Exchanging changes nothing about what permutations of the two sides can give, so one set of them serves all draws.
    """
    sides = _Sides(value, reference, arms)
    drawn, permuted = (
        np.abs(np.concatenate([sides.exchanged(swap) for swap in _swaps(sides.n, count, own)]))
        for count, own in ((draws, seed + 2), (permutations, seed + 1))
    )
    # The share of permutations that are as extreme, the draw itself among them: all are put in order together.
    order = np.argsort(np.concatenate([drawn - _ROUNDING, permuted]), axis=0, kind="stable")
    smaller = np.cumsum(order >= draws, axis=0)  # how many permutations stand at or before each place
    place = np.argsort(order, axis=0, kind="stable")[:draws]
    return (permutations - np.take_along_axis(smaller, place, axis=0) + 1) / (permutations + 1)


class _Sides:
    """The reference [n, k] and the arms [arms, n, k], side by side on the same examples."""

    def __init__(self, value: Value, reference: np.ndarray, arms: np.ndarray) -> None:
        self._value, self.n = value, len(reference)
        columns = np.concatenate([reference[None], arms]).transpose(1, 0, 2)  # [n, 1 + arms, k]
        self._flat, self._shape = columns.reshape(self.n, -1), columns.shape[1:]
        total = self._flat.mean(0).reshape(self._shape)
        self._arms = total[1:]
        self._both = total[:1] + total[1:]  # what the two sides of a swap always add up to: [arms, k]
        self._apart = (columns[:, 1:] - columns[:, :1]).reshape(self.n, -1)

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """Each arm's difference from the reference [r, arms], with each example so often [r, n]."""
        metrics = self._value((counts @ self._flat / self.n).reshape(len(counts), *self._shape))
        return metrics[:, 1:] - metrics[:, :1]

    def exchanged(self, swap: np.ndarray) -> np.ndarray:
        """The same [r, arms] with these examples [r, n] on the other side."""
        kept = self._arms - ((swap @ self._apart) / self.n).reshape(len(swap), *self._both.shape)
        return self._value(kept) - self._value(self._both - kept)

    def p(self, effect: np.ndarray, permutations: int, seed: int) -> np.ndarray:
        """Of these differences, by permutation."""
        as_extreme = np.ones(effect.shape)
        for swap in _swaps(self.n, permutations, seed + 1):
            as_extreme += (np.abs(self.exchanged(swap)) >= np.abs(effect) - _ROUNDING).sum(0)
        return as_extreme / (permutations + 1)


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's correction: the p-values to compare with the level when all of `p` [..., tests] were tested together."""
    order = np.argsort(p, axis=-1)
    steps = np.take_along_axis(p, order, -1) * np.arange(p.shape[-1], 0, -1)
    corrected = np.empty_like(steps)
    np.put_along_axis(corrected, order, np.maximum.accumulate(steps, axis=-1).clip(max=1.0), -1)
    return corrected


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg's correction: the p-values to compare with the share of findings that may be false, when
    all of `p` [..., tests] were tested together and none speaks against another."""
    order, tests = np.argsort(p, axis=-1), p.shape[-1]
    steps = np.take_along_axis(p, order, -1) * tests / np.arange(1, tests + 1)
    corrected = np.empty_like(steps)
    least = np.minimum.accumulate(steps[..., ::-1], axis=-1)[..., ::-1]
    np.put_along_axis(corrected, order, least.clip(max=1.0), -1)
    return corrected


def holm_within(p: np.ndarray, families: np.ndarray) -> np.ndarray:
    """Holm's correction within each family: `families` [tests] says which each of `p` [..., tests] is of."""
    corrected = np.empty_like(p)
    for family in dict.fromkeys(families):
        corrected[..., families == family] = holm(p[..., families == family])
    return corrected


def one_more_p(value: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether a value [...] could be one more of `others` [..., n], two-sided: Student's, for normal ones.

    Ranks would need no normality, but of n others the lowest p is 1 / (1 + n), and no correction for several tests
    could ever be passed. Where the others are all alike, p is 1 for what is like them and 0 for what isn't.
    """
    from scipy.stats import t

    n = others.shape[-1]
    apart = np.abs(value - others.mean(-1))
    spread = others.std(-1, ddof=1) * np.sqrt(1 + 1 / n)
    away = np.divide(apart, spread, out=np.where(apart > _ROUNDING, np.inf, 0.0), where=spread > _ROUNDING)
    return 2 * t.sf(away, n - 1)


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


def mcnemar_p(more: np.ndarray, differing: np.ndarray) -> np.ndarray:
    """`sign_flip_p` of many arms at once, where differences are of 1: `more` is each arm's sum of them, `differing`
    how many there are."""
    from scipy.stats import binom

    return np.minimum(2 * binom.cdf((differing - np.abs(more)) / 2, differing, 0.5), 1.0)


def t_test(sums: np.ndarray, squares: np.ndarray, n: int | np.ndarray) -> np.ndarray:
    """Two-sided p-values by Student's t of n independent differences, from their sums and the sums of their squares:
    whatever signs they get, the squares stay. NaN where n is under 2."""
    from scipy.special import stdtr

    enough, n = np.asarray(n) > 1, np.maximum(n, 2)
    spread = np.maximum(squares - sums**2 / n, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(sums) / np.sqrt(spread * n / (n - 1))
    return np.where(enough, np.where((sums == 0) & (spread == 0), 1.0, 2 * stdtr(n - 1, -t)), np.nan)


def _swaps(n: int, repeats: int, seed: int) -> Iterator[np.ndarray]:
    """Which examples change sides, [some, n]."""
    generator = np.random.default_rng(seed)
    for size in chunks(n, repeats):
        yield generator.integers(0, 2, size=(size, n)).astype(float)
