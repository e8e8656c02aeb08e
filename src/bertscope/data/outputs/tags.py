"""A tag for each word: named entities, where tags are IOB2, or classes of words such as parts of speech.

Outputs are a number for each tag of each word, [..., n, longest, c]; `SILENT` where nothing is said. Predictions and
gold are places among the task's tags, `NOTHING` behind a sentence's end, and in predictions also of words that aren't
read. What a model predicts that the task doesn't know has places behind the task's own (`other_tags`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.output import SILENT
from bertscope.core.resampling import Value
from bertscope.data.entities import entity_counts, entity_counts_by_type, entity_types, error_kinds
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.classes import log_shares, model_by_model
from bertscope.data.outputs.tag_names import TagMatch, match_tags, other_tags, speak_of_entities
from bertscope.data.outputs.trees import padded

TAG = "tag"
"""The kind of mark that tags are."""
WORDS = "word_accuracy"


def usual_metric(labels: Sequence[str]) -> str:
    """What stands for a task with these tags."""
    return METRICS["tokens"][0] if speak_of_entities(labels) else WORDS


@dataclass(frozen=True)
class Tags:
    """An `Output`. `labels` are the tags that the task has."""

    task: str
    """The task's name, for messages."""
    labels: tuple[str, ...]
    metric: str

    kind = "tokens"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "commonest tag"
    counts_hits = False

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> Tags:
        if metric != WORDS and not speak_of_entities(labels):
            raise UserError(f"metric {metric} is for entities (B-PER, I-PER, O), and {name} has none; give {WORDS}")
        return cls(name, labels, metric)

    @cached_property
    def entities(self) -> bool:
        """Whether the tags speak of entities."""
        return speak_of_entities(self.labels)

    @property
    def value(self) -> Value:
        return _VALUES[self.metric]

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (max(map(len, examples.words or ()), default=0), len(self.labels))

    def gold(self, examples: Examples) -> np.ndarray:
        """[n, longest]: each word's tag."""
        place = {label: at for at, label in enumerate(self.labels)}
        tags = _of(examples)
        try:
            numbered = [[place[tag] for tag in row] for row in tags]
        except KeyError as error:
            raise UserError(f"a word has the tag {error}, which {self.task} hasn't; mend it") from None
        return padded(numbered, np.array([len(row) for row in tags], dtype=np.int64))

    def learnt(self, examples: Examples) -> Any:
        return [examples.words, _of(examples)]

    def match(self, names: Sequence[str]) -> TagMatch:
        return match_tags(names, self.labels, self.task)

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        found = self.match(names)
        if outputs.size:
            outputs = found.ordered(outputs)
        return outputs, list(found.notes)

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        further = outputs.shape[-1] - len(self.labels)
        if outputs.ndim < 3 or further < 0 or (further > 0 and further % 2 == 0):
            raise UserError(
                f"outputs {outputs.shape} are not a number for each of the {len(self.labels)} tags of {self.task} at "
                "each word; fine-tune the model on this task"
            )

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """The likeliest tag; of hundreds of forms of a model, so that they are small numbers."""
        return np.where(outputs.max(-1) > SILENT, outputs.argmax(-1), NOTHING).astype(np.int16)

    def certain(self, tags: np.ndarray) -> np.ndarray:
        """Outputs that have no doubt of these tags [n, longest]."""
        found = np.eye(len(self.labels), dtype=np.float32)[tags.clip(0)]
        return np.where((tags >= 0)[..., None], found, np.float32(SILENT))

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n, 3]: how many entities of each sentence are right, predicted and there; of accuracy [..., n, 2]:
        how many words are right, and how many there are."""
        return self._moments(predicted, gold, self.metric)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Whether every word has the right tag."""
        self._refuse_other_words(predicted, gold)
        return ((predicted == gold) | (gold < 0)).all(-1).astype(np.float64)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        """A tag for each word that is read. What a model predicts that the task hasn't got is decided, too."""
        counted = (gold >= 0) & (outputs.max(-1) > SILENT)
        example, said = np.nonzero(counted)[0], outputs[counted]
        further = said.shape[-1] - len(self.labels)
        names = (*self.labels, *other_tags(self.labels, further)[:further])
        return Decisions(example, np.exp(log_shares(said)), said.argmax(-1), gold[counted], names)

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        """By type of entity, where tags speak of entities; otherwise by tag."""
        if self.entities:
            words, right, starts, tags = self._end_to_end(predicted, gold)
            own = set(entity_types(self.labels))
            names, counts = entity_types(tags), entity_counts_by_type(words, right, starts, tags)
            return tuple(name for name in names if name in own), counts[:, [name in own for name in names]]
        given, right = (each[..., None] == np.arange(len(self.labels)) for each in (predicted, gold))
        given &= (gold >= 0)[..., None]
        return self.labels, np.stack([(given & right).sum(1), given.sum(1), right.sum(1)], axis=-1).astype(float)

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether any word has another tag."""
        return (whole != other).any(-1).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The cross-entropy in nats, averaged over the words of each sentence that are read and whose tag the model
        has."""

        def of_model(one: np.ndarray) -> np.ndarray:
            right = gold.clip(0)[..., None]
            counted = (gold >= 0) & (np.take_along_axis(one, right, -1)[..., 0] > SILENT)
            return _mean(-np.take_along_axis(log_shares(one), right, -1)[..., 0], counted)

        return model_by_model(of_model, outputs, axes=3)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Kullback and Leibler's, KL(whole || other) in nats, averaged over the words of each sentence."""
        before, counted = log_shares(whole), whole.max(-1) > SILENT
        shares = np.exp(before)

        def of_model(one: np.ndarray) -> np.ndarray:
            # Never below 0, but for rounding.
            return _mean(np.maximum((shares * (before - log_shares(one))).sum(-1), 0.0), counted)

        return model_by_model(of_model, other, axes=3)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        names = METRICS["tokens"] if self.entities else (WORDS,)
        return {
            name: float(_VALUES[name](self._moments(predicted, gold, name).mean(0)))
            for name in names
            if name != self.metric
        }

    def by_type(self, predicted: np.ndarray, gold: np.ndarray) -> list[dict[str, Any]]:
        """Precision, recall and F1 of each type of entity in one model's predictions, the types that the task has
        first; those without a name are of the model alone."""
        words, right, starts, tags = self._end_to_end(predicted, gold)
        sums = entity_counts_by_type(words, right, starts, tags).sum(0)
        found = dict(zip(entity_types(tags), sums, strict=True))
        own = entity_types(self.labels)
        return [
            {"type": name if name in own else "", "predicted": int(counts[1]), "gold": int(counts[2])}
            | {key: float(_VALUES[f"entity_{key}"](counts)) for key in ("precision", "recall", "f1")}
            for name, counts in sorted(found.items(), key=lambda each: (each[0] not in own, each[0]))
        ]

    def errors(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, int]:
        """How many entities are right in one model's predictions, and how many go wrong in which way."""
        return error_kinds(*self._end_to_end(predicted, gold))

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The commonest tag, for every word."""
        gold = self.gold(examples)
        return self.certain(np.where(gold >= 0, self.commonest(train), NOTHING))

    def commonest(self, train: Examples) -> int:
        """The place of the tag that most words have."""
        gold = self.gold(train)
        return int(np.bincount(gold[gold >= 0], minlength=len(self.labels)).argmax())

    def describe(self, examples: Examples) -> dict[str, Any]:
        gold = self.gold(examples)
        counts = np.bincount(gold[gold >= 0], minlength=len(self.labels)).tolist()
        found = dict(zip(self.labels, counts, strict=True))
        if self.entities:
            found = {"words": sum(counts)} | {row["type"]: row["gold"] for row in self.by_type(gold, gold)}
        return {"labels": found, "majority": self.labels[int(np.argmax(counts))]}

    def _moments(self, predicted: np.ndarray, gold: np.ndarray, metric: str) -> np.ndarray:
        if metric != WORDS:
            return entity_counts(*self._end_to_end(predicted, gold), strict=metric.startswith("strict"))
        self._refuse_other_words(predicted, gold)
        counted = gold >= 0
        right = ((predicted == gold) & counted).sum(-1)
        return np.stack(np.broadcast_arrays(right, counted.sum(-1)), axis=-1).astype(np.float64)

    def _end_to_end(
        self, predicted: np.ndarray, gold: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Sequence[str]]:
        """Predicted and right tags of all words [..., words], where sentences begin among them, and the tags' names.
        What isn't said is no entity."""
        self._refuse_other_words(predicted, gold)
        counted = gold >= 0
        starts = np.concatenate([[0], np.cumsum(counted.sum(1))])
        words = predicted[..., counted]
        further = int(words.max(initial=0)) + 1 - len(self.labels)
        tags = (*self.labels, *other_tags(self.labels, further | 1))
        return np.where(words < 0, len(self.labels), words), gold[counted], starts, tags

    def _refuse_other_words(self, predicted: np.ndarray, gold: np.ndarray) -> None:
        if predicted.shape[-2:] != gold.shape:
            raise ValueError(f"predictions {predicted.shape} are not a tag for each word of {gold.shape}")


def _share(part: int, *wholes: int) -> Callable[[np.ndarray], np.ndarray]:
    """One count over the mean of others; 0 where there are none."""

    def value(means: np.ndarray) -> np.ndarray:
        whole = means[..., list(wholes)].mean(-1)
        return np.divide(means[..., part], whole, out=np.zeros_like(whole), where=whole > 0)

    return value


_VALUES: dict[str, Value] = {
    "entity_f1": _share(0, 1, 2),
    "strict_entity_f1": _share(0, 1, 2),
    "entity_precision": _share(0, 1),
    "entity_recall": _share(0, 2),
    WORDS: _share(0, 1),
}


def _mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The mean over the words [n, words] that count; 0 where none does."""
    return np.where(counted, values, 0.0).sum(-1) / np.maximum(counted.sum(-1), 1)


def _of(examples: Examples) -> tuple[tuple[str, ...], ...]:
    """Each sentence's tags."""
    if examples.words is None or TAG not in examples.marks:
        raise UserError("these sentences have no words with tags: nothing can be scored; give a file that has them")
    return examples.marks[TAG]
