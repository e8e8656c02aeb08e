"""When pruning stops, and where it would have stopped had other rows of the validation set been drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.resampling import metric_draws
from bertscope.core.variance_components import example_values

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task
    from bertscope.experiments.prune.question import PruneConfig

LEVEL = 0.05
"""Of the tested stop: how often a mask that is truly under the bar may be kept."""
_PHASES = {"s": 3, "m": 1}
"""Of each method. Within one, masks are tested from the largest on, and testing ends with the first that doesn't
pass: a fixed sequence, which needs no correction. Phases share the level."""
_FEW = 0.02  # of the resamples: less than what lies beyond either end of an interval
_ROUNDING = 1e-12  # a score that is the bar itself reaches it


@dataclass(frozen=True)
class Standing:
    """A mask and the bar, in the sample itself and in each resample, [1 + repeats]."""

    above: np.ndarray
    """How far its score is above the bar."""
    passes: np.ndarray
    """Whether that is enough: its score is at least the bar; or, where the stop is tested, it is above it by more
    than luck would explain (Student's t, one-sided)."""
    p: float | None = None
    """Of that test: how often a mask that only just reaches the bar would seem to be so far above it."""


class Bar:
    """The score that a mask must reach on some examples: a share of what the full model has, above a constant answer
    or above 0. In each resample of the examples it is another: full model, constant answer and mask are resampled
    alike. `full` are the full model's moments [n, k]."""

    def __init__(self, task: Task, examples: Examples, full: np.ndarray, config: PruneConfig) -> None:
        self._task, self._config = task, config
        self._beside = np.stack([full, task.blind_moments(examples)])

    @property
    def value(self) -> float:
        return float(self._of(*self._task.value(self._beside.mean(1))))

    def standing(self, mask: np.ndarray) -> Standing:
        """Where a mask with these moments [n, k] stands."""
        full, constant, score = metric_draws(self._task.value, np.stack([*self._beside, mask])).T
        above = score - self._of(full, constant)
        above[np.abs(above) < _ROUNDING] = 0.0
        if self._config.stop != "tested":
            return Standing(above, above >= 0)
        from scipy.stats import t

        beyond = t.sf(self._t(mask, above), len(mask))
        return Standing(above, beyond < LEVEL / _PHASES[self._config.method], float(beyond[0]))

    def _t(self, mask: np.ndarray, above: np.ndarray) -> np.ndarray:
        """How many standard errors it is above the bar, [1 + repeats], with one more row that speaks against it:
        as much as any does, and at least 1, as where the full model and a constant answer are right and it isn't.

        Rows on which a mask is wrong are few. Where by luck there are hardly any, neither their number nor their
        spread shows it, and Student's t alone would be too sure.
        """
        full, constant, score = example_values(self._task.value, np.stack([*self._beside, mask]))
        values, n = score - self._of(full, constant), len(mask)
        worst = min(-1.0, float(values.min()))
        means = metric_draws(lambda means: means[..., 0], np.stack([values, values**2])[..., None])
        mean, square = ((n * means + [worst, worst**2]) / (n + 1)).T
        error = np.sqrt(np.maximum(square - mean**2, _ROUNDING) / n)
        return (n * above + worst) / (n + 1) / error

    def _of(self, full: np.ndarray, constant: np.ndarray) -> np.ndarray:
        floor = constant if self._config.rule == "chance" else 0 * constant
        return floor + self._config.threshold * (full - floor)


class Stops:
    """Which mask is kept: by the validation set, and by each of its resamples, [1 + repeats] rows of the log.

    The masks are those that the validation set itself led to. Within a phase a resample may stop earlier or later
    than the validation set did; from where it parts from it, later phases aren't walked, and count as nothing gone.
    """

    def __init__(self, config: PruneConfig, draws: int) -> None:
        self._smallest = config.stop == "smallest"
        self.kept = np.zeros(draws, int)
        self._left = np.ones(draws)
        self.begin_phase()

    def begin_phase(self) -> None:
        """A phase begins with what the validation set keeps: only resamples that keep that, too, are in it."""
        self._going = self.kept == self.kept[0]

    def take(self, row: int, left: float, passes: np.ndarray) -> bool:
        """The next mask of a phase; whether the phase goes on with what comes after it.

        The smallest mask counts wherever it comes in the path, so a phase goes to its end. Otherwise it goes on until
        the validation set itself has stopped and hardly any resample hasn't.
        """
        self._going = passes & ((left < self._left) if self._smallest else self._going)
        self.kept[self._going], self._left[self._going] = row, left
        return self._smallest or bool(self._going[0]) or float(self._going[1:].mean()) >= _FEW
