"""What a prediction is: the one thing that tasks of different kinds differ in.

`Task` has an output and asks it. A further kind is one more class with these members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bertscope.core.resampling import Value


class Output(Protocol):
    @property
    def kind(self) -> str:
        """What tasks call it, such as `classification`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the outputs are called, in the task's order; empty where they have no names."""

    @property
    def n_outputs(self) -> int:
        """How many numbers a model gives per example."""

    @property
    def metric(self) -> str:
        """The primary metric."""

    @property
    def value(self) -> Value:
        """From means of the primary metric's moments [..., k] to the metric [...]."""

    @property
    def loss(self) -> str:
        """What the loss is called, such as `cross-entropy`."""

    @property
    def divergence_key(self) -> str:
        """What tables call the divergence, such as `kl`."""

    def match(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """Which of a model's outputs, which it calls `names`, stands for each label; and what to say about it.
        Refuses, with what to do, what can't be matched."""

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """From outputs in the task's order [..., n, c] to what is predicted [..., n]."""

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The primary metric's moments [..., n, k] of what is predicted [..., n]."""

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Each example's loss [..., n] of outputs in the task's order [..., n, c]: what a model is trained by."""

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """How far outputs [..., n, c] say something else of each example [..., n] than those of the whole model
        [n, c], whatever is right; 0 where they say the same."""

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether they predict something else of each example [..., n], 1 or 0; NaN where nothing can flip."""

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        """What stands beside the primary metric, for one model's predictions [n]."""

    def blind(self, gold: np.ndarray, n: int) -> np.ndarray:
        """The outputs [n, c] of who has seen the training set's answers, but no text."""

    def describe(self, gold: np.ndarray) -> dict[str, Any]:
        """What there is to predict in a split, as plain values for JSON."""
