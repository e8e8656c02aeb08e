"""Dependency trees as arrays: how deep each word is, and how far apart two are.

A tree is its heads: for each word the number of its head, `ROOT` for the one that has none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT

Heads = Sequence[int] | np.ndarray


def depths(heads: Heads) -> np.ndarray:
    """How many steps each word is from the root: int64 [n]; the root has 0."""
    up = _checked(heads)
    steps = (up != len(heads)).astype(np.int64)
    while (up != len(heads)).any():  # each round looks twice as far up
        steps += steps[up]
        up = up[up]
    return steps[:-1]


def distances(heads: Heads) -> np.ndarray:
    """How many steps there are between every two words: int64 [n, n].

    Two words share their lowest common ancestor and all that is above it. So the number of ancestors they share gives
    its depth, and what the depths of the two exceed it by is the way from one up to it and down to the other.
    """
    up, count = _checked(heads), len(heads)
    words = np.arange(count + 1)
    # Whether word j is word i or above it. Products of float32 are quick, and exact up to 2^24 words.
    above = np.zeros((count + 1, count + 1), dtype=np.float32)
    at = words
    while (at != count).any():
        above[words, at] = 1
        at = up[at]
    above = above[:-1, :-1]
    shared = above @ above.T
    own = shared.diagonal()
    return (own[:, None] + own - 2 * shared).astype(np.int64)


def check_tree(heads: Heads) -> str | None:
    """What keeps heads from being one tree, in words that a message can end with; None if nothing does. Words are
    counted from 1 in it, as treebanks do."""
    given = np.asarray(heads)
    count = len(given)
    if count == 0:
        return "it has no words"
    outside = np.flatnonzero((given < ROOT) | (given >= count))
    if len(outside):
        return f"the head of word {outside[0] + 1} is {given[outside[0]] + 1}, but the words are 1 to {count}"
    roots = np.flatnonzero(given == ROOT)
    if len(roots) > 1:
        return f"words {roots[0] + 1} and {roots[1] + 1} are both roots"
    up = _with_top(given)
    for _ in range(count.bit_length()):
        up = up[up]
    looping = np.flatnonzero(up != count)
    if len(looping):
        return f"word {looping[0] + 1} hangs on a cycle" + ("" if len(roots) else ", and no word is the root")
    return None


def _checked(heads: Heads) -> np.ndarray:
    wrong = check_tree(heads)
    if wrong:
        raise UserError(f"these heads are no tree: {wrong}")
    return _with_top(np.asarray(heads))


def _with_top(heads: np.ndarray) -> np.ndarray:
    """The heads of n + 1 words: above the root is word n, and above that itself."""
    count = len(heads)
    return np.append(np.where(heads == ROOT, count, heads), count)
