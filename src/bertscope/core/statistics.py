"""Paired bootstrap and paired permutation test, for any metric and any number of arms at once.

A metric here is a function of the means of a few per-example quantities ("moments": for accuracy, whether the
example is right; for Pearson's r, p, y, pp, yy, py). A resample is then a row of weights, and resampling every arm
on the same examples is one matrix product: what scipy's functions, which take one statistic at a time, can't share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Value = Callable[[np.ndarray], np.ndarray]
"""From means of moments [..., k] to the metric [...]."""

_LEVEL = 0.95
ENDS = ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)
"""The quantiles that every interval lies between."""
_CELLS = 2**24  # weights held at a time: 128 MiB


@dataclass(frozen=True)
class Effects:
    """The difference of each arm from the reference on the same examples, one entry per arm."""

    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray


def bootstrap_interval(
    value: Value, moments: np.ndarray, *, repeats: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of a metric over examples. `moments` is [n, k]."""
    n = len(moments)
    draws = np.concatenate([value(counts @ moments / n) for counts in _resamples(n, repeats, seed)])
    low, high = np.nanquantile(draws, ENDS)
    return float(low), float(high)


def metric_draws(value: Value, arms: np.ndarray, *, repeats: int = 2000, seed: int = 0) -> np.ndarray:
    """Each arm's metric in the sample itself and then in each resample, [1 + repeats, arms]; `arms` is [arms, n, k].

    All arms are resampled alike: any difference of columns is a paired one.
    """
    n = arms.shape[1]
    flat = arms.transpose(1, 0, 2).reshape(n, -1)

    def metrics(counts: np.ndarray) -> np.ndarray:
        return value((counts @ flat / n).reshape(len(counts), len(arms), -1))

    return np.concatenate([metrics(np.ones((1, n))), *map(metrics, _resamples(n, repeats, seed))])


def seed_draws(value: Value, arms: np.ndarray, *, repeats: int = 2000, seed: int = 0) -> np.ndarray:
    """Each arm's metric, averaged over its training runs, [1 + repeats, arms]; `arms` is [arms, run, n, k].

    A two-level bootstrap: runs are drawn, then examples. Every run was scored on the same examples, so one draw of
    examples serves all of a resample's runs, and all arms are resampled alike: run i of each has the same seed, and
    any difference of columns is a paired one.
    """
    n_arms, runs, n, k = arms.shape
    each = metric_draws(value, arms.reshape(n_arms * runs, n, k), repeats=repeats, seed=seed)
    return over_runs(each.reshape(-1, n_arms, runs), seed=seed)


def over_runs(each: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """The second level: from each run's metric in the sample itself and in each resample of examples,
    [1 + repeats, arms, run], to each arm's mean over runs that are drawn too, alike for all arms."""
    runs = each.shape[-1]
    drawn = np.random.default_rng([seed, 1]).multinomial(runs, np.full(runs, 1 / runs), size=len(each) - 1)
    counts = np.concatenate([np.ones((1, runs)), drawn])
    return (each * counts[:, None]).sum(-1) / runs


def rank_draws(arms: np.ndarray, gold: np.ndarray, *, repeats: int = 2000, seed: int = 0) -> np.ndarray:
    """Spearman's correlation of each arm's answers [arms, n] with gold [n], in the sample itself and in each
    resample, [1 + repeats, arms]. Ranks are those within the resample. Constant answers give 0."""
    n = len(gold)
    columns = [np.unique(values, return_inverse=True) for values in (gold, *arms)]
    order = [(np.argsort(inverse, kind="stable"), inverse) for _, inverse in columns]

    def spearman(counts: np.ndarray) -> np.ndarray:
        centred = [_ranks(counts, *one) - (n + 1) / 2 for one in order]  # the mean of n ranks, however often drawn
        spread = [np.sqrt((counts * ranks**2).sum(1)) for ranks in centred]
        together = [(counts * centred[0] * ranks).sum(1) for ranks in centred[1:]]
        scale = np.stack([spread[0] * one for one in spread[1:]], 1)
        return np.divide(np.stack(together, 1), scale, out=np.zeros_like(scale), where=scale > 0)

    return np.concatenate([spearman(np.ones((1, n))), *map(spearman, _resamples(n, repeats, seed))])


def _ranks(counts: np.ndarray, order: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The rank of each example in samples that hold it so often [r, n]; equal values share the mean of their ranks.
    `group` [n] numbers the values from the lowest, `order` sorts it."""
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    together = np.add.reduceat(counts[:, order], starts, axis=1)
    return (np.cumsum(together, 1) - together + (together + 1) / 2)[:, group]


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
    draws = np.concatenate([differences(counts) for counts in _resamples(n, repeats, seed)])
    low, high = np.nanquantile(draws, ENDS, axis=0)

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
    from scipy.stats import binom

    sizes, counts = np.unique(np.abs(differences[differences != 0]).astype(int), return_counts=True)
    chance = np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chance = np.convolve(chance, steps)
    reach = len(chance) // 2
    as_extreme = np.abs(np.arange(-reach, reach + 1)) >= abs(int(differences.sum()))
    return min(1.0, float(chance[as_extreme].sum()))


class ClusteredDifference:
    """Means of differences between paired things that come in clusters (word pairs in sentences), in one pass."""

    def __init__(self) -> None:
        self._moments: dict[str, np.ndarray | float] = dict.fromkeys(("n", "nn", "groups", "d", "dd", "dn"), 0.0)

    def add(self, sums: np.ndarray, sizes: np.ndarray, kind: np.ndarray) -> None:
        """Take in clusters: `sums` [cluster, ...] of `sizes` [cluster] differences each; `kind` [cluster, kinds] is a
        one-hot of what each cluster is about."""
        flat = sums.reshape(len(sums), int(np.prod(sums.shape[1:])))  # there may be no cluster at all
        one = {"n": sizes, "nn": sizes**2, "groups": sizes > 0, "d": flat, "dd": flat**2, "dn": flat * sizes[:, None]}
        for name, values in one.items():
            total = kind.T @ values
            self._moments[name] += total.reshape(-1, *sums.shape[1:]) if values.ndim > 1 else total

    @property
    def size(self) -> np.ndarray:
        """[kinds]: how many differences the means are over."""
        return np.asarray(self._moments["n"])

    def test(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean difference, [kinds, ...], and its two-sided p-value: a t-test in which clusters are independent.

        Both are NaN where nothing was compared, the p-value also where there is only one cluster.
        """
        from scipy.stats import t

        d, dd, dn = (np.asarray(self._moments[name]) for name in ("d", "dd", "dn"))
        n, nn, groups = (
            np.asarray(self._moments[name]).reshape(-1, *[1] * (d.ndim - 1)) for name in ("n", "nn", "groups")
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = d / n
            residual = np.maximum(dd - 2 * mean * dn + mean**2 * nn, 0)
            error = np.sqrt(residual * groups / (groups - 1)) / n
            p = 2 * t.sf(np.abs(mean) / error, groups - 1)
        return mean, np.where((error == 0) & (mean == 0), 1.0, p)


def _resamples(n: int, repeats: int, seed: int) -> Iterator[np.ndarray]:
    """How often each example is drawn, [some, n]: whole numbers, so that sums of hits stay exact."""
    generator = np.random.default_rng(seed)
    for size in _chunks(n, repeats):
        yield generator.multinomial(n, np.full(n, 1 / n), size=size).astype(float)


def _swaps(n: int, repeats: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    for size in _chunks(n, repeats):
        yield generator.integers(0, 2, size=(size, n)).astype(float)


def _chunks(n: int, repeats: int) -> Iterator[int]:
    step = max(1, _CELLS // n)
    for start in range(0, repeats, step):
        yield min(step, repeats - start)
