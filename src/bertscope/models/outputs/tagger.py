"""A tag for each word: the library's task head for token classification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.functional import log_softmax

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.output import SILENT, Output
from bertscope.core.statement import number_of
from bertscope.models.batches import WINDOW, Shape, tokenise_whole
from bertscope.models.evaluating import at_least_single
from bertscope.models.new_task_head import with_new_task_head
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import balanced_weights, kl
from bertscope.models.outputs.contrasted import between
from bertscope.models.outputs.explained import WordText, above_others, chosen_words, moved_word, on
from bertscope.models.word_windows import word_windows
from bertscope.models.words import NO_WORD

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


_OUTSIDE = "O"
"""The tag of what is no part of an entity."""


@dataclass(frozen=True)
class WordBatch(RowBatch):
    """Rows of some sentences, and where their words are."""

    at: Tensor | None = None
    """[example, word]: the token that speaks for it, counted through all rows; 0 where there is none."""
    read: Tensor | None = None
    """[example, word]: whether there is one."""


class Tagger(ModelOutput):
    """What a model says of a batch is a number for each tag of each word [example, word, tag]; `SILENT` of words that
    have no token, and behind a sentence's end."""

    kind = "tokens"
    task_head = "token-classifier"
    rows_stand_alone = False
    padding = SILENT
    _weights: Tensor | None = None
    says_of_words = True

    def __init__(self, encoder: Encoder, output: Output | None = None) -> None:
        super().__init__(encoder, output)
        self._match = None if output is None else output.match(encoder.labels)  # type: ignore[attr-defined]
        self._had: dict[torch.device, Tensor] = {}

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        def build(config: Any) -> Any:
            config.id2label = dict(enumerate(output.labels))
            config.label2id = {label: index for index, label in config.id2label.items()}
            config.problem_type = None
            try:
                return transformers.AutoModelForTokenClassification.from_config(config, dtype=torch.float32)
            except ValueError as error:
                raise UserError(
                    f"transformers has no task head for tags on a {config.model_type}; give a model of another family"
                ) from error

        return with_new_task_head(base, cls.task_head, build, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        super().refuse_other(encoder, output)
        output.match(encoder.labels)  # type: ignore[attr-defined]

    def width(self, examples: Examples) -> tuple[int, ...]:
        if examples.words is not None:
            most = max(map(len, examples.words), default=0)
        else:
            read = (tokenise_whole(self.encoder.tokenizer, part) for part in _parts(examples))
            most = max((int(tokens.words.max(initial=NO_WORD)) + 1 for tokens in read), default=0)
        return (most, self.encoder.model.config.num_labels)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        if examples.pair is not None:
            raise UserError(f"{self.encoder.name} tags the words of single texts; leave out the second ones")
        windows = word_windows(self.encoder.tokenizer, examples, self.encoder.max_length)
        marks = {"word": windows.word + 1}  # 0 is what stands behind a row's end
        if gold and self.output:
            right = self.output.gold(examples)
            row = np.repeat(windows.example, windows.tokens.lengths)
            marks["gold"] = np.where(windows.word >= 0, right[row, windows.word], NOTHING)
        return Rows(windows.tokens, windows.example, np.zeros(len(examples), dtype=bool), marks=marks)

    def batch(
        self, rows: Rows, starts: np.ndarray, group: np.ndarray, first: int = 0, shape: Shape | None = None
    ) -> WordBatch:
        made = super().batch(rows, starts, group, first, shape)
        tokens, own, device = rows.tokens, made.rows, made.owner.device
        counts = np.diff(starts)[group] if shape is None else np.full(len(group), shape.rows)
        row = np.repeat(np.arange(len(own)), tokens.lengths[own])
        place = np.concatenate([np.arange(length) for length in tokens.lengths[own]])
        word = rows.marks["word"][tokens.starts[own][row] + place] - 1
        owner = np.repeat(np.arange(len(group)), counts)[row]
        words = int(word.max()) + 1
        at = np.zeros((len(group), words if shape is None else max(words, shape.length)), dtype=np.int64)
        read, speaks = np.zeros(at.shape, dtype=bool), word != NO_WORD
        at[owner[speaks], word[speaks]] = (row * made.special.shape[1] + place)[speaks]
        read[owner[speaks], word[speaks]] = True
        known = {each.name: getattr(made, each.name) for each in fields(made)}
        known |= {name: torch.from_numpy(each).to(device) for name, each in (("at", at), ("read", read))}
        return WordBatch(**known)

    def notes_on(self, rows: Rows) -> tuple[str, ...]:
        return self._on_windows(np.bincount(rows.example), "training")

    def notes_on_scored(self, examples: Examples) -> tuple[str, ...]:
        counts = [np.bincount(self.rows(part).example) for part in _parts(examples)]
        return self._on_windows(np.concatenate([np.zeros(0, dtype=np.int64), *counts]), "scored")

    def _on_windows(self, windows: np.ndarray, split: str) -> tuple[str, ...]:
        """A note on how many sentences have several."""
        long = number_of(int((windows > 1).sum()), f"{split} sentence is", f"{split} sentences are")
        many = f"{long} longer than {self.encoder.max_length} tokens, and read in windows"
        return (many,) if (windows > 1).any() else ()

    def run(self, batch: WordBatch) -> Tensor:  # type: ignore[override]
        logits = at_least_single(self.encoder.model(**batch.inputs).logits)
        assert batch.at is not None and batch.read is not None
        return logits.flatten(0, 1)[batch.at].where(batch.read[..., None], SILENT)

    def read_tokens(self, batch: WordBatch) -> Tensor:  # type: ignore[override]
        """The one that speaks for each word."""
        assert batch.at is not None and batch.read is not None
        read = torch.zeros_like(batch.special)
        read.view(-1)[batch.at[batch.read]] = True
        return read

    def outputs(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw

    def losses(self, raw: Tensor, batch: WordBatch) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Of the words that are read, and whose tag the model has."""
        scores, gold, weights = self._in_order(raw), _gold(batch), self._word_weights(batch)
        found = torch.logsumexp(scores, -1) - scores.gather(-1, gold.clamp_min(0)[..., None])[..., 0]
        weights = weights.to(found.dtype)
        return (found * weights).where(weights > 0, 0.0).sum(1), _at_least_one(weights)

    def size(self, batch: WordBatch) -> float:  # type: ignore[override]
        return float(_at_least_one(self._word_weights(batch)).sum())

    def balance(self, train: Examples) -> None:
        assert self.output is not None
        self._weights = balanced_weights(self.output.gold(train), len(self.output.labels)).to(self.encoder.device)

    def _word_weights(self, batch: WordBatch) -> Tensor:
        """[example, word]: what a word counts for in the loss; 0 where it isn't read, or the model lacks its tag."""
        assert batch.read is not None and self.output is not None and self._match is not None
        gold = _gold(batch)
        weights = self._has(gold.device)
        if self._weights is not None:
            weights = weights * self._weights
        return weights[gold.clamp_min(0)].where(batch.read & (gold >= 0), 0.0)

    def _has(self, device: torch.device) -> Tensor:
        """[label]: 1 where the model has the task's tag; brought to the device once."""
        if device not in self._had:
            assert self.output is not None and self._match is not None
            has = [float(bool(at)) for at in self._match.places[: len(self.output.labels)]]
            self._had[device] = torch.tensor(has, device=device)
        return self._had[device]

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """KL(whole || other) in nats, averaged over the words of a sentence; tags that mean the same to the task are
        one."""
        read = _is_said(whole)
        return kl(self._in_order(whole), self._in_order(raw)).where(read, 0.0).sum(1) / read.sum(1).clamp_min(1)

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        """T^2 KL(teacher || student) of the words' tags, averaged over all words."""
        assert self.output is not None
        own, words = len(self.output.labels), min(raw.shape[1], teacher.shape[1])
        student, teacher = self._in_order(raw)[:, :words, :own], teacher[:, :words, :own]
        said = _is_said(student) & _is_said(teacher)
        if weight is not None:
            said = said & (weight > 0)[:, None]
        soft, hard = (log_softmax(each / temperature, -1) for each in (student, teacher))
        found = (hard.exp() * (hard - soft)).sum(-1).where(said, 0.0)
        return temperature**2 * found.sum() / said.sum().clamp_min(1)

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        """The tag of each word that is part of an entity, as far as the model says; of every word where no tag is O,
        or where all, a word or a tag are asked for."""
        scores = self._in_order(raw)
        said = _is_said(scores).cpu().numpy()
        tag = scores.argmax(-1).cpu().numpy() if wanted.label is None else np.full(said.shape, wanted.label)
        outside = [place for place, name in enumerate(self.names) if name == _OUTSIDE]
        if wanted == Wanted():
            said = said & ~np.isin(tag, outside)
        example, word = np.nonzero(chosen_words(said, wanted))
        return Targets(example, word, tag[example, word])

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The tag's logit at the word minus the mean of the others that the model has."""
        example, word, tag = on(raw.device, targets.example, targets.place, targets.label)
        scores = self._in_order(raw[example, word])
        return above_others(scores, tag, scores > SILENT)

    def probability(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        example, word, tag = on(raw.device, targets.example, targets.place, targets.label)
        return self._in_order(raw[example, word]).softmax(1).gather(1, tag[:, None])[:, 0]

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        """[example, word]"""
        scores = self._in_order(raw)
        return scores.argmax(-1).where(_is_said(scores), NOTHING)

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        """The tags' logits at the words that have another tag, added up."""
        words = raw.shape[1]
        return between(self._in_order(raw), one[:, :words], other[:, :words]).sum(1)

    def about(self, targets: Targets) -> np.ndarray:
        return targets.place[:, None]

    def without_words(self, targets: Targets, kept: np.ndarray) -> Targets:
        return replace(targets, place=moved_word(targets.place, kept))

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        each = zip(targets.example, targets.place, targets.label, strict=True)
        return [f"{self.names[tag]} of {word(example, place)}" for example, place, tag in each]

    @property
    def names(self) -> tuple[str, ...]:
        """The task's tags, and behind them the model's own that the task lacks."""
        if self.output is None or self._match is None:
            return self.encoder.labels
        own, further = self.output.labels, self._match.places[len(self.output.labels) :]
        return (*own, *("/".join(self.encoder.labels[at] for at in places) or _OUTSIDE for places in further))

    def place_of(self, name: str) -> int:
        place = super().place_of(name)
        if self._match is not None and not self._match.places[place]:
            raise UserError(f"{self.encoder.name} has no tag {name!r}, which the task has; ask for one of its own")
        return place

    def _in_order(self, raw: Tensor) -> Tensor:
        """The model's numbers in the order of the task's tags."""
        if self._match is None or self._match.is_plain:
            return raw
        silent = raw.new_full(raw.shape[:-1], SILENT)
        return torch.stack([raw[..., list(at)].logsumexp(-1) if at else silent for at in self._match.places], -1)


def _parts(examples: Examples) -> Iterator[Examples]:
    """A window at a time."""
    for first in range(0, len(examples), WINDOW):
        yield examples.take(range(first, min(first + WINDOW, len(examples))))


def _gold(batch: WordBatch) -> Tensor:
    """[example, word]: the place of its tag among the task's; negative where nothing is said of it."""
    assert batch.at is not None
    return batch.marks["gold"].flatten()[batch.at]


def _at_least_one(weights: Tensor) -> Tensor:
    """Weights of words [example, word] added up; 1 where a sentence has none that counts, and its loss is 0."""
    total = weights.sum(1)
    return total.where(total > 0, 1.0)


def _is_said(scores: Tensor) -> Tensor:
    """[example, word]: whether anything is said of the word."""
    return scores.amax(-1) > SILENT
