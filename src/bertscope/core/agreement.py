"""How much yes-or-no votes of several raters agree: which parts survived, in training after training.

Votes are booleans [rater, item].
"""

from __future__ import annotations

import numpy as np


def fleiss_kappa(votes: np.ndarray) -> float:
    """Fleiss' kappa: 1 if all raters agree on every item, 0 if as often as by chance. NaN if every vote is the same,
    or there is one rater only."""
    raters = len(votes)
    if raters < 2:
        return float("nan")
    yes = votes.sum(0, dtype=np.int64)
    agree = (yes * (yes - 1) + (raters - yes) * (raters - yes - 1)) / (raters * (raters - 1))
    share = yes.mean() / raters
    chance = share**2 + (1 - share) ** 2
    return float((agree.mean() - chance) / (1 - chance)) if chance < 1 else float("nan")


def cochran_q(votes: np.ndarray) -> tuple[float, float]:
    """Cochran's Q and its p-value: do some raters say yes more often than others, item for item?

    The null is that every rater has the same chance of a yes. NaN where no item divides the raters.
    """
    from scipy.stats import chi2

    raters = len(votes)
    per_rater, per_item = votes.sum(1, dtype=np.int64), votes.sum(0, dtype=np.int64)
    divided = float((per_item * (raters - per_item)).sum())
    if not divided:
        return float("nan"), float("nan")
    q = raters * (raters - 1) * float(((per_rater - per_rater.mean()) ** 2).sum()) / divided
    return q, float(chi2.sf(q, raters - 1))


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """What two sets share, of what either has. Two empty sets are the same set."""
    either = int((one | other).sum())
    return int((one & other).sum()) / either if either else 1.0


def chance_jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """About what two random sets of these sizes would have: expected intersection over expected union."""
    shared = int(one.sum()) * int(other.sum()) / one.size
    either = int(one.sum()) + int(other.sum()) - shared
    return shared / either if either else 1.0
