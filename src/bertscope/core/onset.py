"""The first place of a line from which on it stays where it is to be: a layer, a number of parts, a checkpoint.

How sure that is, resamples shared by all places say. The first place of each resample would say it wrongly: a line
that is just inside leaves by chance now and then, so the places of resamples come too late. So it is asked of each
place whether it is certainly outside, or certainly inside. The first place lies behind the last one that is certainly
outside, where all of them are asked at once (the largest deviation of a resample decides), and at the latest where
from there on all are certainly inside, each for itself: a statement about all of them at once is no more often wrong
than that about the one that is outside.

Of a quantity along a series of checkpoints it is the onset: the first checkpoint from which on it stays within a
tenth of its final change (last minus first) of its last value. That is told only where the change is certain: its
interval leaves out 0. Where one end is a constant (a divergence of a model from itself) that can't be asked: any two
models that aren't equal differ from it. There the onset describes how large a change came about when, and isn't told
whether there was one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENDS, percentile_ends, reach

WITHIN = 0.1
"""How much of the final change may be missing, or too much."""
_ROUNDING = 1e-9
"""Of the final change: what lies on the band's edge is inside."""


@dataclass(frozen=True)
class Onset:
    """Places are counted from 0: it came to be there between the place before and this one."""

    place: int
    earliest: int
    """The ends of the 95% interval of the place."""
    latest: int

    def among(self, places: np.ndarray) -> Estimate:
        """What the places are called, with the interval."""
        return Estimate.of(*(float(places[at]) for at in (self.place, self.earliest, self.latest)))


def final_change(draws: np.ndarray, n: int | None = None) -> Estimate:
    """The last minus the first of a line's draws [1 + repeats, checkpoint], with its interval. Of few examples (`n`)
    it is as much wider as Student's t is than the normal distribution; of a single one there is none."""
    change = draws[:, -1] - draws[:, 0]
    if n == 1:
        return Estimate(float(change[0]))
    tail = ENDS[0]
    if n is not None:
        tail = NormalDist().cdf(-float(reach(n)) * sqrt(n / (n - 1)))
    low, high = percentile_ends(change[1:][~np.isnan(change[1:])], (tail, 1 - tail))
    return Estimate(float(change[0]), float(low), float(high))


def is_certain(change: Estimate) -> bool:
    """Whether its interval leaves out 0."""
    return change.low is not None and change.high is not None and (change.low > 0 or change.high < 0)


def onset(draws: np.ndarray, n: int | None = None, *, tested: bool = True) -> Onset | None:
    """Of a line's draws [1 + repeats, checkpoint], the first of which is the sample itself; None where it isn't known
    everywhere, or didn't change: if that is `tested`, where it didn't certainly change."""
    if np.isnan(draws[0]).any():
        return None
    draws = draws[~np.isnan(draws).any(1)]
    change = final_change(draws, n)
    if len(draws) < 2 or not (is_certain(change) if tested else change.value):
        return None
    ahead = np.sign(change.value) * (draws[:, -1:] - draws)  # what is still to go
    near = WITHIN * np.sign(change.value) * (draws[:, -1:] - draws[:, :1])
    beyond = np.stack([ahead - near, -ahead - near])
    # The first checkpoint is a whole change away from the last.
    return stays_from(beyond, rounding=_ROUNDING * abs(change.value), first=1)


def stays_from(
    beyond: np.ndarray, *, rounding: float = 0.0, first: int = 0, surely: np.ndarray | None = None
) -> Onset:
    """Where a line stays inside for good: `beyond` [side, 1 + repeats, place], the sample first, is above 0 outside,
    on one of its sides. The last place is inside, and none before `first` is told. Resamples are too sure where few
    answers differ: a place counts as certainly inside only where `surely` [place] says so, too."""
    inside = np.all(beyond[:, 0] <= rounding, axis=0)
    place = max(first, _stays(inside))
    outside, within = _certainly_outside(beyond), _certainly_inside(beyond)
    if surely is not None:
        within &= surely
    behind = int(np.flatnonzero(outside)[-1]) + 1 if outside.any() else 0
    return Onset(
        place,
        earliest=max(first, min(place, behind)),
        latest=min(len(inside) - 1, max(place, _stays(within))),
    )


def _stays(inside: np.ndarray) -> int:
    """The first place from which on all are inside; one more than there are where the last isn't."""
    return len(inside) - int(np.cumprod(inside[::-1]).sum())


def _deviations(beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors [side, place], and how many of them each resample is above the sample [side, repeats, place];
    0 of what doesn't vary."""
    error = beyond[:, 1:].std(1)
    apart = beyond[:, 1:] - beyond[:, :1]
    return error, np.divide(apart, error[:, None], out=np.zeros_like(apart), where=error[:, None] > 0)


def _certainly_outside(beyond: np.ndarray) -> np.ndarray:
    """[place]: on one side for certain, where all places and sides are asked at once."""
    error, deviations = _deviations(beyond)
    _, most = percentile_ends(deviations.max((0, 2)))
    return (beyond[:, 0] - most * error > 0).any(0)


def _certainly_inside(beyond: np.ndarray) -> np.ndarray:
    """[place]: on neither side for certain, each for itself."""
    error, deviations = _deviations(beyond)
    least, _ = percentile_ends(deviations.swapaxes(0, 1))
    return (beyond[:, 0] - least * error <= 0).all(0)
