"""Risk and coverage: how often a model is right where it answers only what it is surest of.

Decisions are answered from the surest to the least sure; what is equally sure is answered in any order, and counts as
the average of all of them. With so many answered, the share that is wrong is the risk. The area under the curve is
the mean of the risk over all numbers of answers: where confidence tells nothing, the share that is wrong of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from bertscope.core.calibration import refuse_none
from bertscope.core.decisions import Decisions
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import interval, unless_alike
from bertscope.core.resampling import resamples

COVERAGE = 0.8
STEPS = 20
_ROUNDING = 1e-9
_HELD = 8  # arrays as large as a resample that stand side by side


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    coverage: np.ndarray
    """[step]: the share that is answered, from a twentieth to all."""
    accuracy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """[step]: the share of it that is right, with its interval over examples (`unless_alike`)."""
    area: Estimate
    """Under the curve of risk over coverage: lower is better."""

    def at(self, coverage: float) -> Estimate:
        """The accuracy with that share answered, one of `coverage`."""
        place = int(np.abs(self.coverage - coverage).argmin())
        return Estimate(float(self.accuracy[place]), float(self.low[place]), float(self.high[place]))


def risk_coverage(decisions: Decisions, *, repeats: int = 1000, seed: int = 0) -> RiskCoverage:
    refuse_none(decisions)
    group = np.unique(-decisions.confidence, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    wrong, owner = (~decisions.right[order]).astype(np.float64), np.unique(decisions.example, return_inverse=True)[1]
    owner, n = owner[order], int(owner.max()) + 1
    coverage, counts = np.arange(1, STEPS + 1) / STEPS, resamples(n, repeats, seed, cells=_HELD * len(order))
    draws = np.concatenate(
        [_curve(one[:, owner], wrong, starts, coverage) for one in chain([np.ones((1, n))], counts)]
    )
    low, high = unless_alike(draws[0], interval(draws), n * np.append(coverage, 1.0))
    area = Estimate(float(draws[0, -1]), float(low[-1]), float(high[-1]))
    return RiskCoverage(coverage, 1 - draws[0, :-1], 1 - high[:-1], 1 - low[:-1], area)


def _curve(counts: np.ndarray, wrong: np.ndarray, starts: np.ndarray, coverage: np.ndarray) -> np.ndarray:
    """The risk at each coverage, and the area, [r, steps + 1], of samples that hold decisions so often [r, m]; the
    decisions stand in order, and those that begin at `starts` are equally sure of themselves up to the next."""
    size = np.add.reduceat(counts, starts, axis=1)  # [r, group]
    missed = np.add.reduceat(counts * wrong, starts, axis=1)
    upto, wrong_upto = np.cumsum(size, 1), np.cumsum(missed, 1)
    before, wrong_before = upto - size, wrong_upto - missed
    rate = np.divide(missed, size, out=np.zeros_like(missed), where=size > 0)
    # Of a group the j-th answer has a risk of (wrong_before + j rate) / (before + j): summed over j in closed form.
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, int(upto.max()) + 1))])
    sums = harmonic[upto.astype(np.int64)] - harmonic[before.astype(np.int64)]
    total = upto[:, -1:]
    area = (missed + (wrong_before - rate * before) * sums).sum(1, keepdims=True) / total
    risks = []
    for share in coverage:
        answered = share * total
        at = (upto >= answered - _ROUNDING).argmax(1)[:, None]
        here = [np.take_along_axis(one, at, 1) for one in (wrong_before, rate, before)]
        risks.append((here[0] + here[1] * (answered - here[2])) / answered)
    return np.concatenate([*risks, area], axis=1)
