"""Sentences with dependency trees, scored by attachment: which words have the right governor, and the right relation.

A model's outputs are a governor and a relation for each word, [..., n, longest, 2]: governors count words from 0
and are `ROOT` for the root, relations are places in the task's labels; what lies behind a sentence's end is
`NOTHING`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, ROOT, Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.core.resampling import Value
from bertscope.data.metrics import METRICS
from bertscope.data.task import NEEDS_LABELS, Task


def padded(rows: Sequence[Iterable[int]], lengths: np.ndarray) -> np.ndarray:
    """Rows of whole numbers as one array [n, longest], `NOTHING` behind each row's end."""
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    found = np.full(inside.shape, NOTHING)
    found[inside] = np.fromiter((value for row in rows for value in row), np.int64, lengths.sum())
    return found


@dataclass(frozen=True, eq=False, repr=False)
class TreeTask(Task):
    """A task of kind `trees`; `labels` are the relations that the training set has, subtypes (`nsubj:pass`)
    included."""

    blind = "chain"

    @cached_property
    def output(self) -> Output:
        raise UserError(f"{self.name} asks for dependency trees: {NEEDS_LABELS}")

    def _matched(self, predicted: Predictions | np.ndarray) -> tuple[np.ndarray, Sequence[str]]:
        """Relations are matched by name; one that the task hasn't is never right."""
        if not isinstance(predicted, Predictions):
            return predicted, ()
        outputs = predicted.logits
        if predicted.labels and tuple(predicted.labels) != self.labels:
            place = {label: at for at, label in enumerate(self.labels)}
            if not place.keys() & set(predicted.labels):
                raise UserError(f"the parser knows none of the relations of {self.name}; fine-tune it on this task")
            table = np.array([*(place.get(label, NOTHING) for label in predicted.labels), NOTHING])
            outputs = np.stack([outputs[..., 0], table[outputs[..., 1]]], axis=-1)
        return outputs, ()

    def gold(self, examples: Examples) -> np.ndarray:
        """The right outputs [n, longest, 2]; a relation that the training set hasn't is `NOTHING`."""
        governors, relations = _of(examples)
        lengths = np.array([len(row) for row in governors])
        place = {label: at for at, label in enumerate(self.labels)}
        numbered = [[place.get(relation, NOTHING) for relation in row] for row in relations]
        return np.stack([padded(governors, lengths), padded(numbered, lengths)], axis=-1)

    def moments(self, predicted: Predictions | np.ndarray, examples: Examples | None = None) -> np.ndarray:
        """[..., n, 2]: how many of each sentence's words are right, and how many there are."""
        return self._hits(self.outputs(predicted), self.test if examples is None else examples, self.metric)

    @property
    def value(self) -> Value:
        return _share

    def blind_outputs(self, examples: Examples) -> np.ndarray:
        """Every word under its neighbour, on the side that is right more often in the training set."""
        return self.chain(examples, max(self._chains, key=self._chains.__getitem__))

    def chain(self, examples: Examples, step: int) -> np.ndarray:
        """Every word under the next (`step` 1) or the one before (-1), in the relation that such words have most
        often in the training set; the word that has no such neighbour is the root."""
        lengths = np.array([len(row) for row in _of(examples)[0]])
        place = np.arange(lengths.max(initial=0))
        inside, at_end = place < lengths[:, None], place == (lengths[:, None] - 1 if step > 0 else 0)
        gold = self._train_gold
        chained = gold[..., 0] == np.arange(gold.shape[1]) + step
        below, root = (np.bincount(gold[where, 1], minlength=1).argmax() for where in (chained, gold[..., 0] == ROOT))
        outputs = np.stack([np.where(at_end, ROOT, place + step), np.where(at_end, root, below)], axis=-1)
        return np.where(inside[..., None], outputs, NOTHING)

    @cached_property
    def _train_gold(self) -> np.ndarray:
        return self.gold(self.train)

    @cached_property
    def _chains(self) -> dict[int, float]:
        """The training set's attachment score of the chain to either side."""
        return {
            step: float(_share(self._hits(self.chain(self.train, step), self.train, "uas").mean(0)))
            for step in (1, -1)
        }

    def _hits(self, outputs: np.ndarray, examples: Examples, metric: str) -> np.ndarray:
        gold = self.gold(examples)
        if outputs.shape[-3:] != gold.shape:
            raise ValueError(f"outputs {outputs.shape} are not a head and a relation for each word of {gold.shape}")
        counted = gold[..., 0] != NOTHING
        if metric.endswith("no_punct"):
            counted &= ~_punctuation(examples, self.name)
        right = outputs[..., 0] == gold[..., 0]
        if metric.startswith("las"):
            right &= self._universal(outputs[..., 1]) == self._universal_gold(examples)
        return np.stack(np.broadcast_arrays((right & counted).sum(-1), counted.sum(-1)), axis=-1).astype(np.float64)

    @cached_property
    def _families(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(sorted({_family(label) for label in self.labels}))}

    def _universal(self, relations: np.ndarray) -> np.ndarray:
        """Relations without their subtypes, as numbers."""
        table = np.array([*(self._families[_family(label)] for label in self.labels), NOTHING])
        return table[np.where(relations < 0, len(self.labels), relations)]

    def _universal_gold(self, examples: Examples) -> np.ndarray:
        """The same of the right relations; -1, which is never predicted, where train has none of the family."""
        _, relations = _of(examples)
        numbered = [[self._families.get(_family(name), -1) for name in row] for row in relations]
        return padded(numbered, np.array([len(row) for row in relations]))

    def _secondary(self, outputs: np.ndarray, examples: Examples | None) -> dict[str, float]:
        examples = self.test if examples is None else examples
        known = [name for name in METRICS["trees"] if "pos" in examples.marks or not name.endswith("no_punct")]
        return {
            name: float(_share(self._hits(outputs, examples, name).mean(0))) for name in known if name != self.metric
        }

    def _describe_gold(self, examples: Examples) -> dict[str, Any]:
        _, relations = _of(examples)
        kinds = {name for row in relations for name in row}
        return {"labels": {"words": sum(map(len, relations)), "relations": len(kinds)}, "majority": None}

    def _learnt(self, split: Examples) -> Any:
        return [split.words, split.governors, split.marks["relation"]]


def _share(means: np.ndarray) -> np.ndarray:
    """Micro average: the share of all words, not the mean of the sentences' shares."""
    right, words = means[..., 0], means[..., 1]
    return np.divide(right, words, out=np.zeros_like(right), where=words > 0)


def _family(relation: str) -> str:
    return relation.partition(":")[0]


def _punctuation(examples: Examples, name: str) -> np.ndarray:
    if "pos" not in examples.marks:
        raise UserError(f"{name} doesn't say which words are punctuation (no UPOS); score it by las or uas")
    marks = examples.marks["pos"]
    return padded([[tag == "PUNCT" for tag in row] for row in marks], np.array([len(row) for row in marks])) == 1


def _of(examples: Examples) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[str, ...], ...]]:
    """Each sentence's governors and relations."""
    if examples.governors is None or "relation" not in examples.marks:
        raise UserError("these sentences have no trees with relations: nothing can be scored; give a treebank")
    return examples.governors, examples.marks["relation"]
