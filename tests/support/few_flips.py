"""A score of right and wrong texts, of which few turn wrong and none turns right: how often a rule passes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.stats import binom

from bertscope.core.estimate import Estimate
from bertscope.core.statistics import paired_effects


@cache
def lost_in(n: int, lost: int) -> Estimate:
    """The change of a score of 1 by so many of n texts, as the bootstrap has it."""
    changed = np.ones((1, n, 1))
    changed[0, :lost] = 0
    found = paired_effects(lambda means: means[..., 0], np.ones((n, 1)), changed, repeats=1000, permutations=0)
    return Estimate(*(float(each[0]) for each in (found.effect, found.low, found.high)))


def passing(n: int, loss: float, passes: Callable[[int], bool]) -> float:
    """The probability of what passes by how many of n texts are lost, each with this probability."""
    likely = np.arange(binom.ppf(1 - 1e-6, n, loss) + 1).astype(int)
    return float(sum(binom.pmf(lost, n, loss) for lost in likely if passes(int(lost))))
