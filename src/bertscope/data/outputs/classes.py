"""One label for each example."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.resampling import Value
from bertscope.data.metrics import metric

_NUMBERED = re.compile(r"(label_)?\d+")


@dataclass(frozen=True)
class Classes:
    """An `Output`: a number for each class, of which the highest decides."""

    task: str
    """The task's name, for messages."""
    labels: tuple[str, ...]
    metric: str

    kind = "classification"
    loss = "cross-entropy"
    divergence_key = "kl"

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    @property
    def value(self) -> Value:
        return metric(self.metric, self.n_outputs).value

    def match(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """Labels are matched by name; upper and lower case don't matter. Where one side has only numbers for names,
        the order decides, and that is said."""
        theirs, mine = ([name.strip().casefold() for name in side] for side in (names, self.labels))
        if theirs == mine:
            return list(range(len(names))), []
        if sorted(theirs) == sorted(mine):
            return [theirs.index(label) for label in mine], []
        bare = [all(name.isdigit() for name in side) for side in (theirs, mine)]
        numbered = any(all(_NUMBERED.fullmatch(name) for name in side) for side in (theirs, mine))
        if len(theirs) != len(mine) or all(bare) or not numbered:
            raise UserError(
                f"the model answers {', '.join(names)}, but {self.task} is labelled {', '.join(self.labels)}; "
                "rename the labels in the data, or id2label in the model's config.json, or fine-tune it on this task"
            )
        pairs = ", ".join(f"{one} is {other}" for one, other in zip(names, self.labels, strict=True))
        return list(range(len(names))), [f"labels matched by their order: {pairs}"]

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.argmax(-1)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return metric(self.metric, self.n_outputs).moments(predicted, gold)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The cross-entropy: minus the log of the right label's probability, in nats."""

        def of_model(one: np.ndarray) -> np.ndarray:
            return -_log_shares(one)[np.arange(len(one)), gold]

        return _model_by_model(of_model, outputs)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Kullback and Leibler's, KL(whole || other), in nats."""
        before = _log_shares(whole)
        shares = np.exp(before)

        def of_model(one: np.ndarray) -> np.ndarray:
            # Never below 0, but for rounding.
            return np.maximum((shares * (before - _log_shares(one))).sum(-1), 0.0)

        return _model_by_model(of_model, other)

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (self.predictions(whole) != self.predictions(other)).astype(np.float64)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        names = ("accuracy", "f1" if self.n_outputs == 2 else "macro_f1", "matthews")
        return {name: float(metric(name, self.n_outputs)(predicted, gold)) for name in names if name != self.metric}

    def blind(self, gold: np.ndarray, n: int) -> np.ndarray:
        """The most frequent label, for every example."""
        most = np.bincount(gold, minlength=self.n_outputs).argmax()
        return np.tile(np.eye(self.n_outputs)[most], (n, 1))

    def describe(self, gold: np.ndarray) -> dict[str, Any]:
        counts = np.bincount(gold, minlength=self.n_outputs).tolist()
        return {
            "labels": dict(zip(self.labels, counts, strict=True)),
            "majority": self.labels[int(np.argmax(counts))],
        }


def _model_by_model(of_model: Callable[[np.ndarray], np.ndarray], outputs: np.ndarray) -> np.ndarray:
    """What is computed of one model's outputs [n, c], for outputs [..., n, c]: in double precision, those of hundreds
    of models over thousands of classes would be gigabytes, several times over."""
    models = outputs.reshape(-1, *outputs.shape[-2:])
    return np.array([of_model(one) for one in models]).reshape(outputs.shape[:-1])


def _log_shares(outputs: np.ndarray) -> np.ndarray:
    """The logs of the probabilities that outputs [..., c] stand for."""
    outputs = outputs.astype(np.float64)
    outputs = outputs - outputs.max(-1, keepdims=True)
    return outputs - np.log(np.exp(outputs).sum(-1, keepdims=True))
