"""Dependency trees as arrays: how deep each word is, and how far apart two are.

A tree is its governors: for each word the number of its governor, `ROOT` for the one that has none. Many trees at
once (`all_depths`, `all_distances`) cost far less than one after the other: those of one length share every step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT

Governors = Sequence[int] | np.ndarray

_AT_ONCE = 1 << 20
"""Pairs of words worked on together: enough to be quick, few enough to stay in the cache."""


def depths(governors: Governors) -> np.ndarray:
    """How many steps each word is from the root: int64 [n]; the root has 0."""
    return all_depths([governors])[0]


def distances(governors: Governors) -> np.ndarray:
    """How many steps there are between every two words: int64 [n, n]."""
    return all_distances([governors])[0]


def all_depths(trees: Sequence[Governors]) -> list[np.ndarray]:
    """The depths of each tree's words."""
    return _of_each(trees, _depths)


def all_distances(trees: Sequence[Governors]) -> list[np.ndarray]:
    """The distances in each tree."""
    return _of_each(trees, _distances)


def check_tree(governors: Governors) -> str | None:
    """What keeps governors from being one tree, in words that a message can end with; None if nothing does. Words are
    counted from 1 in it, as treebanks do."""
    given = np.asarray(governors)
    count = len(given)
    if count == 0:
        return "it has no words"
    outside = np.flatnonzero((given < ROOT) | (given >= count))
    if len(outside):
        return f"the head of word {outside[0] + 1} is {given[outside[0]] + 1}, but the words are 1 to {count}"
    roots = np.flatnonzero(given == ROOT)
    if len(roots) > 1:
        return f"words {roots[0] + 1} and {roots[1] + 1} are both roots"
    looping = np.flatnonzero(_looping(_with_top(given[None]))[0])
    if len(looping):
        return f"word {looping[0] + 1} hangs on a cycle" + ("" if len(roots) else ", and no word is the root")
    return None


def _of_each(trees: Sequence[Governors], measure: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
    found: list[np.ndarray] = [np.empty(0)] * len(trees)
    for rows, up in _of_one_length(trees):
        for row, value in zip(rows, measure(up), strict=True):
            found[row] = value
    return found


def _of_one_length(trees: Sequence[Governors]) -> Iterator[tuple[list[int], np.ndarray]]:
    """Rows of trees with as many words, and their governors as `_with_top` gives them; whatever is no tree is
    refused."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for row, governors in enumerate(trees):
        by_length[len(governors)].append(row)
    for count, alike in by_length.items():
        step = max(1, _AT_ONCE // (count + 1) ** 2)
        for start in range(0, len(alike), step):
            rows = alike[start : start + step]
            governors = np.array([trees[row] for row in rows]).reshape(len(rows), count)
            inside = ((governors >= ROOT) & (governors < count)).all()
            if not inside or ((governors == ROOT).sum(axis=1) != 1).any() or _looping(_with_top(governors)).any():
                row, wrong = next((row, wrong) for row in rows if (wrong := check_tree(trees[row])))
                which = f"tree {row + 1} of {len(trees)} is none" if len(trees) > 1 else "these governors are no tree"
                raise UserError(f"{which}: {wrong}")
            yield rows, _with_top(governors)


def _with_top(governors: np.ndarray) -> np.ndarray:
    """Heads [B, n] of n + 1 words: above the root is word n, and above that itself. All are numbered through, tree
    after tree."""
    trees, count = governors.shape
    up = np.full((trees, count + 1), count)
    up[:, :-1] = np.where(governors == ROOT, count, governors)
    return up + (count + 1) * np.arange(trees)[:, None]


def _looping(up: np.ndarray) -> np.ndarray:
    """Whether words [B, n] never come to the top."""
    at = up
    for _ in range(up.shape[1].bit_length()):  # each round doubles the steps
        at = at.ravel()[at]
    return (at != up[:, -1:])[:, :-1]


def _depths(up: np.ndarray) -> np.ndarray:
    steps = (up != up[:, -1:]).astype(np.int64)
    while (up != up[:, -1:]).any():  # each round looks twice as far up
        steps += steps.ravel()[up]
        up = up.ravel()[up]
    return steps[:, :-1]


def _distances(up: np.ndarray) -> np.ndarray:
    """Two words share their lowest common ancestor and all that is above it. So the number of ancestors they share
    gives its depth, and what their own depths exceed it by is the way from one up to it and down to the other."""
    trees, count = up.shape[0], up.shape[1] - 1
    top = up[:, -1:]
    # Whether word j is word i or above it. Products of float32 are quick, and exact up to 2^24 words.
    above = np.zeros((up.size, count + 1), dtype=np.float32)
    words = np.arange(up.size)
    at = words.reshape(up.shape)
    while (at != top).any():
        above[words, (at - top + count).ravel()] = 1
        at = up.ravel()[at]
    above = above.reshape(trees, count + 1, count + 1)[:, :-1, :-1]
    shared = above @ above.transpose(0, 2, 1)
    own = np.diagonal(shared, axis1=1, axis2=2)
    return (own[:, :, None] + own[:, None, :] - 2 * shared).astype(np.int64)
