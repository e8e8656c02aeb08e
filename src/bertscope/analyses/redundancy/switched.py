"""The test set with heads switched off: each example's part in the score, its loss, and how its prediction moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.units import PlainMode, Unit

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Switched:
    """Without each set of heads; the first set is empty."""

    moments: np.ndarray
    """[set, example, k], of the score."""
    losses: np.ndarray
    """[set, example]"""
    kl: np.ndarray
    """[set, example]: KL(whole || without), or the squared change of the score."""
    flips: np.ndarray
    """[set, example]; NaN of scores."""


def switched_off(encoder: Encoder, task: Task, sets: Sequence[Sequence[Unit]], mode: PlainMode) -> Switched:
    """`task` is as this encoder answers it."""
    from bertscope.models.judge import judge_without

    reference = encoder.means(task.validation, task.output) if mode == "mean" else None
    found = judge_without(encoder, task.output, task.test, sets, mode=mode, reference=reference)
    return Switched(found.moments, found.losses, found.divergence, found.flips)


def random_twin(encoder: Encoder, task: Task, sets: Sequence[Sequence[Unit]], mode: PlainMode, seed: int) -> Switched:
    """The same in a model of the same form, task head included, with random weights."""
    from bertscope.models.outputs.kinds import model_output

    twin = model_output(encoder, task.output).with_random_weights(seed)
    return switched_off(twin, task, sets, mode)


def mean_of(means: np.ndarray) -> np.ndarray:
    """The metric that is a mean itself, from means of one moment [..., 1]."""
    return means[..., 0]


def from_nothing(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values [arm, n] as differences from 0: exchanging the two sides turns their signs."""
    return np.zeros((values.shape[1], 1)), values[..., None]
