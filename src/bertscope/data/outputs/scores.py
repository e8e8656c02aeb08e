"""A score for each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.resampling import Value
from bertscope.data.metrics import metric, spearman


@dataclass(frozen=True)
class OneScore:
    """An `Output`: one number, in the units of the task's scores."""

    metric: str

    kind = "regression"
    loss = "squared error"
    divergence_key = "squared_change"
    labels = ()
    n_outputs = 1

    @property
    def value(self) -> Value:
        return metric(self.metric, 0).value

    def match(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """There is one output, whatever a model calls it."""
        return [0], []

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs[..., 0].astype(np.float64)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return metric(self.metric, 0).moments(predicted, gold)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The squared error, in the square of the task's own unit: nothing is standardised."""
        return (self.predictions(outputs) - gold) ** 2

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The squared change of the score, in the same unit."""
        return (self.predictions(other) - self.predictions(whole)) ** 2

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """A score changes by degrees."""
        return np.full(other.shape[:-1], np.nan)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        return {"spearman": spearman(predicted, gold)}

    def blind(self, gold: np.ndarray, n: int) -> np.ndarray:
        """The mean score, for every example."""
        return np.full((n, 1), gold.mean())

    def describe(self, gold: np.ndarray) -> dict[str, Any]:
        return {"labels": summary(gold), "majority": None}


def summary(values: np.ndarray) -> dict[str, float]:
    """What values are like, as plain numbers."""
    return {
        "min": float(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": float(values.max()),
    }
