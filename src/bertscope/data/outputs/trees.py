"""Sentences with dependency trees, scored by attachment: which words have the right governor, and the right relation.

Outputs are a governor and a relation for each word, [..., n, longest, 2]: governors count words from 0
and are `ROOT` for the root, relations are places in the task's labels; what lies behind a sentence's end is
`NOTHING`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, ROOT, Examples
from bertscope.core.resampling import Value
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.spans import only_the_model_says


def padded(rows: Sequence[Iterable[int]], lengths: np.ndarray) -> np.ndarray:
    """Rows of whole numbers as one array [n, longest], `NOTHING` behind each row's end."""
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    found = np.full(inside.shape, NOTHING)
    found[inside] = np.fromiter((value for row in rows for value in row), np.int64, lengths.sum())
    return found


@dataclass(frozen=True)
class Trees:
    """An `Output`. `labels` are the relations that the training set has, subtypes (`nsubj:pass`) included."""

    task: str
    """The task's name, for messages."""
    labels: tuple[str, ...]
    metric: str

    kind = "trees"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "chain"
    counts_hits = False

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> Trees:
        return cls(name, labels, metric)

    @property
    def value(self) -> Value:
        return _share

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (max(map(len, _of(examples)[0]), default=0), 2)

    def gold(self, examples: Examples) -> np.ndarray:
        """[n, longest, 4]: each word's governor and relation, the relation without its subtype, and whether the word
        is punctuation (`NOTHING` where nobody says it). A relation that the training set hasn't is `NOTHING`, and one
        without a family there -1, which is never predicted."""
        governors, relations = _of(examples)
        lengths = np.array([len(row) for row in governors])
        place = {label: at for at, label in enumerate(self.labels)}
        numbered = [[place.get(relation, NOTHING) for relation in row] for row in relations]
        universal = [[self._families.get(_family(relation), -1) for relation in row] for row in relations]
        columns = [padded(each, lengths) for each in (governors, numbered, universal)]
        return np.stack([*columns, _punctuation(examples, columns[0].shape)], axis=-1)

    def learnt(self, examples: Examples) -> Any:
        return [examples.words, examples.governors, examples.marks["relation"]]

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        """Relations are matched by name; one that the task hasn't is never right."""
        if names and tuple(names) != self.labels:
            place = {label: at for at, label in enumerate(self.labels)}
            if not place.keys() & set(names):
                raise UserError(f"the parser knows none of the relations of {self.task}; fine-tune it on this task")
            table = np.array([*(place.get(label, NOTHING) for label in names), NOTHING])
            theirs = np.where(outputs[..., 1] < 0, len(names), outputs[..., 1])
            outputs = np.stack([outputs[..., 0], table[theirs]], axis=-1)
        return outputs, []

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.ndim < 3 or outputs.shape[-1] != 2:
            raise ValueError(f"outputs {outputs.shape} are not a governor and a relation for each word")

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.astype(np.int64)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n, 2]: how many of each sentence's words are right, and how many there are."""
        return self._hits(predicted, gold, self.metric)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Whether every word has the right governor and relation."""
        right, words = np.moveaxis(self._hits(predicted, gold, "las"), -1, 0)
        return (right == words).astype(np.float64)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        return None

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        return None

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole != other).any((-2, -1)).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        only_the_model_says(self.task)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        only_the_model_says(self.task)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        known = [name for name in METRICS["trees"] if _marks_punctuation(gold) or not name.endswith("no_punct")]
        return {
            name: float(_share(self._hits(predicted, gold, name).mean(0))) for name in known if name != self.metric
        }

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """Every word under its neighbour, on the side that is right more often in the training set."""
        gold = self.gold(train)

        def score(step: int) -> float:
            return float(_share(self._hits(self.chain(train, train, step), gold, "uas").mean(0)))

        return self.chain(train, examples, max((1, -1), key=score))

    def chain(self, train: Examples, examples: Examples, step: int) -> np.ndarray:
        """Every word under the next (`step` 1) or the one before (-1), in the relation that such words have most
        often in the training set; the word that has no such neighbour is the root."""
        lengths = np.array([len(row) for row in _of(examples)[0]])
        place = np.arange(lengths.max(initial=0))
        inside, at_end = place < lengths[:, None], place == (lengths[:, None] - 1 if step > 0 else 0)
        gold = self.gold(train)
        # A first word that is the root would be one under what is before it.
        chained = (gold[..., 0] == np.arange(gold.shape[1]) + step) & (gold[..., 0] >= 0)
        below, root = (np.bincount(gold[where, 1], minlength=1).argmax() for where in (chained, gold[..., 0] == ROOT))
        outputs = np.stack([np.where(at_end, ROOT, place + step), np.where(at_end, root, below)], axis=-1)
        return np.where(inside[..., None], outputs, NOTHING)

    def describe(self, examples: Examples) -> dict[str, Any]:
        _, relations = _of(examples)
        kinds = {name for row in relations for name in row}
        return {"labels": {"words": sum(map(len, relations)), "relations": len(kinds)}, "majority": None}

    def _hits(self, predicted: np.ndarray, gold: np.ndarray, metric: str) -> np.ndarray:
        if predicted.shape[-3:-1] != gold.shape[:-1]:
            raise ValueError(f"outputs {predicted.shape} are not a head and a relation for each word of {gold.shape}")
        counted = gold[..., 0] != NOTHING
        if metric.endswith("no_punct"):
            if not _marks_punctuation(gold):
                raise UserError(
                    f"{self.task} doesn't say which words are punctuation (no UPOS); score it by las or uas"
                )
            counted &= gold[..., 3] != 1
        right = predicted[..., 0] == gold[..., 0]
        if metric.startswith("las"):
            right &= self._universal(predicted[..., 1]) == gold[..., 2]
        return np.stack(np.broadcast_arrays((right & counted).sum(-1), counted.sum(-1)), axis=-1).astype(np.float64)

    @cached_property
    def _families(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(sorted({_family(label) for label in self.labels}))}

    def _universal(self, relations: np.ndarray) -> np.ndarray:
        """Relations without their subtypes, as numbers."""
        table = np.array([*(self._families[_family(label)] for label in self.labels), NOTHING])
        return table[np.where(relations < 0, len(self.labels), relations)]


def _share(means: np.ndarray) -> np.ndarray:
    """Micro average: the share of all words, not the mean of the sentences' shares."""
    right, words = means[..., 0], means[..., 1]
    return np.divide(right, words, out=np.zeros_like(right), where=words > 0)


def _family(relation: str) -> str:
    return relation.partition(":")[0]


def _punctuation(examples: Examples, shape: tuple[int, ...]) -> np.ndarray:
    """[n, longest]: whether each word is punctuation; `NOTHING` where no word has a part of speech."""
    marks = examples.marks.get("pos")
    if marks is None:
        return np.full(shape, NOTHING)
    return padded([[tag == "PUNCT" for tag in row] for row in marks], np.array([len(row) for row in marks]))


def _marks_punctuation(gold: np.ndarray) -> bool:
    return not gold.size or bool((gold[..., 3] != NOTHING).any())


def _of(examples: Examples) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[str, ...], ...]]:
    """Each sentence's governors and relations."""
    if examples.governors is None or "relation" not in examples.marks:
        raise UserError("these sentences have no trees with relations: nothing can be scored; give a treebank")
    return examples.governors, examples.marks["relation"]
