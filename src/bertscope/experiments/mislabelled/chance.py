"""How many exchanged labels whoever knows nothing of them finds."""

from __future__ import annotations

import numpy as np

LEVEL = 0.05
"""How likely as many finds may be by chance where labels are doubted at all."""


def by_chance(found: int, doubted: np.ndarray, flipped: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """How many exchanged labels would be found if as many rows of each label were drawn at random as are doubted, and
    how likely as many as here are then: exact, a sum of hypergeometric numbers.

    Within labels, since a rare label is doubted more, and exchanged labels are more often rare than others: whoever
    knew the labels' shares alone would find some.
    """
    from scipy.stats import hypergeom

    expected, chances = 0.0, np.ones(1)
    for one in np.unique(label):
        rows = label == one
        total, wrong, drawn = int(rows.sum()), int((rows & flipped).sum()), int((rows & doubted).sum())
        expected += drawn * wrong / total
        chances = np.convolve(chances, hypergeom.pmf(np.arange(min(wrong, drawn) + 1), total, wrong, drawn))
    return expected, float(min(1.0, chances[found:].sum()))
