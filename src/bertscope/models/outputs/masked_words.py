"""Masked words: a masked language model's guesses at the pieces of words that it isn't shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.bucketing import rounded
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.output import Output
from bertscope.models.batches import Shape
from bertscope.models.evaluating import at_least_single
from bertscope.models.masked_words import guessed, guesses, mask_words, right_pieces, typed_masks
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import kl
from bertscope.models.outputs.contrasted import between
from bertscope.models.outputs.explained import WordText, on
from bertscope.models.own_task_head import with_own_task_head

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_AT_ONCE = 64
"""Pieces whose logits are held in double precision at a time: a vocabulary can have 250,000."""


@dataclass(frozen=True)
class PieceBatch(RowBatch):
    """Rows of some texts, and where their masked pieces are: as many places whatever is masked."""

    at: Tensor | None = None
    """[piece]: its token, counted through all rows; 0 where there is none."""
    there: Tensor | None = None
    """[piece]: whether there is one."""


@dataclass(frozen=True)
class _Guesses:
    """What a model says of a batch's masked pieces, row by row."""

    logits: Tensor
    """[piece, vocabulary]"""
    right: Tensor
    """[piece]"""
    row: Tensor
    """[piece]"""
    place: Tensor
    """[piece]: which of its row's masked pieces it is."""
    exact: bool = False
    """Whether losses are computed in double precision."""
    there: Tensor | None = None
    """[piece]: whether it counts; None where all do."""

    def losses(self) -> Tensor:
        """[piece], in nats; 0 of what doesn't count."""
        if self.there is not None:
            return cross_entropy(self.logits, self.right, reduction="none").where(self.there, 0.0)
        if not self.exact:
            return cross_entropy(self.logits, self.right, reduction="none")
        each = zip(self.logits.split(_AT_ONCE), self.right.split(_AT_ONCE), strict=True)
        return torch.cat([cross_entropy(logits.double(), right, reduction="none") for logits, right in each])

    def per_row(self, values: Tensor, rows: int) -> Tensor:
        """Values of pieces, added up for each row."""
        return values.new_zeros(rows).index_add(0, self.row, values)

    def counts(self, like: Tensor, rows: int) -> Tensor:
        """[row]: masked pieces; 1 where nothing is masked that is read, and all sums are 0."""
        each = torch.ones_like(like) if self.there is None else self.there.to(like.dtype)
        return self.per_row(each, rows).clamp_min(1)


class _Guessing(nn.Module):
    """A masked language model that takes tensors in an order and gives its guesses."""

    def __init__(self, model: nn.Module, reads: Sequence[str]) -> None:
        super().__init__()
        self.model, self._reads = model, tuple(reads)

    def forward(self, *inputs: Tensor) -> tuple[Tensor]:
        return (guessed(self.model(**dict(zip(self._reads, inputs, strict=True)))),)


class GuessedWords(ModelOutput):
    """A row for each example, with [MASK] in the place of masked pieces; the marks say what stood there."""

    kind = "masked"
    words_can_go = False
    task_head = "masked-lm"
    by_itself = False
    reads_typed_masks = True

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        """What guesses comes with the base: nothing is new."""
        cls.refuse_other(base, output)
        return with_own_task_head(base, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        if encoder.task_head != cls.task_head:
            raise UserError(
                f"{encoder.name} doesn't guess masked words (it is: {encoder.task_head}), and {output.task} asks "  # type: ignore[attr-defined]
                "for them; give a pretrained model with its masked-word head, or a task with labels"
            )
        if encoder.tokenizer.mask_token_id is None:
            raise UserError(f"the tokenizer of {encoder.name} has no mask token: no word can be masked; give another")

    def width(self, examples: Examples) -> tuple[int, ...]:
        pieces = examples.label
        if pieces is None or pieces.ndim != 2:
            pieces = right_pieces(self.encoder.tokenizer, examples, self.encoder.max_length)
        return (pieces.shape[1], 2)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        tokens, pieces = mask_words(self.encoder.tokenizer, examples, self.encoder.max_length)
        if self.output is None:
            tokens, pieces = typed_masks(tokens, pieces, self.encoder.tokenizer.mask_token_id)
        # What lies behind a row's end is 0 in marks, and means nothing there.
        return Rows.plain(tokens, right=pieces - NOTHING)

    def deployed(self, model: nn.Module) -> nn.Module:
        return _Guessing(model, self.reads)

    def batch(
        self, rows: Rows, starts: np.ndarray, group: np.ndarray, first: int = 0, shape: Shape | None = None
    ) -> RowBatch:
        made = super().batch(rows, starts, group, first, shape)
        if shape is None:
            return made
        at = (made.marks["right"].flatten() != 0).nonzero()[:, 0]
        more = rounded(max(1, len(at))) - len(at)
        there = torch.arange(len(at) + more) < len(at)
        known = {each.name: getattr(made, each.name) for each in fields(made)}
        return PieceBatch(**known, at=torch.nn.functional.pad(at, (0, more)), there=there)

    def run(self, batch: RowBatch) -> _Guesses:
        right = batch.marks["right"] + NOTHING
        if isinstance(batch, PieceBatch):
            assert batch.at is not None
            logits = at_least_single(guesses(self.encoder, batch.inputs, batch.at))
            row, own = batch.at // right.shape[1], right.flatten()[batch.at].clamp_min(0)
            return _Guesses(logits, own, row, torch.zeros_like(row), there=batch.there)
        masked = right != NOTHING
        row, _ = masked.nonzero(as_tuple=True)
        place = (masked.cumsum(1) - 1)[masked]
        return _Guesses(at_least_single(guesses(self.encoder, batch.inputs, masked)), right[masked], row, place)

    def read_tokens(self, batch: RowBatch) -> Tensor:
        return batch.marks["right"] != 0

    def log_ranks(self, raw: _Guesses) -> tuple[Tensor, Tensor]:
        """Of equals, half are before it."""
        own = raw.logits.gather(1, raw.right[:, None])
        before, equal = (raw.logits > own).sum(1), (raw.logits == own).sum(1)
        return (before + (equal + 1) / 2).double().log2(), raw.row

    def double(self, raw: _Guesses) -> _Guesses:
        return replace(raw, exact=True)

    def outputs(self, raw: _Guesses, batch: RowBatch) -> Tensor:
        """Each piece's best guess, and the bits that the right one takes."""
        most = int(raw.place.max()) + 1 if len(raw.place) else 1
        found = raw.logits.new_full((len(batch), most, 2), NOTHING)
        found[raw.row, raw.place, 0] = raw.logits.argmax(-1).to(found.dtype)
        found[raw.row, raw.place, 1] = raw.losses().to(found.dtype) / log(2)
        return found

    def losses(self, raw: _Guesses, batch: RowBatch) -> tuple[Tensor, Tensor]:
        found = raw.losses()
        return raw.per_row(found, len(batch)), raw.counts(found, len(batch))

    def size(self, batch: RowBatch) -> float:
        return float((batch.marks["right"] + NOTHING != NOTHING).sum(1).clamp_min(1).sum())

    def divergence(self, whole: _Guesses, raw: _Guesses, batch: RowBatch) -> Tensor:
        """KL(whole || other) in nats over the vocabulary, averaged over a text's masked pieces."""
        each = zip(whole.logits.split(_AT_ONCE), raw.logits.split(_AT_ONCE), strict=True)
        found = torch.cat([kl(before.double(), after.double()) for before, after in each])
        return raw.per_row(found, len(batch)) / raw.counts(found, len(batch))

    def targets(self, raw: _Guesses, batch: RowBatch, wanted: Wanted) -> Targets:
        """The best guess at each masked piece."""
        guess = raw.logits.argmax(-1) if wanted.label is None else torch.full_like(raw.row, wanted.label)
        return Targets(*(each.cpu().numpy() for each in (raw.row, raw.place, guess)))

    def quantity(self, raw: _Guesses, batch: RowBatch, targets: Targets) -> Tensor:
        """The piece's logit minus the mean over the vocabulary."""
        logits, piece = self._explained(raw, targets)
        return piece - logits.mean(1)

    def probability(self, raw: _Guesses, batch: RowBatch, targets: Targets) -> Tensor:
        logits, piece = self._explained(raw, targets)
        return (piece - logits.logsumexp(1)).exp()

    def answers(self, raw: _Guesses, batch: RowBatch) -> Tensor:
        """[example, masked piece]: the best guess."""
        most = int(raw.place.max()) + 1 if len(raw.place) else 1
        found = torch.full((len(batch), most), NOTHING, device=raw.row.device)
        return found.index_put((raw.row, raw.place), raw.logits.argmax(-1))

    def contrast(self, raw: _Guesses, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        found = between(raw.logits, *(each[raw.row, raw.place] for each in (one, other)))
        return raw.per_row(found, len(batch))

    def _explained(self, raw: _Guesses, targets: Targets) -> tuple[Tensor, Tensor]:
        """The logits of each target's masked piece [target, vocabulary], and of the piece that is explained."""
        example, place, piece = on(raw.row.device, targets.example, targets.place, targets.label)
        logits = raw.logits[torch.searchsorted(raw.row, example) + place]
        return logits, logits.gather(1, piece[:, None])[:, 0]

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        pieces = self.encoder.tokenizer.convert_ids_to_tokens(targets.label.tolist())
        return [f"{piece}, masked piece {place + 1}" for piece, place in zip(pieces, targets.place, strict=True)]

    @property
    def pushed(self) -> tuple[str, ...]:
        return ()

    def place_of(self, name: str) -> int:
        known = self.encoder.tokenizer.get_vocab()
        if name not in known:
            raise UserError(f"the vocabulary of {self.encoder.name} has no piece {name!r}; give one that it has")
        return known[name]
