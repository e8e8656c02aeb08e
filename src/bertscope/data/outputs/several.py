"""Any number of labels for each example: a number for each label, and one threshold that decides.

Outputs in the task's order are [..., n, labels + 1]: each label's log-odds and, last, the threshold that they are
held to, in log-odds too. It stands beside what it decides, so that what is stored of a model says what the model
predicted, whatever threshold another one has. A model's own outputs have no such column: `in_order` adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Value
from bertscope.data.metrics import METRICS, refuse_not_finite
from bertscope.data.outputs.label_names import labels_of, match_names


@dataclass(frozen=True)
class SeveralLabels:
    """An `Output`."""

    task: str
    """The task's name, for messages."""
    labels: tuple[str, ...]
    metric: str
    windows: int = 0
    """In how many windows a text is read at most that is longer than the model allows; 0 truncates it."""
    threshold: float = 0.0
    """In log-odds: 0 is a probability of .5. A label is given where its own are above."""

    kind = "several"
    loss = "binary cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "constant labels"

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> SeveralLabels:
        return cls(name, labels, metric)

    @property
    def counts_hits(self) -> bool:
        return self.metric == "exact_match"

    @property
    def value(self) -> Value:
        return _VALUES[self.metric]

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (len(self.labels) + 1,)

    def gold(self, examples: Examples) -> np.ndarray:
        """[n, labels]: 1 where the example has the label, 0 where it hasn't."""
        found = labels_of(examples, self.task)
        if found.ndim != 2 or found.shape[1] != len(self.labels):
            raise UserError(f"the examples have no lists of the {len(self.labels)} labels of {self.task}")
        return found

    def learnt(self, examples: Examples) -> Any:
        return None if examples.label is None else examples.label.tolist()

    def match(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """Where a model that calls its outputs `names` has each label; see `match_names`."""
        return match_names(names, self.labels, self.task)

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        self.refuse_other_width(outputs)
        order, notes = self.match(names)
        logits, threshold = self._parts(outputs)
        column = np.broadcast_to(threshold, (*logits.shape[:-1], 1)).astype(logits.dtype)
        return np.concatenate([logits[..., order], column], axis=-1), notes

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.shape[-1] - len(self.labels) not in (0, 1):
            raise UserError(
                f"the model gives {outputs.shape[-1]} outputs, but {self.task} has {len(self.labels)} labels "
                f"({', '.join(self.labels)}); fine-tune it on this task"
            )

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """[..., n, labels]: 1 where a label is given."""
        logits, threshold = self._parts(outputs)
        return (logits > threshold).astype(np.int8)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """micro_f1 [..., n, 3]: how many labels are given rightly, are given, and are right. macro_f1: the same of
        each label apart. exact_match [..., n, 1]: whether all are as they should be."""
        refuse_not_finite(predicted)
        return self._moments(self.metric, predicted, gold)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return (predicted == gold).all(-1).astype(np.float64)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        """Yes or no for each label."""
        logits = self._parts(outputs)[0].astype(np.float64).reshape(-1)
        example = np.repeat(np.arange(len(outputs)), len(self.labels))
        given = self.predictions(outputs).reshape(-1).astype(np.int64)
        shares = np.exp(-np.logaddexp(0, np.stack([logits, -logits], axis=-1)))  # exact at either end
        return Decisions(example, shares, given, gold.reshape(-1), ("no", "yes"))

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        given, right = predicted.astype(bool), gold.astype(bool)
        return self.labels, np.stack([given & right, given, right], axis=-1).astype(np.float64)

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole != other).any(-1).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The binary cross-entropy, in nats, averaged over the labels."""
        logits = self._parts(outputs)[0].astype(np.float64)
        return (np.logaddexp(0, logits) - gold * logits).mean(-1)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """KL(whole || other) in nats, averaged over the labels."""
        before, after = (self._parts(each)[0].astype(np.float64) for each in (whole, other))
        share = 1 / (1 + np.exp(-before))
        found = share * (before - after) + np.logaddexp(0, after) - np.logaddexp(0, before)
        return np.maximum(found.mean(-1), 0.0)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        return {
            name: float(_VALUES[name](self._moments(name, predicted, gold).mean(0)))
            for name in METRICS["several"] if name != self.metric
        }  # fmt: skip

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The constant set of labels that scores best on the training set, for every example."""
        given = self._best_constant(self.gold(train))
        return np.tile(np.append(np.where(given, 1.0, -1.0), 0.0), (len(examples), 1))

    def describe(self, examples: Examples) -> dict[str, Any]:
        gold = self.gold(examples)
        counts = dict(zip(self.labels, gold.sum(0).tolist(), strict=True))
        return {"labels": counts | {"(none)": int((~gold.any(1)).sum())}, "majority": None}

    def best_threshold(self, outputs: np.ndarray, gold: np.ndarray) -> float:
        """The threshold with the highest micro F1 on these outputs [n, ...]: in the middle between two numbers that
        occur, and of several equally good the highest. A probability of .5 where no label is ever right."""
        logits = self._parts(outputs)[0].astype(np.float64)
        refuse_not_finite(logits)
        if not gold.any():
            return 0.0
        values, at = np.unique(logits, return_inverse=True)
        at = at.reshape(-1)
        right = np.bincount(at, gold.reshape(-1).astype(np.float64))[::-1].cumsum()  # of those from a value upwards
        given = np.bincount(at)[::-1].cumsum()
        best = len(values) - 1 - int(np.argmax(2 * right / (given + gold.sum())))
        below = values[best - 1] if best else values[0] - 2.0
        return float((below + values[best]) / 2)

    def _parts(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The labels' log-odds, and the threshold: what stands behind them, or else the task's."""
        self.refuse_other_width(outputs)
        count = len(self.labels)
        own = np.asarray(self.threshold)
        return outputs[..., :count], outputs[..., count:] if outputs.shape[-1] > count else own

    def _moments(self, name: str, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        if name == "exact_match":
            return (predicted == gold).all(-1)[..., None].astype(np.float64)
        gold = np.broadcast_to(gold, predicted.shape)
        three = [predicted & gold.astype(predicted.dtype), predicted, gold]
        if name == "micro_f1":
            return np.stack([each.sum(-1) for each in three], axis=-1).astype(np.float64)
        return np.concatenate(three, axis=-1).astype(np.float64)

    def _best_constant(self, gold: np.ndarray) -> np.ndarray:
        """[labels]: whether the best constant answer has each label, by the task's own metric."""
        counts = gold.sum(0)
        if self.metric == "exact_match":
            sets, rows = np.unique(gold, axis=0, return_counts=True)
            return sets[rows.argmax()].astype(bool)
        if self.metric == "macro_f1":
            return counts > 0
        # Of all sets of one size, the most frequent labels are the best.
        order = np.argsort(-counts, kind="stable")
        size = np.arange(1, len(counts) + 1)
        best = int(np.argmax(2 * counts[order].cumsum() / (size * len(gold) + counts.sum())))
        given = np.zeros(len(counts), bool)
        given[order[: best + 1]] = True
        return given


def _f1(means: np.ndarray) -> np.ndarray:
    """From right, given and gold [..., 3 * k] to F1 [..., k]; 0 where nothing is given and nothing right."""
    right, given, holds = np.split(means, 3, axis=-1)
    return np.divide(2 * right, given + holds, out=np.zeros_like(right), where=given + holds > 0)


_VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "micro_f1": lambda means: _f1(means)[..., 0],
    "macro_f1": lambda means: _f1(means).mean(-1),
    "exact_match": lambda means: means[..., 0],
}
