"""What a larger model makes of each word of a text, told once, before the first step: a small one learns it beside
the words themselves.

The teacher reads all of the text, unmasked, in rows of its own pieces; what it makes of a word is the mean of its
last states over the word's pieces. Kept are their main directions alone, in half precision: on a GPU in its memory,
else in a file without a name. After a kill it is asked again, which is a small part of a training.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.limits import in_bytes
from bertscope.core.memory_mapped import FilePages, memory_mapped
from bertscope.core.progress import progress
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import evaluating
from bertscope.models.sending import sent
from bertscope.training.packed_text import PackedText
from bertscope.training.precision import has_half
from bertscope.training.retold import Retold

UNITS = 128
"""Directions of the teacher's states that are learnt, at most."""
_WINDOW = 2**18  # pieces that are told at a time
_LONGEST = 256  # tokens of the teacher's rows
_AT_ONCE = (8192, 65_536)  # tokens in a pass: on a CPU, on a GPU
_LOOKED_AT = 16  # stretches of the text that decide the directions, evenly spread
_SAME = 1e-9  # of the square of the mean: a variance that is rounding
_ROOM = 0.5  # of the GPU's free memory, that vectors may take


@dataclass(frozen=True)
class TaughtWords:
    vectors: Tensor
    """[word, direction], of the words that are learnt from and of those held out behind them. Their scale is such
    that the square of the teacher's states, less their mean, is 1 on average."""
    train: np.ndarray
    """[piece]: its word's number."""
    held_out: np.ndarray
    kept: float
    """The share of the states' variance that lies in the directions."""


def refuse_who_cannot_teach(teacher: Encoder) -> None:
    tokenizer = teacher.tokenizer
    if None in (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.unk_token_id):
        raise UserError(f"{teacher.name} can't be a teacher: its tokenizer has no [CLS], [SEP] or [UNK]")


def taught_words(text: PackedText, teacher: Encoder, place: Path, device: torch.device) -> TaughtWords:
    """
    place    a folder on whose disk there is room
    device   where the training is
    """
    telling = _Telling(text, teacher)
    with FilePages(place).in_use():
        sides = [memory_mapped((len(ids),), np.int32) for ids in (text.train, text.held_out)]
        words = 0
        for ids, numbers in zip((text.train, text.held_out), sides, strict=True):
            for start, some in stretches(ids, telling.retold):
                begins = telling.retold.begins(some)
                numbers[start : start + len(some)] = words + begins.cumsum() - 1
                words += int(begins.sum())
        units = min(UNITS, teacher.hidden_size)
        vectors = _room_for(words, units, device)
    kept = telling.look_around(units)
    with progress("asking the teacher", len(text.train) + len(text.held_out)) as bar:
        told = 0
        all_of_it = chain(*(stretches(ids, telling.retold) for ids in (text.train, text.held_out)))
        for rows in _one_ahead(telling.rows(some) for _, some in all_of_it):
            found = telling.read(rows)
            vectors[told : told + len(found)] = found.to(vectors.device, vectors.dtype)
            told += len(found)
            bar.advance(rows.pieces)
    return TaughtWords(vectors, sides[0], sides[1], kept)


def _one_ahead(made: Iterator[_Rows]) -> Iterator[_Rows]:
    """The same; the next one is made while this one is used."""
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(next, made, None)
        while (rows := coming.result()) is not None:
            coming = beside.submit(next, made, None)
            yield rows


def stretches(ids: np.ndarray, retold: Retold) -> Iterator[tuple[int, np.ndarray]]:
    """The text in stretches that end with a word, and where each begins."""
    start = 0
    while start < len(ids):
        end = min(start + _WINDOW, len(ids))
        if end < len(ids):  # back to where the last word begins that may go on behind it
            end = start + (int(np.flatnonzero(retold.begins(ids[start : end + 1]))[-1]) or end - start)
        yield start, np.asarray(ids[start:end])
        start = end


def _room_for(words: int, units: int, device: torch.device) -> Tensor:
    if device.type != "cuda":
        return torch.from_numpy(memory_mapped((words, units), np.float16))
    size, free = words * units * 2, torch.cuda.mem_get_info(device)[0]
    if size > _ROOM * free:
        raise UserError(
            f"what the teacher says of {words:,} words takes {in_bytes(size)} of the GPU's memory, of which "
            f"{in_bytes(free)} are free; give less text, or leave out --teacher"
        )
    return torch.empty(words, units, dtype=torch.float16, device=device)


@dataclass(frozen=True)
class _Rows:
    """A stretch of the text as the teacher reads it, between special tokens; the last row may be padded."""

    ids: Tensor
    mask: Tensor
    owners: Tensor
    """[row, token]: the number of its word, or, of what is none, how many words there are."""
    counts: np.ndarray
    """[word]: how many of the teacher's pieces it has."""
    pieces: int
    """Of the text."""


class _Telling:
    """A teacher that reads stretches of a text."""

    def __init__(self, text: PackedText, teacher: Encoder) -> None:
        self._text, self._teacher = text, teacher
        self.retold = Retold(text.tokenizer, teacher.tokenizer)
        self._onto: tuple[Tensor, Tensor] | None = None

    def look_around(self, units: int) -> float:
        """Choose the directions, the main ones of words all over the text: the share of the variance that they
        have."""
        train, size, width = self._text.train, _WINDOW // _LOOKED_AT, self._teacher.hidden_size
        starts = np.linspace(0, max(0, len(train) - size), min(_LOOKED_AT, -(-len(train) // size))).astype(int)
        n, total, products = 0, torch.zeros(width).double(), torch.zeros(width, width).double()
        for start in starts:
            ids = np.asarray(train[start : start + size])
            words = np.flatnonzero(self.retold.begins(ids))
            own = ~np.isin(ids[words], self._text.tokenizer.all_special_ids)  # of others nothing is learnt
            states = self.read(self.rows(ids)).cpu()[torch.from_numpy(own)].double()
            n, total, products = n + len(states), total + states.sum(0), products + states.T @ states
        mean = total / max(n, 1)
        values, directions = torch.linalg.eigh(products / max(n, 1) - mean.outer(mean))
        whole = values.clamp(min=0).sum()
        if not whole > _SAME * mean.square().sum():
            raise UserError(f"{self._teacher.name} can't be a teacher: its states of all words are the same")
        onto = directions[:, -units:].flip(1) / whole.sqrt()
        # A direction may point either way; after a kill, and on another machine, it points the same.
        onto = onto * onto.gather(0, onto.abs().argmax(0, keepdim=True)).sign()
        self._onto = (mean.float().to(self._teacher.device), onto.float().to(self._teacher.device))
        return float(values[-units:].sum() / whole)

    def rows(self, ids: np.ndarray) -> _Rows:
        tokenizer: Any = self._teacher.tokenizer
        pieces, owner = self.retold.pieces(ids)
        length = min(_LONGEST, self._teacher.max_length, len(pieces) + 2)
        inside = length - 2
        count = -(-len(pieces) // inside)
        place, ends = np.arange(length), np.minimum(len(pieces) - inside * np.arange(count), inside) + 1
        within = (place > 0) & (place < ends[:, None])
        found = np.full((count, length), tokenizer.pad_token_id or 0)
        found[:, 0] = tokenizer.cls_token_id
        found[np.arange(count), ends] = tokenizer.sep_token_id
        found[within] = pieces
        owners = np.full((count, length), owner[-1] + 1)
        owners[within] = owner
        mask = (place <= ends[:, None]).astype(np.int64)
        there = [torch.from_numpy(one) for one in (found, mask, owners)]
        return _Rows(there[0], there[1], there[2], np.bincount(owner), len(ids))

    def read(self, rows: _Rows) -> Tensor:
        """[word, unit]: what the teacher makes of the words, in the directions once they are chosen."""
        model, device = self._teacher.model.base_model, self._teacher.device
        width = self._teacher.hidden_size if self._onto is None else self._onto[1].shape[1]
        sums = torch.zeros(len(rows.counts) + 1, width, device=device)  # the last is of what is no word
        halves = torch.autocast(device.type, torch.bfloat16, enabled=has_half(device))
        at_once = max(1, _AT_ONCE[device.type == "cuda"] // rows.ids.shape[1])
        with torch.inference_mode(), evaluating([self._teacher]):
            for parts in zip(*(one.split(at_once) for one in (rows.ids, rows.mask, rows.owners)), strict=True):
                ids, mask, owners = (sent(one, device) for one in parts)
                with halves:
                    states = model(input_ids=ids, attention_mask=mask).last_hidden_state
                states = states.flatten(0, 1).float()
                if self._onto is not None:
                    states = (states - self._onto[0]) @ self._onto[1]
                sums.index_add_(0, owners.flatten(), states)
        return sums[:-1] / sent(rows.counts, device)[:, None]
