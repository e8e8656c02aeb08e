"""One label for each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Value
from bertscope.data.metrics import metric
from bertscope.data.outputs.label_names import labels_of, match_names, ordered


@dataclass(frozen=True)
class Classes:
    """An `Output`: a number for each class, of which the highest decides."""

    task: str
    """The task's name, for messages."""
    labels: tuple[str, ...]
    metric: str
    windows: int = 0
    """In how many windows a text is read at most that is longer than the model allows; 0 truncates it."""

    kind = "classification"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "majority"

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> Classes:
        return cls(name, labels, metric)

    @property
    def counts_hits(self) -> bool:
        return self.metric == "accuracy"

    @property
    def value(self) -> Value:
        return metric(self.metric, len(self.labels)).value

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (len(self.labels),)

    def gold(self, examples: Examples) -> np.ndarray:
        return labels_of(examples, self.task)

    def learnt(self, examples: Examples) -> Any:
        return None if examples.label is None else examples.label.tolist()

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        self.refuse_other_width(outputs)
        return ordered(outputs, *self.match(names))

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.shape[-1] != len(self.labels):
            raise UserError(
                f"the model gives {outputs.shape[-1]} outputs, but {self.task} has {len(self.labels)} labels "
                f"({', '.join(self.labels)}); fine-tune it on this task"
            )

    def match(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """Where a model that calls its outputs `names` has each label; see `match_names`."""
        return match_names(names, self.labels, self.task)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.argmax(-1)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return metric(self.metric, len(self.labels)).moments(predicted, gold)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The cross-entropy: minus the log of the right label's probability, in nats."""
        return cross_entropies(outputs, gold)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Kullback and Leibler's, KL(whole || other), in nats."""
        return kl(whole, other)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return (predicted == gold).astype(np.float64)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        each = np.arange(len(outputs))
        return Decisions(each, np.exp(log_shares(outputs)), self.predictions(outputs), gold, self.labels)

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        given, right = (each[:, None] == np.arange(len(self.labels)) for each in (predicted, gold))
        return self.labels, np.stack([given & right, given, right], axis=-1).astype(np.float64)

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole != other).astype(np.float64)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        names = ("accuracy", "f1" if len(self.labels) == 2 else "macro_f1", "matthews")
        return {name: float(metric(name, len(self.labels))(predicted, gold)) for name in names if name != self.metric}

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The most frequent label, for every example."""
        most = np.bincount(self.gold(train), minlength=len(self.labels)).argmax()
        return np.tile(np.eye(len(self.labels))[most], (len(examples), 1))

    def describe(self, examples: Examples) -> dict[str, Any]:
        counts = np.bincount(self.gold(examples), minlength=len(self.labels)).tolist()
        return {
            "labels": dict(zip(self.labels, counts, strict=True)),
            "majority": self.labels[int(np.argmax(counts))],
        }


def model_by_model(of_model: Callable[[np.ndarray], np.ndarray], outputs: np.ndarray, axes: int = 2) -> np.ndarray:
    """What is computed of one model's outputs [n, ..., c], which have that many axes, for outputs [..., n, ..., c]:
    in double precision, those of hundreds of models over thousands of classes would be gigabytes, several times
    over."""
    models = outputs.reshape(-1, *outputs.shape[-axes:])
    return np.array([of_model(one) for one in models]).reshape(outputs.shape[: 1 - axes])


def cross_entropies(outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Minus the log of the probability that outputs [..., n, c] give to what is right [n], in nats: [..., n]."""

    def of_model(one: np.ndarray) -> np.ndarray:
        return -log_shares(one)[np.arange(len(one)), gold]

    return model_by_model(of_model, outputs)


def kl(whole: np.ndarray, other: np.ndarray) -> np.ndarray:
    """KL(whole || other) of the probabilities that outputs [n, c] and [..., n, c] stand for, in nats: [..., n]."""
    before = log_shares(whole)
    shares = np.exp(before)

    def of_model(one: np.ndarray) -> np.ndarray:
        # Never below 0, but for rounding.
        return np.maximum((shares * (before - log_shares(one))).sum(-1), 0.0)

    return model_by_model(of_model, other)


def log_shares(outputs: np.ndarray) -> np.ndarray:
    """The logs of the probabilities that outputs [..., c] stand for."""
    outputs = outputs.astype(np.float64)
    outputs = outputs - outputs.max(-1, keepdims=True)
    return outputs - np.log(np.exp(outputs).sum(-1, keepdims=True))
