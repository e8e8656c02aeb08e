"""How much yes-or-no votes of several raters agree: which parts survived, in training after training. And how much
two raters agree who choose between any number of things (`cohen_moments`).

Votes are booleans [rater, item]. What is built of pairs of raters depends only on how many items have how many yes
votes (`by_yes`, [1 + raters]); so it can be had without each rater at little cost.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np

from bertscope.core.intervals import ALIKE, ENOUGH_RUNS, jackknife_error, jackknife_interval

_ROUNDING = 1e-12
_FOUR = 4  # raters: one fewer than an interval needs, so that each can be left out


def fleiss_kappa(votes: np.ndarray) -> float:
    """Fleiss' kappa: 1 if all raters agree on every item, 0 if as often as by chance. NaN if every vote is the same,
    or there is one rater only."""
    return _kappa(_by_yes(votes))


def kept_by_four(votes: np.ndarray) -> float:
    """Of what one rater says yes to, the share that three others say yes to as well, over all sets of four. Unlike
    what all of them say yes to, it doesn't fall as raters are added. NaN if nobody says yes, or there are fewer."""
    return _four(_by_yes(votes))


def chance_kept_by_four(votes: np.ndarray) -> float:
    """The same of independent raters who say yes as often as these do."""
    shares = votes.mean(1)
    if len(shares) < _FOUR or not shares.any():
        return float("nan")
    together = np.poly(-shares)[_FOUR]  # the sum of the products of every four
    return float(together / comb(len(shares), _FOUR) / shares.mean())


def kappa_interval(votes: np.ndarray) -> tuple[float, float]:
    """Of Fleiss' kappa, over raters; the items are all there are."""
    return _over_raters(_kappa, votes, -1.0)


def kept_by_four_interval(votes: np.ndarray) -> tuple[float, float]:
    """Of what is kept by four, over raters; the items are all there are."""
    return _over_raters(_four, votes, 0.0)


def _by_yes(votes: np.ndarray) -> np.ndarray:
    return np.bincount(votes.sum(0, dtype=np.int64), minlength=len(votes) + 1)


def _kappa(by_yes: np.ndarray) -> float:
    raters, yes, items = len(by_yes) - 1, np.arange(len(by_yes)), by_yes.sum()
    share = (by_yes * yes).sum() / (raters * items)
    chance = share**2 + (1 - share) ** 2
    if raters < 2 or chance == 1:
        return float("nan")
    agree = (by_yes * (yes * (yes - 1) + (raters - yes) * (raters - yes - 1))).sum() / (raters * (raters - 1) * items)
    return float((agree - chance) / (1 - chance))


def _four(by_yes: np.ndarray) -> float:
    raters, yes = len(by_yes) - 1, np.arange(len(by_yes))
    said = (by_yes * yes).sum() / raters
    if raters < _FOUR or not said:
        return float("nan")
    every_four = np.array([comb(count, _FOUR) for count in yes.tolist()]) / comb(raters, _FOUR)
    return float((by_yes * every_four).sum() / said)


def _over_raters(statistic: Callable[[np.ndarray], float], votes: np.ndarray, least: float) -> tuple[float, float]:
    """The jackknife's interval, by leaving out each rater in turn; from five on. There is none where leaving out any
    of them makes no difference: raters that are exactly alike don't say how unlike another would be."""
    raters = len(votes)
    if raters < ENOUGH_RUNS:
        return float("nan"), float("nan")
    yes = votes.sum(0, dtype=np.int64)
    without = (np.bincount(yes - vote, minlength=raters) for vote in votes)
    draws = np.array([statistic(_by_yes(votes)), *map(statistic, without)])
    if not jackknife_error(draws) > ALIKE:
        return float("nan"), float("nan")
    low, high = jackknife_interval(draws, least=least, most=1.0)
    return float(low), float(high)


def cohen_moments(one: np.ndarray, other: np.ndarray, example: np.ndarray, n: int) -> np.ndarray:
    """What Cohen's kappa needs of each of n examples, [n, 2 + 2 x categories]: how many choices it holds, how many
    are the same, and how often each side makes each. The choices of the two sides [m] are numbers from 0,
    `example` [m] says which example each is made in."""
    categories = int(max(one.max(initial=0), other.max(initial=0))) + 1
    columns = [np.ones(len(one)), (one == other).astype(np.float64)]
    counts = [np.bincount(example, column, minlength=n)[:, None] for column in columns]
    for side in (one, other):
        flat = np.bincount(example * categories + side, minlength=n * categories)
        counts.append(flat.reshape(n, categories).astype(np.float64))
    return np.concatenate(counts, axis=1)


def cohen_kappa(means: np.ndarray) -> np.ndarray:
    """Cohen's kappa from means of its moments [..., k]: 1 if two raters always agree, 0 if as often as by chance. NaN
    where both always make one and the same choice, or there is none."""
    count, same, *chosen = np.moveaxis(means, -1, 0)
    one, other = np.split(np.stack(chosen), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = (one * other).sum(0) / count**2
        apart = 1 - by_chance
        return np.where(apart > _ROUNDING, (same / count - by_chance) / apart, np.nan)


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
