"""Full rows of a packed text, of one part or of two, made without a loop over rows. Short ones begin with a sentence,
and half of them have one part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.models.new_vocabulary import closes_behind_a_sentence, ends_a_sentence


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
    """[row]: 0 where the second part follows the first in the text, 1 where it is from elsewhere, as BERT has it;
    -100, which cross-entropy passes over, where there is none."""
    words: Tensor | None = None
    """[row, token]: the number of the word that a teacher has told of; that of special tokens means nothing."""

    def to(self, device: torch.device) -> RowsOfText:
        others = [None if one is None else one.to(device) for one in (self.segments, self.follows, self.words)]
        return RowsOfText(self.rows, self.ids.to(device), *others)


class TextRows:
    def __init__(self, tokenizer: Any, next_sentence: bool, usual: int, seed: int) -> None:
        """
        next_sentence   whether rows have a second part, which follows the first in the text, or doesn't
        usual           tokens: shorter rows begin with a sentence, and every other one has one part: short texts are
                        read alone and in pairs
        seed            of where parts end and which belong together
        """
        self._tokenizer, self._next_sentence, self._usual, self._seed = tokenizer, next_sentence, usual, seed
        self._ends = ends_a_sentence(tokenizer)
        self._over = self._ends.copy()  # with documents' ends, behind which is a [SEP]
        self._over[tokenizer.sep_token_id] = True
        self._before_the_next = self._over | closes_behind_a_sentence(tokenizer)

    def of(self, text: np.ndarray, starts: np.ndarray, length: int, words: np.ndarray | None = None) -> RowsOfText:
        """Rows of so many tokens that begin at these places of the text; `words` [piece] are the numbers of its
        words."""
        ids = np.full((len(starts), length), self._tokenizer.sep_token_id, np.int64)
        ids[:, 0] = self._tokenizer.cls_token_id
        segments = follows = told = None
        if length < self._usual:
            starts = self._at_sentences(text, starts, length)
        where = np.minimum(starts[:, None] + np.arange(length - 2), len(text) - 1)
        if self._next_sentence:
            parts, between, segments, follows = self._with_second_parts(text, starts, length)
            alone = (np.arange(len(starts)) % 2 == 1) & (length < self._usual)
            where = np.where(alone[:, None], where, parts)
            segments[alone], follows[alone] = 0, -100
            ids[:, 1:-1] = np.where(between & ~alone[:, None], self._tokenizer.sep_token_id, text[where])
        else:
            ids[:, 1:-1] = text[where]
        if words is not None:
            told = np.zeros_like(ids)
            told[:, 1:-1] = words[where]
        others = (None if one is None else torch.from_numpy(one) for one in (segments, follows, told))
        return RowsOfText(starts, torch.from_numpy(ids), *others)

    def _at_sentences(self, text: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
        """Where the next sentence begins, if one does within a row's length: the first piece behind an end and what
        belongs to that."""
        place = np.arange(length)
        pieces = text[np.minimum(starts[:, None] + place, len(text) - 1)]
        between = self._before_the_next[pieces]
        over, other = (
            np.maximum.accumulate(np.where(one, place, -1), axis=1) for one in (self._over[pieces], ~between)
        )
        begins = (over > other)[:, :-1] & ~between[:, 1:]
        return starts + np.where(begins.any(1), begins.argmax(1) + 1, 0)

    def _with_second_parts(
        self, text: np.ndarray, starts: np.ndarray, length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """[row, token] without the first and the last: where in the text its piece is, and whether it is the [SEP]
        between the parts; and of each row its segments, and whether its second part is from elsewhere."""
        rows, place, last = len(starts), np.arange(length - 2), len(text) - 1
        # The first part ends with a sentence, if any ends between a quarter and three quarters of the row.
        generator = np.random.default_rng([self._seed, *starts[:8].tolist()])
        least, most = length // 4, length - 3 - length // 4
        ends = self._ends[text[np.minimum(starts[:, None] + np.arange(least, most), last)]]
        sizes = least + (generator.random((rows, most - least)) + ends).argmax(1) + 1
        # The second one comes behind it, or behind some other row's first part: not its neighbour's, which may stand
        # right before it in the text.
        elsewhere = generator.random(rows) < 0.5
        other = np.roll(np.arange(rows), rows // 2)
        begins = (starts + sizes)[np.where(elsewhere, other, np.arange(rows))]
        place = place - sizes[:, None]
        second = begins[:, None] + np.maximum(place - 1, 0)
        where = np.minimum(np.where(place < 0, starts[:, None] + np.arange(length - 2), second), last)
        segments = np.zeros((rows, length), np.int64)
        segments[:, 1:-1] = place > 0
        segments[:, -1] = 1
        # With one row, there is no other one.
        follows = (elsewhere & (other != np.arange(rows))).astype(np.int64)
        return where, place == 0, segments, follows
