"""Pre-training: masked words are guessed, and, if that is asked, whether a row's second part follows the first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bertscope.core.errors import UserError
from bertscope.core.intervals import bootstrap_interval
from bertscope.data.scored import Scores
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import evaluating
from bertscope.models.new_vocabulary import continues_a_word, ends_a_sentence
from bertscope.training.device_masking import Masked, Pieces, masked
from bertscope.training.packed_text import PackedText
from bertscope.training.row_course import RowCourse

HELD_OUT_RATE = 0.15
"""Of the pieces of held-out text, whole words, whatever is masked in training: so trainings can be compared."""
_HELD_OUT_TOKENS = 65_536  # that are scored at most
_AT_ONCE = 8192  # tokens in a pass over them
_LATER_DROPOUT = 0.1  # in the model that is kept: what fine-tuning expects


@dataclass(frozen=True)
class RowsOfText:
    """Full rows of a text: nothing is padding."""

    rows: np.ndarray
    """Where they begin in the text."""
    ids: Tensor
    """[row, token]"""
    segments: Tensor | None = None
    """[row, token]: 1 in the second part."""
    follows: Tensor | None = None
    """[row]: 0 where the second part follows the first in the text, 1 where it is from elsewhere; as BERT has it."""

    def to(self, device: torch.device) -> RowsOfText:
        others = [None if one is None else one.to(device) for one in (self.segments, self.follows)]
        return RowsOfText(self.rows, self.ids.to(device), *others)


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
    ) -> None:
        """
        rate      the share of a row's pieces that is masked
        half      whether weights are kept in half precision
        compiled  whether the layers are compiled, on a GPU
        length    tokens of the rows that are scored
        """
        self.encoder, self.fingerprint = encoder, fingerprint
        self._text, self._tokens, self._rate, self._half = text, batch_tokens, rate, half
        self._next_sentence, self._seed = next_sentence, seed
        self._ends = ends_a_sentence(encoder.tokenizer)
        tokenizer = encoder.tokenizer
        special = np.isin(np.arange(len(tokenizer)), tokenizer.all_special_ids)
        continues = continues_a_word(tokenizer)
        there, goes_on = (torch.from_numpy(one).to(encoder.device) for one in (special, continues & whole_words))
        self._pieces = Pieces(there, goes_on, tokenizer.mask_token_id, int(np.flatnonzero(~special)[0]))
        self._held_out = self._prepared(length, continues)
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
        return self._rows(self._text.train, things, self._tokens // len(things))

    def loss(self, batch: RowsOfText) -> Tensor:
        return self.sized_loss(batch)[0]

    def sized_loss(self, batch: RowsOfText) -> tuple[Tensor, Tensor]:
        chosen = masked(batch.ids, self._pieces, _count(self._rate, batch.ids.shape[1]))
        losses, _, follows = self._guess(batch, chosen)
        size = chosen.weight.sum()
        loss = (losses * chosen.weight).sum() / size
        if follows is not None and batch.follows is not None:
            loss = loss + cross_entropy(follows.float(), batch.follows)
        return loss, size.detach()

    def size(self, batch: RowsOfText) -> float:
        return float(len(batch.rows))

    def score(self) -> Scores:
        """How many masked pieces of held-out text are guessed; beside it what the guesses cost, in nats for a piece
        and in bits for a word."""
        moments, known = [], []
        with torch.no_grad(), evaluating([self.encoder]), self._as_written():
            for rows, chosen in self._held_out:
                batch = rows.to(self.encoder.device)
                there = replace(chosen, **{one.name: getattr(chosen, one.name).to(self.encoder.device)
                                           for one in fields(chosen)})  # fmt: skip
                losses, logits, follows = self._guess(batch, there)
                hits = logits.argmax(1).view_as(there.right) == there.right
                told = (hits * there.weight, there.weight, losses * there.weight, there.begins)
                moments.append(torch.stack([one.double().sum(1) for one in told], 1).cpu().numpy())
                if follows is not None and batch.follows is not None:
                    known.append(follows.argmax(1).eq(batch.follows).double().cpu().numpy())
        sums = np.concatenate(moments)
        right, pieces, nats, words = sums.sum(0)
        low, high = bootstrap_interval(lambda means: means[..., 0] / means[..., 1], sums)
        beside = {"held_out_loss": nats / pieces, "bits_per_word": nats / math.log(2) / words}
        if known:
            beside["next_sentence"] = float(np.concatenate(known).mean())
        return Scores("accuracy", right / pieces, low, high, int(pieces), self.chance, beside)

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
        for block in self.encoder.layers:
            block._compiled_call_impl = None
        for module in _dropouts(self.encoder.model):
            module.p = _LATER_DROPOUT
        if self._half:
            with torch.no_grad():
                for parameter in self.encoder.model.parameters():
                    parameter.copy_(parameter.half())

    def as_kept(self) -> AbstractContextManager[None]:
        return nullcontext()  # its weights are those that are trained

    def _guess(self, batch: RowsOfText, chosen: Masked) -> tuple[Tensor, Tensor, Tensor | None]:
        """Of the places that are masked the losses [row, k] and what is said of each piece [row x k, piece]; of each
        row whether its parts belong together. The layers over the vocabulary see nothing but these places."""
        model = self.encoder.model
        found = model.base_model(input_ids=chosen.shown, token_type_ids=batch.segments)
        states = found.last_hidden_state
        rows, length, width = states.shape
        flat = chosen.places + length * torch.arange(rows, device=states.device)[:, None]
        logits = model.cls.predictions(states.reshape(-1, width).index_select(0, flat.flatten()))
        losses = cross_entropy(logits, chosen.right.flatten(), reduction="none").view(rows, -1)
        follows = model.cls.seq_relationship(found.pooler_output) if self._next_sentence else None
        return losses, logits, follows

    def _prepared(self, length: int, continues: np.ndarray) -> list[tuple[RowsOfText, Masked]]:
        """Rows of held-out text, evenly spread over it, with words masked once and for all."""
        text, device = self._text.held_out, torch.device("cpu")
        there = len(text) // length - self._next_sentence  # behind the last there may be no room for a second part
        if there < 1:
            raise UserError(
                f"too little text is held out to be scored: {len(text):,} pieces, a row has {length}; give more "
                "text, or a higher --held-out"
            )
        count = min(there, max(1, min(_HELD_OUT_TOKENS, 4 * self._tokens) // length))
        starts = np.linspace(0, there - 1, count).astype(np.int64) * length
        pieces = replace(self._pieces, special=self._pieces.special.cpu(), continues=torch.from_numpy(continues))
        found = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for some in np.array_split(starts, max(1, count * length // _AT_ONCE)):
                rows = self._rows(text, some, length)
                found.append((rows.to(device), masked(rows.ids, pieces, _count(HELD_OUT_RATE, length))))
        return found

    def _rows(self, text: np.ndarray, starts: np.ndarray, length: int) -> RowsOfText:
        tokenizer, rows = self.encoder.tokenizer, len(starts)
        ids = np.full((rows, length), tokenizer.sep_token_id, np.int64)
        ids[:, 0] = tokenizer.cls_token_id
        if not self._next_sentence:
            ids[:, 1:-1] = text[starts[:, None] + np.arange(length - 2)]
            return RowsOfText(starts, torch.from_numpy(ids))
        # The first part ends with a sentence, if any ends between a quarter and three quarters of the row.
        generator = np.random.default_rng([self._seed, *starts[:8].tolist()])
        inside = text[starts[:, None] + np.arange(length - 3)]
        least, most = length // 4, length - 3 - length // 4
        wanted = generator.random((rows, most - least)) + self._ends[inside[:, least:most]]
        sizes = least + wanted.argmax(1) + 1
        # The second one comes behind it, or behind some other row's first part.
        elsewhere = generator.random(rows) < 0.5
        other = np.roll(np.arange(rows), 1)
        begins = (starts + sizes)[np.where(elsewhere, other, np.arange(rows))]
        place = np.arange(length - 2) - sizes[:, None]
        first = text[starts[:, None] + np.arange(length - 2)]
        second = text[np.minimum(begins[:, None] + np.maximum(place - 1, 0), len(text) - 1)]
        ids[:, 1:-1] = np.where(place < 0, first, np.where(place == 0, tokenizer.sep_token_id, second))
        segments = np.zeros((rows, length), np.int64)
        segments[:, 1:-1] = place > 0
        segments[:, -1] = 1
        # With one row, there is no other one.
        follows = (elsewhere & (other != np.arange(rows))).astype(np.int64)
        return RowsOfText(starts, torch.from_numpy(ids), torch.from_numpy(segments), torch.from_numpy(follows))


def _count(rate: float, length: int) -> int:
    """How many pieces of a row are masked; there is always one that isn't."""
    return max(1, min(round(rate * length), length - 3))


def _dropouts(model: Any) -> list[nn.Dropout]:
    return [module for module in model.modules() if isinstance(module, nn.Dropout)]
