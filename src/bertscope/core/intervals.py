"""From draws or standard errors to the ends of 95% intervals. What draws are, `core/resampling.py` says."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from bertscope.core.number import Number
from bertscope.core.resampling import Value, metric_draws, resamples

_LEVEL = 0.95
ENDS = ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)
"""The quantiles that every interval lies between."""
ENOUGH_RUNS = 5
"""Training runs from which an interval over them is given."""
ALIKE = 1e-12
"""Runs that differ by no more than this differ by rounding: they don't say how unlike another one would be."""
_NORMAL = 1.959963984540054  # standard errors from the middle of a normal distribution to the ends of 95% of it


def percentile_ends(draws: np.ndarray, ends: tuple[float, float] = ENDS) -> tuple[np.ndarray, np.ndarray]:
    """Between what most of some draws [repeats, ...] lie; the sample itself isn't among them, NaN doesn't count."""
    quantile = np.nanquantile if np.isnan(draws).any() else np.quantile  # the latter is faster by far
    low, high = quantile(draws, ends, axis=0)
    return low, high


def interval(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval of draws [1 + repeats, ...], the first of which is the sample itself."""
    missing = np.isnan(draws[0])
    low, high = percentile_ends(np.where(missing, 0.0, draws[1:]))  # where the sample itself has nothing
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def part_of_whole(part: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A part's share of a whole and the ends of its interval, of draws of both [1 + repeats, ...]: a ratio of means,
    resampled together. NaN where the whole's own interval holds 0: there is nothing to have a share of."""
    low, high = interval(whole)
    nothing = (low <= 0) & (high >= 0) | np.isnan(low)
    with np.errstate(divide="ignore", invalid="ignore"):  # resamples in which there is no whole: far out, or nowhere
        shares = part / np.where(nothing, np.nan, whole)
    return shares[0], *interval(shares)


def drawn_number(key: str, draws: np.ndarray, n: int, unit: str, **of: str) -> Number:
    """The headline number whose draws these are, [1 + repeats]."""
    low, high = interval(draws)
    return Number(key, float(draws[0]), float(low), float(high), n, unit, of=of, draws=draws)


def mean_number(key: str, values: np.ndarray, unit: str, **of: str) -> Number:
    """The mean of a value of each example [n], as a headline number."""
    draws = metric_draws(lambda means: means[..., 0], values[None, :, None])[:, 0]
    draws[0] = values.mean()  # to the last digit
    return drawn_number(key, draws, len(values), unit, **of)


def bootstrap_interval(
    value: Value, moments: np.ndarray, *, repeats: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of a metric over examples. `moments` is [n, k]."""
    n = len(moments)
    draws = np.concatenate([value(counts @ moments / n) for counts in resamples(n, repeats, seed)])
    low, high = percentile_ends(draws)
    return float(low), float(high)


def few_runs(runs: int) -> bool:
    """Whether there is more than one training run, but not enough of them for an interval."""
    return 1 < runs < ENOUGH_RUNS


def jackknife_error(draws: np.ndarray, having: np.ndarray | None = None) -> np.ndarray:
    """The standard error of a statistic; NaN where there is only one group.

    Groups count alike, whatever their size: what makes one large is mostly a long text, whose words are alike, and
    weights by size (Busing et al. 1999) would take it for so many words.

    having   bool [groups, ...]: which groups have something of what is measured; leaving out another tells nothing
    """
    counted = np.ones(draws[1:].shape, dtype=bool) if having is None else having
    groups = counted.sum(0)
    enough = groups > 1
    variance = np.var(draws[1:], axis=0, where=counted | ~enough)  # of some group in any case
    return np.sqrt(np.where(enough, (groups - 1) * variance, np.nan))


def jackknife_interval(
    draws: np.ndarray, *, least: float = -np.inf, most: float = np.inf, having: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The statistic give or take so many standard errors, but never beyond `least` and `most`."""
    groups = len(draws) - 1 if having is None else having.sum(0)
    either = reach(groups) * jackknife_error(draws, having)
    return np.maximum(draws[0] - either, least), np.minimum(draws[0] + either, most)


def jackknife_resamples(draws: np.ndarray, *, repeats: int = 1000, seed: int = 0) -> np.ndarray:
    """From a statistic [1 + groups], without each group in turn, to draws [1 + repeats] as resamples would give them:
    around its value, by Student's t with the jackknife's standard error. Whatever was left out of alike varies
    alike: what covaries from group to group does so from draw to draw. Nothing varies where there is one group."""
    groups = len(draws) - 1
    generator = np.random.default_rng(seed)
    by_group = generator.standard_normal((repeats, groups))
    heavier = np.sqrt(np.maximum(groups - 1, 1) / generator.chisquare(max(groups - 1, 1), repeats))
    apart = (draws[1:] - draws[1:].mean()) * np.sqrt((groups - 1) / groups)
    return np.append(draws[0], draws[0] + heavier * (by_group @ apart))


def jackknife_interval_of_difference(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The difference of two independent samples, of draws [1 + groups, ...] each: their errors add up in squares."""
    difference = one[0] - other[0]
    either = reach(min(len(one), len(other)) - 1) * np.hypot(jackknife_error(one), jackknife_error(other))
    return difference - either, difference + either


def reach(groups: int | np.ndarray) -> float | np.ndarray:
    """How many standard errors an interval reaches to either side, the error being known from so many groups."""
    from scipy.stats import t

    return t.ppf(ENDS[1], np.maximum(groups - 1, 1))


def share_by_chance(groups: int) -> float:
    """What a variance that is estimated from so many normal values falls short of in one case of forty, as a share
    of the true one."""
    from scipy.stats import chi2

    return float(chi2.ppf(ENDS[0], groups - 1) / (groups - 1))


def student_interval(mean: float, spread: float, n: int) -> tuple[float, float]:
    """The interval of a mean of n values, whose standard deviation is known from them."""
    either = float(reach(n)) * spread / n**0.5
    return mean - either, mean + either


def normal_interval(mean: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of means whose standard errors are known."""
    return mean - _NORMAL * error, mean + _NORMAL * error


def share_interval(share: np.ndarray, n: int | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of shares of n examples (Wilson's): of none it reaches above 0, where a bootstrap's can't."""
    middle, of_n = share + _NORMAL**2 / (2 * n), 1 + _NORMAL**2 / n
    either = _NORMAL * np.sqrt(share * (1 - share) / n + (_NORMAL / (2 * n)) ** 2)
    # It holds the share itself: rounding would leave 3e-18 as the low end of 0.
    return np.clip((middle - either) / of_n, 0.0, share), np.clip((middle + either) / of_n, share, 1.0)


def unless_alike(
    share: np.ndarray, ends: tuple[np.ndarray, np.ndarray], n: int | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of intervals of shares of n examples, but `share_interval`'s where they are points: of examples that
    are all right, or all wrong, no resample says otherwise."""
    low, high = ends
    alike, (least, most) = low == high, share_interval(share, n)
    return np.where(alike, least, low), np.where(alike, most, high)


def wider_for_all(intervals: int) -> float:
    """How many times as wide so many intervals must be for all of them to hold at once (Bonferroni, on the normal
    scale)."""
    normal, tail = NormalDist(), ENDS[0]
    return normal.inv_cdf(1 - tail / intervals) / normal.inv_cdf(1 - tail)


def difference_reach(one: np.ndarray, other: np.ndarray) -> float:
    """How far the interval of the difference of two samples' means reaches to either side (Welch's)."""
    errors = [each.var(ddof=1) / len(each) for each in (one, other)]
    if not sum(errors):
        return 0.0
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(each) - 1) for error, each in zip(errors, (one, other), strict=True)
    )
    return float(reach(np.asarray(freedom + 1))) * sum(errors) ** 0.5


def interval_from_one_more(draws: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """The interval of a difference from the mean of `others` [n], of draws over examples [1 + repeats], as from one
    more such: other examples would change it, and so would another draw of what it is compared with. One that is
    drawn like the others differs from them by more than examples explain, and an interval over examples alone would
    leave out 0. Each source reaches as far as it would alone (the draws by Student's t), and both add up in squares.
    """
    n = len(others)
    by_examples = _NORMAL * float(draws[1:].std())
    by_draw = float(reach(n)) * float(others.std(ddof=1)) * (1 + 1 / n) ** 0.5
    either = float(np.hypot(by_examples, by_draw))
    return float(draws[0] - either), float(draws[0] + either)


def most_by_chance(trials: int, rate: float, sure: float) -> int:
    """How often something that happens at a rate happens at most in so many trials, with that probability."""
    from scipy.stats import binom

    return int(binom.ppf(sure, trials, rate))


def most_expected(seen: Any, parts: int = 1) -> Any:
    """How many of something are to be expected at most where so many were seen (the exact limit of Poisson's
    distribution): 3.7 behind none, 5.6 behind one. Of so many parts all their limits hold at once (Bonferroni)."""
    from scipy.special import gammaincinv

    return gammaincinv(seen + 1, 1 - ENDS[0] / parts)


def least_expected(seen: float, parts: int = 1) -> float:
    """How many are to be expected at least, likewise: 0 where none was seen, 1.6 where 5 were."""
    from scipy.special import gammaincinv

    return float(gammaincinv(seen, ENDS[0] / parts)) if seen else 0.0


def median_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The median and the interval that its ranks give, which holds for any distribution (the sign test's)."""
    from scipy.stats import binom

    rank = int(binom.ppf(ENDS[0], len(values), 0.5))
    if not rank:
        raise ValueError(f"{len(values)} values are too few for an interval")
    ordered = np.sort(values)
    return float(np.median(values)), float(ordered[rank - 1]), float(ordered[-rank])
