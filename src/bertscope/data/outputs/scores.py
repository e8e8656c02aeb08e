"""A score for each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Value
from bertscope.data.metrics import metric, spearman
from bertscope.data.outputs.label_names import labels_of


@dataclass(frozen=True)
class OneScore:
    """An `Output`: one number, in the units of the task's scores."""

    task: str
    """The task's name, for messages."""
    metric: str
    windows: int = 0
    """In how many windows a text is read at most that is longer than the model allows; 0 truncates it."""

    kind = "regression"
    loss = "squared error"
    loss_unit = "squared error"
    divergence_key = "squared_change"
    blind_answer = "majority"
    labels = ()
    counts_hits = False

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> OneScore:
        return cls(name, metric)

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (1,)

    def gold(self, examples: Examples) -> np.ndarray:
        return labels_of(examples, self.task)

    def learnt(self, examples: Examples) -> Any:
        return None if examples.label is None else examples.label.tolist()

    @property
    def value(self) -> Value:
        return metric(self.metric, 0).value

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        """There is one output, whatever a model calls it."""
        self.refuse_other_width(outputs)
        return outputs, []

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.shape[-1] != 1:
            raise UserError(
                f"the model gives {outputs.shape[-1]} outputs, but {self.task} has one score; "
                "fine-tune it on this task"
            )

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

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """A score is nearer or further."""
        return np.full(predicted.shape, np.nan)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        return None

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        return None

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """A score changes by degrees."""
        return np.full(other.shape, np.nan)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        return {"spearman": spearman(predicted, gold)}

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The mean score, for every example."""
        return np.full((len(examples), 1), self.gold(train).mean())

    def describe(self, examples: Examples) -> dict[str, Any]:
        return {"labels": summary(self.gold(examples)), "majority": None}


def summary(values: np.ndarray) -> dict[str, float]:
    """What values are like, as plain numbers."""
    return {
        "min": float(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": float(values.max()),
    }
