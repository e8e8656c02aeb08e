"""What only a model can say of a task, kept beside what a training puts out.

Which pieces of a masked word are right, a tokenizer says (`Encoder.marked`). Whoever compares trainings has their
results and the task as it was read, but no model. So where a model answers another form of the task than was read, a
training keeps what becomes of that form, too: the moments of its outputs, and those of an answer without looking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.training.advice import note

if TYPE_CHECKING:
    from bertscope.core.predictions import Predictions
    from bertscope.core.result import Result

OUTPUTS = "outputs"
_SPLITS = ("validation", "test")


def kept_outputs(task: Task, asked: Task, predicted: Predictions, name: str = OUTPUTS) -> dict[str, np.ndarray]:
    """Arrays for a result: what was put out for the test set, and what is known of it only now; `asked` is the task
    as the model answered it."""
    kept = {name: asked.outputs(predicted)}
    if asked is task:
        return kept
    blind = {f"blind_{split}": asked.blind_moments(getattr(asked, split)) for split in _SPLITS}
    return kept | {f"{name}_moments": asked.moments(predicted)} | blind


def moments_of(task: Task, run: Result, name: str = OUTPUTS) -> np.ndarray:
    """The primary metric's moments [n, k] of what a training put out for the test set."""
    told = run.arrays.get(f"{name}_moments")
    return task.moments(run.arrays[name]) if told is None else told


def as_told(task: Task, run: Result) -> Task:
    """The task as far as a training of it told: the task itself, where it needs no model."""
    blind = {split: run.arrays[f"blind_{split}"] for split in _SPLITS if f"blind_{split}" in run.arrays}
    if not blind:
        return task
    known = {one.name: getattr(task, one.name) for one in fields(task)}
    advised = note(run) if "after" in run else None  # that is of this training alone
    notes = [one for one in run.notes if one != advised]  # what is masked, which threshold was decided
    known["notes"] = tuple(dict.fromkeys([*task.notes, *notes]))
    return ToldTask(**known, blind=blind)


@dataclass(frozen=True, eq=False, repr=False)
class ToldTask(Task):
    blind: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By split, the moments of an answer without looking."""

    def blind_moments(self, examples: Examples | None = None) -> np.ndarray:
        return self.blind["validation" if examples is self.validation else "test"]
