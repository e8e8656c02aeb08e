"""A task: labelled examples in three splits, and how predictions for them are scored.

Train trains weights; validation, held out of every training, decides whatever is chosen; test is only scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.intervals import bootstrap_interval
from bertscope.core.resampling import Value
from bertscope.core.result import Number
from bertscope.data.metrics import Metric, metric, refuse_not_finite, spearman

Kind = Literal["classification", "regression", "spans", "trees"]
"""What is learnt: a label, a score, a span of a text (`SpanTask`), a dependency tree (`TreeTask`)."""
NEEDS_LABELS = "finetune takes it, but this question needs a task of classification or regression"
_NUMBERED = re.compile(r"(label_)?\d+")


@dataclass(frozen=True)
class Scores:
    """How good some predictions are: the task's metric with its bootstrap interval, and what stands beside it."""

    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float
    """The same metric without looking at the texts; see `Task.blind`."""
    secondary: Mapping[str, float]

    @property
    def number(self) -> Number:
        """The primary metric as a headline number."""
        return Number(self.metric, self.value, self.low, self.high, self.n)

    def named(self, name: str) -> Number:
        """The primary metric as what a result calls it."""
        return Number(name, self.value, self.low, self.high, self.n, self.metric)

    @property
    def row(self) -> dict[str, Any]:
        """The primary metric as tables have it."""
        return {"metric": self.metric, "score": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True, eq=False)
class Task:
    """What a model is fine-tuned and scored on.

    >>> task = read_task("demo/sentiment")                                # doctest: +SKIP
    >>> task.score(logits).number                                         # doctest: +SKIP
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    """The classes, or relations, in the order of the model's outputs; empty where there are none."""
    train: Examples
    validation: Examples
    test: Examples
    metric: str
    """One of those that `metrics.METRICS` has for the kind."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how the data was read."""

    blind = "majority"
    """What is answered without looking at the texts: train's most frequent label, or mean score."""

    def __repr__(self) -> str:
        rows = ", ".join(f"{len(getattr(self, split)):,} {split}" for split in ("train", "validation", "test"))
        labels = f" ({', '.join(self.labels)})" if 0 < len(self.labels) <= 10 else ""
        return f"<{type(self).__name__} {self.name}: {self.kind}{labels}, rows {rows}, scored by {self.metric}>"

    @property
    def n_outputs(self) -> int:
        """How many numbers a model gives per example."""
        return len(self.labels) if self.kind == "classification" else 1

    @property
    def fingerprint(self) -> str:
        """The digest of what a model fine-tuned on this task learns from and is chosen by."""
        splits = [[split.text, split.pair, self._learnt(split)] for split in (self.train, self.validation)]
        return digest_text(canonical_json([self.labels, splits]))

    def match_labels(self, names: Sequence[str]) -> tuple[list[int], list[str]]:
        """Which of a model's outputs, which it calls `names`, stands for each label; and what to say about it.

        Labels are matched by name. Where one side has only numbers for names, the order decides, and that is said.
        """
        theirs, mine = ([name.strip().casefold() for name in side] for side in (names, self.labels))
        if self.kind == "regression" or theirs == mine:
            return list(range(len(names))), []
        if sorted(theirs) == sorted(mine):
            return [theirs.index(label) for label in mine], []
        bare = [all(name.isdigit() for name in side) for side in (theirs, mine)]
        if all(bare) or not any(all(_NUMBERED.fullmatch(name) for name in side) for side in (theirs, mine)):
            raise UserError(
                f"the model answers {', '.join(names)}, but {self.name} is labelled {', '.join(self.labels)}; "
                "rename the labels in the data, or id2label in the model's config.json, or fine-tune it on this task"
            )
        pairs = ", ".join(f"{one} is {other}" for one, other in zip(names, self.labels, strict=True))
        return list(range(len(names))), [f"labels matched by their order: {pairs}"]

    def outputs_to_predictions(self, logits: np.ndarray) -> np.ndarray:
        """From a model's outputs [..., n, c] to class indices, or scores, [..., n]."""
        if logits.shape[-1] != self.n_outputs:
            wanted = f"{len(self.labels)} labels ({', '.join(self.labels)})" if self.labels else "one score"
            raise UserError(
                f"the model gives {logits.shape[-1]} outputs, but {self.name} has {wanted}; fine-tune it on this task"
            )
        refuse_not_finite(logits)
        return logits.argmax(-1) if self.kind == "classification" else logits[..., 0].astype(np.float64)

    def moments(self, logits: np.ndarray, examples: Examples | None = None) -> np.ndarray:
        """The primary metric's moments [..., n, k] of outputs [..., n, c] for `examples` (test by default)."""
        return self._primary.moments(self.outputs_to_predictions(logits), self._gold(examples, logits))

    @property
    def value(self) -> Value:
        """From means of the primary metric's moments [..., k] to the metric [...]."""
        return self._primary.value

    def score(self, outputs: Any, examples: Examples | None = None) -> Scores:
        """How good a model's outputs, or what `predict` gave, are for `examples` (test by default)."""
        outputs = getattr(outputs, "logits", outputs)
        moments = self.moments(outputs, examples)
        low, high = bootstrap_interval(self.value, moments)
        return Scores(
            metric=self.metric,
            value=float(self.value(moments.mean(0))),
            low=low,
            high=high,
            n=len(moments),
            chance=self.chance(examples),
            secondary=self._secondary(outputs, examples),
        )

    def chance(self, examples: Examples | None = None) -> float:
        """The primary metric of a model that ignores its input."""
        examples = self.test if examples is None else examples
        return float(self.value(self.moments(self.blind_outputs(examples), examples).mean(0)))

    def blind_outputs(self, examples: Examples) -> np.ndarray:
        """Outputs [n, c] that say train's most frequent label, or its mean score, of every example."""
        label, n = self.train.label, len(examples)
        assert label is not None
        if self.kind == "regression":
            return np.full((n, 1), label.mean())
        most = np.bincount(label, minlength=self.n_outputs).argmax()
        return np.tile(np.eye(self.n_outputs)[most], (n, 1))

    def need_scored_pairs(self) -> None:
        """Refuse, with what to do, if this isn't about how alike two texts are."""
        if self.kind != "regression" or self.test.pair is None:
            raise UserError(
                f"{self.name} has no pairs of texts with scores; give a task such as glue/stsb or demo/similarity"
            )

    def describe(self) -> dict[str, Any]:
        """Rows, labels, lengths, chance and the most frequent label of each split: plain values for JSON."""
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return {
            "name": self.name,
            "kind": self.kind,
            "labels": list(self.labels),
            "metric": self.metric,
            "chance": self.chance(),
            "splits": {name: self._describe(examples) for name, examples in splits.items()},
            "notes": list(self.notes),
        }

    def _describe(self, examples: Examples) -> dict[str, Any]:
        return describe_lengths(examples) | self._describe_gold(examples) | {"chance": self.chance(examples)}

    def _describe_gold(self, examples: Examples) -> dict[str, Any]:
        label = examples.label
        assert label is not None
        if self.kind == "regression":
            return {"labels": summary(label), "majority": None}
        counts = np.bincount(label, minlength=len(self.labels)).tolist()
        return {
            "labels": dict(zip(self.labels, counts, strict=True)),
            "majority": self.labels[int(np.argmax(counts))],
        }

    def _learnt(self, split: Examples) -> Any:
        """What a split's texts are to be answered with, as plain values."""
        return None if split.label is None else split.label.tolist()

    @property
    def _primary(self) -> Metric:
        return metric(self.metric, len(self.labels))

    def _secondary(self, outputs: np.ndarray, examples: Examples | None) -> dict[str, float]:
        """What stands beside the primary metric."""
        predicted, gold = self.outputs_to_predictions(outputs), self._gold(examples, outputs)
        if self.kind == "regression":
            return {"spearman": spearman(predicted, gold)}
        beside = ("accuracy", "f1" if len(self.labels) == 2 else "macro_f1", "matthews")
        return {
            name: float(metric(name, len(self.labels))(predicted, gold)) for name in beside if name != self.metric
        }

    def _gold(self, examples: Examples | None, logits: np.ndarray) -> np.ndarray:
        examples = self.test if examples is None else examples
        if examples.label is None:
            raise UserError(f"the examples have no labels, so that nothing on {self.name} can be scored")
        if logits.shape[-2] != len(examples):
            raise ValueError(f"outputs for {logits.shape[-2]} examples, but there are {len(examples)}")
        return examples.label


def describe_lengths(examples: Examples) -> dict[str, Any]:
    """How many rows there are, and how many words they have: the source's own, or what stands between spaces."""
    if examples.words is not None:
        lengths = np.array([len(words) for words in examples.words])
    else:
        lengths = np.array([len(text.split()) for text in examples.text])
        if examples.pair is not None:
            lengths += np.array([len(text.split()) for text in examples.pair])
    return {"rows": len(examples), "words": summary(lengths)}


def summary(values: np.ndarray) -> dict[str, float]:
    return {
        "min": float(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": float(values.max()),
    }
