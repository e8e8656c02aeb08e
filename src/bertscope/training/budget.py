"""The course of a pre-training: so many steps, or so many minutes, whatever the machine does in them.

It is divided into stretches by shares of the budget. A budget of steps is known from the start. Of one of minutes, it
is told anew before each stretch how many steps there will be: at the last one's pace, in the time that is left when
what is done between stretches (scoring, keeping) is taken off. The stretch gets its share of these; the learning rate
goes by the shares. So it is 0 when the time is up, a stretch whose pace was misjudged is made up for by the next, and
what it takes to get ready doesn't crowd the first checkpoints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertscope.training.course import Stretch, warmed_up
from bertscope.training.mixed_rows import MixedRows

if TYPE_CHECKING:
    from bertscope.training.history import History

POINTS = 20  # of the learning curve, evenly spread; those at which checkpoints are kept are beside them
FIRST_KEPT = 1 / 1000  # share of the budget after which the first of the checkpoints is kept that are spread by log
_TRIED = 8  # steps of the first two stretches of a budget of minutes: one to get ready, one to learn the pace


@dataclass(frozen=True)
class Spent:
    """What a pre-training may spend: steps or minutes."""

    steps: int | None = None
    minutes: float | None = None


class Budget:
    """Rows of a packed text until steps or minutes are spent."""

    def __init__(
        self,
        spent: Spent,
        rows: MixedRows,
        *,
        highest: float,
        warmup: float,
        kept: Sequence[float],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """
        highest   learning rate
        kept      shares of the budget after which a checkpoint is kept
        """
        self.total, self._seconds = spent.steps, 60 * (spent.minutes or 0)
        self._rows, self._highest, self._warmup, self._clock = rows, highest, warmup, clock
        ends = {place / POINTS for place in range(1, POINTS + 1)} | {share for share in kept if share > 0}
        if spent.minutes is not None:  # or the learning rate would rise to its highest in the few steps of a trial
            ends |= {FIRST_KEPT / 2, FIRST_KEPT}
        self.ends = sorted(ends)
        if spent.steps is not None:  # no stretch is without a step
            whole = {max(1, round(share * spent.steps)) for share in self.ends}
            self.ends = [step / spent.steps for step in sorted(whole)]
        self._kept = {self._nearest(share) if share else 0.0 for share in kept}
        self._began: float | None = None
        self._before = (0, 0.0)  # steps, and seconds in them, when the last stretch but one ended
        self._ticks: list[float] = []  # when each step of the first stretch began
        self._reached = 0.0  # the share at which the rate is, where that is ahead of the stretches' own

    @property
    def largest(self) -> tuple[int, int]:
        return self._rows.largest

    def goes_on(self, history: History) -> bool:
        return len(history.epochs) <= len(self.ends)

    def steps_done(self, history: History) -> int:
        return int(history.epochs[-1]["step"]) if history.epochs else 0

    def is_kept(self, number: int) -> bool:
        """Whether a checkpoint is kept after so many stretches."""
        return self._share_at(number) in self._kept

    def stretch(self, number: int, history: History, generator: np.random.Generator) -> Stretch:
        done, began = self.steps_done(history), max(self._share_at(number - 1), self._reached)
        if self.total is None and number == 2:
            self._reached = self._likely_share_of_trial()
        end = max(self._share_at(number), self._reached)
        count = self._steps_until(self._share_at(number), number, history)
        self._before = (done, history.seconds)
        self._done = done + count

        def rate(place: int) -> float:
            """At the middle of the step: neither the first step's nor the last one's is 0."""
            if number == 1:
                self._ticks.append(self._clock())
            return self._highest * warmed_up(began + (end - began) * (place + 0.5) / count, self._warmup)

        return Stretch(done, count, lambda place: [self._rows.rows(done + place)], rate)

    def facts(self, history: History) -> dict[str, float]:
        if not history.epochs:
            return {"step": 0, "seconds": 0.0}
        return {"step": self._done, "seconds": self._elapsed(history)}

    def time_left(self) -> dict[str, str]:
        if not self._seconds or self._began is None:
            return {}
        left = max(0, round(self._seconds - (self._clock() - self._began)))
        return {"left": f"{left // 60}:{left % 60:02}"}

    def _elapsed(self, history: History) -> float:
        """Seconds since the first step, without what a kill lost."""
        now = self._clock()
        if self._began is None:
            self._began = now - history.epochs[-1]["seconds"]
        return now - self._began

    def _likely_share_of_trial(self) -> float:
        """What the second stretch takes of the budget at the pace of the first one's fastest step, which wasn't for
        getting ready; at most the warm-up. Where few steps fit into the time, these mustn't be lost."""
        fastest = np.diff(self._ticks).min(initial=self._seconds) if len(self._ticks) > 1 else 0.0
        return min(self._warmup, _TRIED * float(fastest) / self._seconds)

    def _steps_until(self, share: float, number: int, history: History) -> int:
        elapsed = self._elapsed(history)  # also begins to count, where it is the first stretch of this process
        if self.total is not None:
            return round(share * self.total) - self.steps_done(history)
        if number <= 2:
            return _TRIED
        done = self.steps_done(history)
        # In the first stretch after a kill, the pace of all steps before it.
        steps, seconds = done - self._before[0], history.seconds - self._before[1]
        between = max(0.0, elapsed - history.seconds) / (number - 1) * (len(self.ends) - number + 1)
        left = steps / seconds * (self._seconds - elapsed - between)
        return max(1, round(share * (done + left)) - done) if share < 1 else max(1, round(left))

    def _share_at(self, number: int) -> float:
        return self.ends[number - 1] if number else 0.0

    def _nearest(self, share: float) -> float:
        return min(self.ends, key=lambda end: abs(end - share))


def kept_shares(count: int, spacing: Literal["none", "log", "even"]) -> list[float]:
    """The shares of a budget at which so many checkpoints are kept: before the first step, at the end, and between
    them by equal steps, or by equal factors from a thousandth on.

    >>> kept_shares(3, "even"), kept_shares(0, "log"), [round(share, 4) for share in kept_shares(5, "log")]
    ([0.0, 0.5, 1.0], [], [0.0, 0.001, 0.01, 0.1, 1.0])
    """
    if spacing == "none" or not count:
        return []
    if spacing == "even":
        return [float(share) for share in np.linspace(0, 1, count)]
    return [0.0, *(float(share) for share in np.geomspace(FIRST_KEPT, 1, count - 1))]
