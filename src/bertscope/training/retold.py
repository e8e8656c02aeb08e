"""The words of a tokenised text in the pieces of another vocabulary: another model can then read the same words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from bertscope.models.new_vocabulary import continues_a_word, parts_of_words
from bertscope.training.row_order import mixed

_MOST = 1_000_000  # words that are remembered; then they are learnt anew


class Retold:
    """A word is known by a hash of its pieces, so that each is put together, and taken apart again, once."""

    def __init__(self, reader: Any, other: Any) -> None:
        """
        reader   the tokenizer whose pieces the text is in
        other    the tokenizer whose pieces are wanted
        """
        self._unknown, self._other = other.unk_token_id, deepcopy(other.backend_tokenizer)
        self._other.no_padding()
        self._other.no_truncation()
        self._continues, self._parts = continues_a_word(reader), parts_of_words(reader)
        self._special = {reader.sep_token_id: other.sep_token_id, reader.unk_token_id: other.unk_token_id}
        self._known: dict[int, np.ndarray] = {}

    def begins(self, ids: np.ndarray) -> np.ndarray:
        """[piece]: whether a word begins there. What the first piece goes on with isn't in `ids`: it is a word."""
        found = ~self._continues[ids]
        found[:1] = True
        return found

    def pieces(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The other's pieces of this stretch of the text, and the number of the word that each is of."""
        starts = np.flatnonzero(self.begins(ids))
        sizes = np.diff(starts, append=len(ids))
        place = np.arange(len(ids)) - np.repeat(starts, sizes)
        told = mixed(ids.astype(np.uint64) + (place.astype(np.uint64) << np.uint64(32)))
        unique, first, which = np.unique(np.add.reduceat(told, starts), return_index=True, return_inverse=True)
        marks = unique.tolist()
        if len(self._known) > _MOST:
            self._known.clear()
        new = [number for number, mark in enumerate(marks) if mark not in self._known]
        words = [ids[starts[one] : starts[one] + sizes[one]] for one in first[new]]
        self._known.update(zip((marks[number] for number in new), self._taken_apart(words), strict=True))
        each = [self._known[mark] for mark in marks]
        counts = np.array([len(one) for one in each])
        of_word = counts[which]
        owner = np.repeat(np.arange(len(starts)), of_word)
        place = np.arange(len(owner)) - np.repeat(of_word.cumsum() - of_word, of_word)
        return np.concatenate(each)[(counts.cumsum() - counts)[which][owner] + place], owner

    def _taken_apart(self, words: list[np.ndarray]) -> list[np.ndarray]:
        if not words:
            return []
        # With a space before it, which tells tokenizers that know spaces that a word begins; others leave it out.
        written = [" " + "".join([self._parts[piece] for piece in one.tolist()]) for one in words]
        coded = self._other.encode_batch_fast(written, add_special_tokens=False)
        special = [self._special.get(int(one[0])) if len(one) == 1 else None for one in words]
        return [
            np.array(encoding.ids or [self._unknown]) if instead is None else np.array([instead])
            for instead, encoding in zip(special, coded, strict=True)
        ]
