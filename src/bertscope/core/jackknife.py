"""Intervals by leaving groups out, for what is a mean over pairs of things.

A bootstrap draws some words more than once, and a word is perfectly similar to itself: similarities come out too
high. Leaving a group out repeats nothing. Groups are runs of neighbouring texts, often about the same thing: what
varies from text to text, and from one part of a corpus to the next, is in the interval.

`draws` are a statistic of the whole sample and then of the sample without each group, [1 + groups, ...]: those of a
mean or a difference of statistics are the mean or the difference of their draws.
"""

from __future__ import annotations

import numpy as np

from bertscope.core.statistics import ENDS


def runs(owner: np.ndarray, groups: int) -> np.ndarray:
    """Where runs of about equally many items begin, and the end, [1 + at most `groups`]. `owner` says whose each item
    is; an owner's items, which stand one after the other, stay together."""
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    middles = (firsts + np.append(firsts[1:], len(owner))) / 2
    group = (groups * middles / len(owner)).astype(int)
    return np.append(firsts[np.flatnonzero(np.diff(group, prepend=-1))], len(owner))


def left_out(sums: np.ndarray) -> np.ndarray:
    """From each group's sums [group, ...] to those of all groups and then of all but each, [1 + groups, ...]."""
    whole = sums.sum(0)
    return np.concatenate([whole[None], whole - sums])


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


def interval_over_runs(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over training runs give or take so many standard errors; `draws` is [run, 1 + groups, ...].

    All runs are measured on the same texts. The error of the mean that comes from the texts and the one that comes
    from the runs are added in squares; what varies with both counts twice. Of one run, the texts' is all there is.
    """
    runs, groups = len(draws), draws.shape[1] - 1
    mean, fewest = draws.mean(0), groups
    error = jackknife_error(mean)
    if runs > 1:
        error, fewest = np.hypot(error, draws[:, 0].std(0, ddof=1) / np.sqrt(runs)), min(groups, runs)
    either = reach(fewest) * error
    return mean[0] - either, mean[0] + either


def reach(groups: int | np.ndarray) -> float | np.ndarray:
    """How many standard errors an interval reaches to either side, the error being known from so many groups."""
    from scipy.stats import t

    return t.ppf(ENDS[1], np.maximum(groups - 1, 1))
