"""Draws (`core/resampling.py`) of Spearman's correlation: ranks are those within each sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bertscope.core.resampling import group_bounds, left_out, resamples


def rank_draws(arms: np.ndarray, gold: np.ndarray, *, repeats: int = 2000, seed: int = 0) -> np.ndarray:
    """Spearman's correlation of each arm's answers [arms, n] with gold [n], in the sample itself and in each
    resample, [1 + repeats, arms]. Ranks are those within the resample. Constant answers give 0."""
    n, spearman = len(gold), _spearman(arms, gold)
    return np.concatenate([spearman(np.ones((1, n))), *map(spearman, resamples(n, repeats, seed))])


def rank_left_out(arms: np.ndarray, gold: np.ndarray, *, groups: int) -> np.ndarray:
    """The same, in the sample itself and without each group of neighbours, [1 + at most `groups`, arms]."""
    sizes = np.diff(group_bounds(np.arange(len(gold)), groups))
    members = np.eye(len(sizes)).repeat(sizes, axis=1)  # [group, n]
    return _spearman(arms, gold)(left_out(members))


def _spearman(arms: np.ndarray, gold: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """From how often samples hold each example [r, n] to each arm's correlation in them [r, arms]."""
    columns = [np.unique(values, return_inverse=True) for values in (gold, *arms)]
    order = [(np.argsort(inverse, kind="stable"), inverse) for _, inverse in columns]

    def spearman(counts: np.ndarray) -> np.ndarray:
        middle = (counts.sum(1, keepdims=True) + 1) / 2  # the mean of the ranks, however often each is drawn
        centred = [_ranks(counts, *one) - middle for one in order]
        spread = [np.sqrt((counts * ranks**2).sum(1)) for ranks in centred]
        together = [(counts * centred[0] * ranks).sum(1) for ranks in centred[1:]]
        scale = np.stack([spread[0] * one for one in spread[1:]], 1)
        return np.divide(np.stack(together, 1), scale, out=np.zeros_like(scale), where=scale > 0)

    return spearman


def _ranks(counts: np.ndarray, order: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The rank of each example in samples that hold it so often [r, n]; equal values share the mean of their ranks.
    `group` [n] numbers the values from the lowest, `order` sorts it."""
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    together = np.add.reduceat(counts[:, order], starts, axis=1)
    return (np.cumsum(together, 1) - together + (together + 1) / 2)[:, group]
