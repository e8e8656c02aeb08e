"""Pre-training: masked words are guessed, and, if that is asked, whether a row's second part follows the first, and
what a teacher makes of each word."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm

from bertscope.core.errors import UserError
from bertscope.core.intervals import bootstrap_interval
from bertscope.data.scored import Scores
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import evaluating
from bertscope.models.new_vocabulary import continues_a_word
from bertscope.training.device_masking import Masked, Pieces, masked
from bertscope.training.packed_text import PackedText
from bertscope.training.row_course import RowCourse
from bertscope.training.taught_words import TaughtWords
from bertscope.training.text_rows import RowsOfText, TextRows

HELD_OUT_RATE = 0.15
"""Of the pieces of held-out text, whole words, whatever is masked in training: so trainings can be compared."""
_HELD_OUT_TOKENS = 65_536  # that are scored at most
_AT_ONCE = 8192  # tokens in a pass over them
_LATER_DROPOUT = 0.1  # in the model that is kept: what fine-tuning expects


@dataclass(frozen=True)
class _Guess:
    losses: Tensor
    """[row, k], of the places that are masked."""
    logits: Tensor
    """[row x k, piece]"""
    follows: Tensor | None
    """[row, 2]: whether its parts belong together."""
    states: Tensor
    """[row, token, unit]"""


class MaskedWords:
    """A packed text, some of whose words are masked anew in each step."""

    label, metric = "pre-training", "accuracy"
    tokens: Any = None  # frozen layers, which would read them, there are none
    row_course: RowCourse | None = None  # no row has a label

    def __init__(
        self,
        encoder: Encoder,
        text: PackedText,
        *,
        batch_tokens: int,
        rate: float,
        whole_words: bool,
        next_sentence: bool,
        dropout: float,
        half: bool,
        compiled: bool,
        length: int,
        seed: int,
        fingerprint: str,
        beside: Mapping[str, int] | None = None,
        taught: TaughtWords | None = None,
        teacher_weight: float = 0.0,
    ) -> None:
        """
        rate      the share of a row's pieces that is masked
        half      whether weights are kept in half precision
        compiled  whether the layers are compiled, on a GPU
        length    tokens of the rows that are scored
        beside    by name the tokens of rows of other lengths that are scored beside them, all of one part
        taught    what a teacher makes of each word, and what that counts for beside the loss of a masked piece
        """
        self.encoder, self.fingerprint = encoder, fingerprint
        self._text, self._tokens, self._rate, self._half = text, batch_tokens, rate, half
        self._next_sentence, self._rows = next_sentence, TextRows(encoder.tokenizer, next_sentence, length, seed)
        self._taught, self._teacher_weight = taught, teacher_weight
        if taught is not None:
            _add_pupil(encoder.model, taught.vectors.shape[1])
        tokenizer = encoder.tokenizer
        special = np.isin(np.arange(len(tokenizer)), tokenizer.all_special_ids)
        continues = continues_a_word(tokenizer)
        there, goes_on = (torch.from_numpy(one).to(encoder.device) for one in (special, continues & whole_words))
        self._pieces = Pieces(there, goes_on, tokenizer.mask_token_id, int(np.flatnonzero(~special)[0]))
        self._held_out = self._prepared(self._rows, length, continues)
        alone = TextRows(tokenizer, False, length, seed)
        self._beside = {
            name: self._prepared(alone, tokens, continues)
            for name, tokens in (beside or {}).items() if len(text.held_out) // tokens > next_sentence
        }  # fmt: skip
        right = np.concatenate([one.right[one.weight > 0] for _, one in self._held_out])
        self.chance, self.guessed = float(np.bincount(right).max() / len(right)), len(right)
        for module in _dropouts(encoder.model):
            module.p = dropout
        if compiled and encoder.device.type == "cuda":
            for block in encoder.layers:
                block.compile(dynamic=False)

    @property
    def lengths(self) -> np.ndarray:
        raise NotImplementedError("rows are drawn by the course")

    def batch(self, things: np.ndarray) -> RowsOfText:
        return self.fixed_batch(things, len(things)).to(self.encoder.device)

    def fixed_batch(self, things: np.ndarray, most: int) -> RowsOfText:
        """All batches of a length have one shape, and no two lengths as many rows: there is nothing to fill up."""
        words = self._taught.train if self._taught else None
        return self._rows.of(self._text.train, things, self._tokens // len(things), words)

    def loss(self, batch: RowsOfText) -> Tensor:
        return self.sized_loss(batch)[0]

    def sized_loss(self, batch: RowsOfText) -> tuple[Tensor, Tensor]:
        chosen = masked(batch.ids, self._pieces, _count(self._rate, batch.ids.shape[1]))
        guess = self._guess(batch, chosen)
        size = chosen.weight.sum().clamp(min=1)  # in a few short rows all words may have too many pieces
        loss = (guess.losses * chosen.weight).sum() / size
        if guess.follows is not None and batch.follows is not None:
            loss = loss + cross_entropy(guess.follows.float(), batch.follows)
        if self._taught is not None:
            told, words = self._told(batch)
            missed = ((self._said(guess.states) - told).square().sum(-1) * words).sum()
            loss = loss + self._teacher_weight * missed / words.sum()
        return loss, size.detach()

    def _told(self, batch: RowsOfText) -> tuple[Tensor, Tensor]:
        """[row, token, direction]: what the teacher said of each piece's word; and [row, token]: 1 where it is one.
        Masked words are among them: what the teacher saw there must be guessed."""
        assert self._taught is not None and batch.words is not None
        return self._taught.vectors[batch.words].float(), (~self._pieces.special[batch.ids]).float()

    def _said(self, states: Tensor) -> Tensor:
        """Of states of one size: were the map to see theirs, they would shrink until the optimiser's steps suit the
        map, and what is fine-tuned from them would hardly move. What it says is as small as what the teacher says."""
        said = self.encoder.model.pupil(layer_norm(states, states.shape[-1:]))
        return said.float() / math.sqrt(said.shape[-1])

    def size(self, batch: RowsOfText) -> float:
        return float(len(batch.rows))

    def score(self) -> Scores:
        """How many masked pieces of held-out text are guessed; beside it what the guesses cost, in nats for a piece
        and in bits for a word."""
        moments, known, learnt = [], [], []
        with torch.no_grad(), evaluating([self.encoder]), self._as_written():
            for rows, chosen in self._held_out:
                batch, guess, sums = self._scored(rows, chosen)
                moments.append(sums)
                if guess.follows is not None and batch.follows is not None:
                    known.append(guess.follows.argmax(1).eq(batch.follows).double().cpu().numpy())
                if self._taught is not None:
                    learnt.append(self._explaining(batch, guess.states))
            others = {name: [self._scored(*one)[2] for one in rows] for name, rows in self._beside.items()}
        sums = np.concatenate(moments)
        right, pieces, nats, _ = sums.sum(0)
        low, high = bootstrap_interval(lambda means: means[..., 0] / means[..., 1], sums)
        beside = {"held_out_loss": nats / pieces, "bits_per_word": _bits(sums)}
        for name, scored in others.items():
            if (of_them := np.concatenate(scored))[:, 3].any():  # words that could be masked
                beside[f"{name}_bits_per_word"] = _bits(of_them)
        if known:
            beside["next_sentence"] = float(np.concatenate(known).mean())
        if learnt and self._taught is not None:
            beside["taught"] = self._taught.kept * _explained(np.sum(learnt, 0))
        return Scores("accuracy", right / pieces, low, high, int(pieces), self.chance, beside)

    def _scored(self, rows: RowsOfText, chosen: Masked) -> tuple[RowsOfText, _Guess, np.ndarray]:
        """These rows, what is guessed of them, and [row, 4]: pieces that are right, pieces, their nats, and words."""
        batch, device = rows.to(self.encoder.device), self.encoder.device
        there = replace(chosen, **{one.name: getattr(chosen, one.name).to(device) for one in fields(chosen)})
        guess = self._guess(batch, there)
        hits = guess.logits.argmax(1).view_as(there.right) == there.right
        told = (hits * there.weight, there.weight, guess.losses * there.weight, there.begins)
        return batch, guess, torch.stack([one.double().sum(1) for one in told], 1).cpu().numpy()

    def _explaining(self, batch: RowsOfText, states: Tensor) -> np.ndarray:
        """What `_explained` needs, added up over these rows' words."""
        told, words = self._told(batch)
        there = words[..., None].double()
        missed, whole = (
            ((one - told).square() * there).sum() for one in (self._said(states), torch.zeros_like(told))
        )
        return (
            torch.cat([torch.stack([words.sum(), missed, whole]), (told * there).sum((0, 1))]).double().cpu().numpy()
        )

    @contextmanager
    def _as_written(self) -> Iterator[None]:
        """Run the layers in the block as they are written: what is compiled is so for the steps' shapes alone."""
        compiled = [block._compiled_call_impl for block in self.encoder.layers]
        for block in self.encoder.layers:
            block._compiled_call_impl = None
        try:
            yield
        finally:
            for block, how in zip(self.encoder.layers, compiled, strict=True):
                block._compiled_call_impl = how

    def finish(self) -> None:
        if self._taught is not None:
            del self.encoder.model.pupil
        for block in self.encoder.layers:
            block._compiled_call_impl = None
        for module in _dropouts(self.encoder.model):
            module.p = _LATER_DROPOUT
        if self._half:
            with torch.no_grad():
                for parameter in self.encoder.model.parameters():
                    parameter.copy_(parameter.half())

    @contextmanager
    def as_kept(self) -> Iterator[None]:
        """Its weights are those that are trained, but for what only the teacher is answered by."""
        model = self.encoder.model
        pupil = model._modules.pop("pupil", None)
        try:
            yield
        finally:
            if pupil is not None:
                model.pupil = pupil

    def _guess(self, batch: RowsOfText, chosen: Masked) -> _Guess:
        """The layers over the vocabulary see nothing but the places that are masked."""
        model, base = self.encoder.model, self.encoder.model.base_model
        # Part by part, so that nobody makes a mask, which rows without padding don't need: while a step is recorded
        # transformers 5.17 makes one all the same, and layers that were compiled without one are compiled anew.
        embedded = base.embeddings(input_ids=chosen.shown, token_type_ids=batch.segments)
        states = base.encoder(embedded).last_hidden_state
        rows, length, width = states.shape
        flat = chosen.places + length * torch.arange(rows, device=states.device)[:, None]
        logits = model.cls.predictions(states.reshape(-1, width).index_select(0, flat.flatten()))
        losses = cross_entropy(logits, chosen.right.flatten(), reduction="none").view(rows, -1)
        follows = model.cls.seq_relationship(base.pooler(states)) if self._next_sentence else None
        return _Guess(losses, logits, follows, states)

    def _prepared(self, rows: TextRows, length: int, continues: np.ndarray) -> list[tuple[RowsOfText, Masked]]:
        """Rows of held-out text, evenly spread over it, with words masked once and for all."""
        text, device = self._text.held_out, torch.device("cpu")
        there = refuse_short_text(text, length, next_sentence=self._next_sentence)
        count = min(there, max(1, min(_HELD_OUT_TOKENS, 4 * self._tokens) // length))
        starts = np.linspace(0, there - 1, count).astype(np.int64) * length
        pieces = replace(self._pieces, special=self._pieces.special.cpu(), continues=torch.from_numpy(continues))
        found = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for some in np.array_split(starts, max(1, count * length // _AT_ONCE)):
                made = rows.of(text, some, length, self._taught.held_out if self._taught else None)
                found.append((made.to(device), masked(made.ids, pieces, _count(HELD_OUT_RATE, length))))
        return found


def refuse_short_text(held_out: np.ndarray, length: int, *, next_sentence: bool) -> int:
    """How many rows there are of held-out text; some are needed."""
    there = len(held_out) // length - next_sentence  # behind the last there may be no room for a second part
    if there < 1:
        raise UserError(
            f"too little text is held out to be scored: {len(held_out):,} pieces, a row has {length}; give more "
            "text, or a higher --held-out"
        )
    return there


def _bits(sums: np.ndarray) -> float:
    """For a word, of [row, 4]."""
    _, _, nats, words = sums.sum(0)
    return float(nats / math.log(2) / words)


def _explained(sums: np.ndarray) -> float:
    """The share of the variance of what was told that is said: of n, the squares of what is missed, and of what was
    told, and the sum of that by direction."""
    n, missed, whole, *told = sums
    return float(1 - missed / (whole - np.square(told).sum() / n))


def _add_pupil(model: Any, directions: int) -> None:
    """What answers the teacher: a linear map of the last states, a part of the model while it learns. It begins with
    0: drawn, it would say many times as much as the teacher says, and be all that is learnt at first."""
    pupil = nn.Linear(model.config.hidden_size, directions, device=next(model.parameters()).device)
    for parameter in pupil.parameters():
        nn.init.zeros_(parameter)
    model.pupil = pupil


def _count(rate: float, length: int) -> int:
    """How many pieces of a row are masked; there is always one that isn't."""
    return max(1, min(round(rate * length), length - 3))


def _dropouts(model: Any) -> list[nn.Dropout]:
    return [module for module in model.modules() if isinstance(module, nn.Dropout)]
