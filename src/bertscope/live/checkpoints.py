"""The checkpoints that are looked at: what each is asked for, and whether one can take parts from the other."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.model_record import ModelRecord
from bertscope.data.task import Task
from bertscope.live.messages import Reading
from bertscope.models.batches import tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.grafting import Weights, weights_of_base
from bertscope.models.means import Means
from bertscope.models.outputs.base import ModelOutput, Rows
from bertscope.models.outputs.kinds import model_output, own_output
from bertscope.models.outputs.masked_words import GuessedWords
from bertscope.models.outputs.sentence_vectors import Cosines

MASK = "[MASK]"
"""What is typed for a masked word, whatever a family's own mask is."""
_PRETRAINED = ("none", "masked-lm", "discriminator")
_MEAN_ROWS = 1000
"""Of the validation set, for what parts put out on average."""


class TypedMasks(GuessedWords):
    """Guesses at masks that are typed; a text without any is read as it is."""

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        tokens = tokenise(self.encoder.tokenizer, examples, self.encoder.max_length)
        ids = tokens.fields["input_ids"]
        masked = np.where(ids == self.encoder.tokenizer.mask_token_id, ids, NOTHING)
        return Rows.plain(tokens, right=masked - NOTHING)


@dataclass(eq=False)
class Side:
    """One of the checkpoints."""

    opened: Encoder
    """As it was opened: what it is called, and what the store knows it by."""
    encoder: Encoder
    """As it is run: the same, or its weights under the other's task head."""
    task: Task | None = None
    """As it is asked of it."""
    notes: list[str] = field(default_factory=list)

    def asked(self, reading: Reading) -> ModelOutput | None:
        """What it says of such a reading; None where it says nothing."""
        encoder = self.encoder
        if encoder.task_head == GuessedWords.task_head:
            if MASK in reading.text or MASK in (reading.pair or ""):
                return TypedMasks(encoder)
            if self.task is None or self.task.kind == GuessedWords.kind:
                return Cosines(encoder) if reading.pair is not None else TypedMasks(encoder)
        if self.task is not None:
            return model_output(encoder, self.task.output)
        try:
            return own_output(encoder, pairs=reading.pair is not None)
        except UserError:  # nothing on top that predicts
            return None

    @cached_property
    def usual(self) -> ModelOutput | None:
        """What it says of most readings."""
        pairs = self.encoder.sentence is not None if self.task is None else self.task.test.pair is not None
        return self.asked(Reading("", "" if pairs else None))

    @cached_property
    def means(self) -> Means | None:
        """What its parts put out on average over the validation set; None where there is no task."""
        if self.task is None:
            return None
        some = self.task.validation.take(range(self.mean_rows))
        found = self.encoder.means(some, self.task.output)
        return Means(found.heads.clone(), found.mlps.clone())  # gradients may pass by them

    @property
    def mean_rows(self) -> int:
        """Of the validation set, how many rows these means are of."""
        return 0 if self.task is None else min(len(self.task.validation), _MEAN_ROWS)

    @cached_property
    def record(self) -> ModelRecord:
        """What the store knows it by: all of it is hashed for that, and nothing here leaves it changed."""
        return self.opened.record

    @cached_property
    def weights(self) -> Weights:
        return Weights(self.encoder)

    @cached_property
    def marked_words(self) -> Mapping[str, tuple[str, ...]]:
        """The words of the data's own texts, where their source marks them."""
        examples = None if self.task is None else self.task.test
        if examples is None or examples.words is None or examples.pair is not None:
            return {}
        return dict(zip(examples.text, examples.words, strict=True))


def open_sides(model: Encoder, base: Encoder | None, data: Task | Examples | None) -> list[Side]:
    """The model and, where there is one, the base: under its own task head if that does the same, or else under the
    model's, where both have one architecture."""
    task = data if isinstance(data, Task) else None
    first = _with_task(Side(model, model), task)
    if base is None:
        return [first]
    if _needs_head(base) and not _needs_head(model) and not why_apart(model, base):
        note = f"what is on top of it is {model.name}'s: its pooler and its task head, above {base.name}'s weights"
        return [first, Side(base, under_task_head_of(model, base), first.task, [note])]
    return [first, _with_task(Side(base, base), task)]


def _needs_head(encoder: Encoder) -> bool:
    return encoder.task_head in _PRETRAINED


def _with_task(side: Side, task: Task | None) -> Side:
    """With the task as it answers it; where it doesn't, with what is to be said of that."""
    if task is None:
        return side
    try:
        return Side(side.opened, side.encoder, task.asked_of(side.encoder))
    except UserError as error:
        return Side(side.opened, side.encoder, None, [f"it isn't asked {task.name}: {error}"])


def under_task_head_of(model: Encoder, base: Encoder) -> Encoder:
    """The base's weights under the model's pooler and task head; nothing is copied but what is on top."""
    lent = weights_of_base(Weights(model), base)
    made = Encoder(copy.deepcopy(model.model), base.tokenizer, base.name, model.family, model.task_head)
    for name, parameter in Weights(made).parameters.items():
        parameter.data = lent[name]
    return made


def why_apart(model: Encoder, base: Encoder) -> str:
    """Why the weights of the two can't be exchanged; empty where they can."""
    if not read_alike(model, base):
        return (
            f"{model.name} and {base.name} have different tokenizers: what one's weights know of tokens, the other \
reads as something else"
        )
    try:
        weights_of_base(Weights(model), base)
    except UserError as error:
        return str(error)
    return ""


def read_alike(one: Encoder, other: Encoder) -> bool:
    """Whether a token's number means the same to both."""
    return one.tokenizer is other.tokenizer or one.tokenizer.get_vocab() == other.tokenizer.get_vocab()


def why_no_graft(sides: list[Side]) -> str:
    """Why no part can be taken from the other checkpoint; empty where one can."""
    if len(sides) < 2:
        return "there is one checkpoint only; open two, with base"
    one, other = (side.encoder for side in sides)
    if one.shares_blocks:
        return f"one block serves all layers of {one.name}: there is nothing to exchange layer by layer"
    return why_apart(one, other)


def lent_by(side: Side) -> Any:
    """From a weight's name to what a checkpoint lends of it."""
    return {name: parameter.data for name, parameter in side.weights.parameters.items()}.__getitem__
