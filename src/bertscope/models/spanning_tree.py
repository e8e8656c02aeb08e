"""The best dependency tree for scores of arcs: Chu and Liu's and Edmonds' maximum spanning arborescence, one root.

Scores are [word, governor]: governor 0 is above the root, governor k + 1 is word k. A tree has one word under 0.
"""

from __future__ import annotations

import numpy as np


def best_trees(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The governors [row, word] of the best tree for each row's first `counts` words; what is behind them is 0.

    If every word's best governor makes a tree, no tree is better: the search is only for rows where they don't.
    """
    words = np.arange(scores.shape[1])
    inside = words < counts[:, None]
    reachable = np.arange(scores.shape[2]) <= counts[:, None]
    governors = np.where(reachable[:, None], scores, -np.inf).argmax(-1) * inside
    roots = (inside & (governors == 0)).sum(1)
    up = np.pad(governors, ((0, 0), (1, 0)))
    for _ in range(up.shape[1].bit_length()):  # each round doubles the steps
        up = np.take_along_axis(up, up, axis=1)
    for row in np.flatnonzero((roots != 1) | (up != 0).any(1)):
        count = counts[row]
        if count:
            governors[row, :count] = arborescence(scores[row, :count, : count + 1])
    return governors


def arborescence(scores: np.ndarray) -> np.ndarray:
    """The governors [word] of the tree whose arcs' scores [word, 1 + word] add up to most. Arcs from a word to itself
    don't count; others may be -inf as long as some tree is left."""
    count = len(scores)
    weights = np.full((count + 1, count + 1), -np.inf)
    weights[1:] = scores
    np.fill_diagonal(weights, -np.inf)
    known = weights[np.isfinite(weights)]
    # One root: each arc from above costs more than all other arcs could make up for.
    weights[1:, 0] -= 1 + count * (known.max() - known.min())
    return _best(weights)[1:]


def _best(weights: np.ndarray) -> np.ndarray:
    """The governors [node] of the best arborescence from node 0; weights are [node, governor]."""
    governors = weights.argmax(1)
    governors[0] = 0
    cycle = _cycle(governors)
    if cycle is None:
        return governors
    # The cycle becomes one node, the last. An arc into it takes the place of the cycle's own arc to the same word.
    rest = np.setdiff1d(np.arange(len(governors)), cycle)
    gains = weights[np.ix_(cycle, rest)] - weights[cycle, governors[cycle]][:, None]
    leaving = weights[np.ix_(rest, cycle)]
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = weights[np.ix_(rest, rest)]
    smaller[:-1, -1] = leaving.max(1)
    smaller[-1, :-1] = gains.max(0)
    found = _best(smaller)
    from_cycle = found[:-1] == len(rest)
    governors[rest] = np.where(from_cycle, cycle[leaving.argmax(1)], rest[np.where(from_cycle, 0, found[:-1])])
    entered = cycle[gains[:, found[-1]].argmax()]
    governors[entered] = rest[found[-1]]
    governors[0] = 0
    return governors


def _cycle(governors: np.ndarray) -> np.ndarray | None:
    """The nodes of a cycle that doesn't have node 0 in it, if there is one."""
    up = governors
    for _ in range(len(governors).bit_length()):
        up = up[up]
    if not up.any():
        return None
    nodes = [int(up[up != 0][0])]
    while (above := int(governors[nodes[-1]])) != nodes[0]:
        nodes.append(above)
    return np.array(nodes)
