"""When a quantity got to where it ended: its onset along a series of checkpoints.

The onset is the first checkpoint from which on the quantity stays within a tenth of its final change (last minus
first) of its last value. It is told only where that change is certain: its interval leaves out 0. Where one end is a
constant (a divergence of a model from itself) that can't be asked: any two models that aren't equal differ from it.
There the onset describes how large a change came about when, and isn't told whether there was one.

How sure that is, resamples shared by all checkpoints say. The onset of each resample would say it wrongly: a line
that lies still leaves its band by chance now and then, so the onsets of resamples come too late. So it is asked of
each checkpoint whether it is certainly outside the band, or certainly inside. The onset lies behind the last one that
is certainly outside, where all of them are asked at once (the largest deviation of a resample decides), and at the
latest where from there on all are certainly inside, each for itself: a statement about all of them at once is no more
often wrong than that about the one that is outside.
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
    """Places are those of checkpoints, from 0: it came to be there between the place before and this one."""

    place: int
    earliest: int
    """The ends of the 95% interval of the place."""
    latest: int


def final_change(draws: np.ndarray, n: int | None = None) -> Estimate:
    """The last minus the first of a line's draws [1 + repeats, checkpoint], with its interval. Of few examples (`n`)
    it is as much wider as Student's t is than the normal distribution."""
    change = draws[:, -1] - draws[:, 0]
    tail = ENDS[0]
    if n is not None and n > 1:
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
    beyond = np.stack([ahead - near, -ahead - near])  # [side, 1 + repeats, checkpoint]: above 0 outside of the band
    inside = np.all(beyond[:, 0] <= _ROUNDING * abs(change.value), axis=0)
    place = max(1, _stays(inside))  # the first is a whole change away from the last
    outside, within = _certainly_outside(beyond), _certainly_inside(beyond)
    return Onset(
        place,
        earliest=max(1, min(place, int(np.max(np.flatnonzero(outside), initial=0)) + 1)),
        latest=min(len(inside) - 1, max(place, _stays(within))),
    )


def _stays(inside: np.ndarray) -> int:
    """The first place from which on all are inside; one more than there are where the last isn't."""
    return len(inside) - int(np.cumprod(inside[::-1]).sum())


def _deviations(beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors [side, checkpoint], and how many of them each resample is above the sample [side, repeats,
    checkpoint]; 0 of what doesn't vary."""
    error = beyond[:, 1:].std(1)
    apart = beyond[:, 1:] - beyond[:, :1]
    return error, np.divide(apart, error[:, None], out=np.zeros_like(apart), where=error[:, None] > 0)


def _certainly_outside(beyond: np.ndarray) -> np.ndarray:
    """[checkpoint]: on one side for certain, where all checkpoints and both sides are asked at once."""
    error, deviations = _deviations(beyond)
    _, most = percentile_ends(deviations.max((0, 2)))
    return (beyond[:, 0] - most * error > 0).any(0)


def _certainly_inside(beyond: np.ndarray) -> np.ndarray:
    """[checkpoint]: on neither side for certain, each for itself."""
    error, deviations = _deviations(beyond)
    least, _ = percentile_ends(deviations.swapaxes(0, 1))
    return (beyond[:, 0] - least * error <= 0).all(0)
