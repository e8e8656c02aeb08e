"""Dependency trees as the targets of structural probes: how far words are from each other, how deep each is.

Sentences lie one after the other in flat arrays; a batch of them is cut out and padded by index arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples
from bertscope.core.hashing import hashed, hashed_texts, mixed, to_unit
from bertscope.data.trees import all_depths, all_distances

PUNCTUATION = "PUNCT"
VALIDATION, TEST = 0.1, 0.1
"""The shares of the sentences that decide, and that are scored where no other corpus is trained on."""
_PAIRS = 1 << 16  # of words in a batch
_SPLIT, _SHUFFLE = np.uint64(1), np.uint64(2)  # what a hash is drawn for


@dataclass(frozen=True)
class Batch:
    """Some sentences, padded to the longest of them."""

    sentences: np.ndarray
    """[S]: which they are."""
    lengths: np.ndarray
    """[S]."""
    words: np.ndarray
    """[S, N]: each place's word in the sentence; behind its end the last word again."""
    inside: np.ndarray
    """[S, N]: whether a place is before the sentence's end."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of some sentences."""

    ids: tuple[str, ...]
    lengths: np.ndarray
    """[sentence]: how many words each has."""
    governors: np.ndarray
    """[word of all sentences]: the head of each, counted within its sentence; `ROOT` where it has none."""
    punctuation: np.ndarray
    """[word of all sentences]: whether each is punctuation."""

    @classmethod
    def of(cls, examples: Examples) -> Trees:
        """The trees of the examples; what has none is refused."""
        where = examples.name or "these texts"
        if examples.governors is None or examples.words is None:
            raise UserError(f"{where} has no dependency trees; give a treebank (.conllu) or demo/corpus")
        if examples.pair is not None:
            raise UserError(f"{where} has pairs, which have two trees each; give single sentences")
        if "pos" not in examples.marks:
            raise UserError(f"{where} doesn't say which words are punctuation (no UPOS); give a treebank that does")
        all_depths(examples.governors)  # refuses what is no tree
        return cls(
            ids=examples.ids,
            lengths=np.array([len(governors) for governors in examples.governors], dtype=np.int64),
            governors=_flat(examples.governors, np.int64),
            punctuation=_flat(examples.marks["pos"], np.str_) == PUNCTUATION,
        )

    @cached_property
    def starts(self) -> np.ndarray:
        """[sentence]: where the words of each begin."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def _squares(self) -> np.ndarray:
        """[sentence]: where the pairs of words of each begin."""
        return np.cumsum(self.lengths**2) - self.lengths**2

    @cached_property
    def _each(self) -> list[np.ndarray]:
        return np.split(self.governors, self.starts[1:])

    @cached_property
    def _depths(self) -> np.ndarray:
        return _flat(all_depths(self._each), np.int16)

    @cached_property
    def _distances(self) -> np.ndarray:
        return np.concatenate([each.ravel().astype(np.int16) for each in all_distances(self._each)])

    def batch(self, sentences: np.ndarray) -> Batch:
        lengths = self.lengths[sentences]
        places = np.arange(lengths.max())
        inside = places < lengths[:, None]
        return Batch(sentences, lengths, np.minimum(places, lengths[:, None] - 1), inside)

    def depths(self, batch: Batch) -> np.ndarray:
        """float32 [S, N]; what is behind a sentence's end means nothing."""
        return self._depths[self._at(batch)].astype(np.float32)

    def distances(self, batch: Batch) -> np.ndarray:
        """float32 [S, N, N]; what is behind a sentence's end means nothing."""
        rows = self._squares[batch.sentences, None] + batch.words * batch.lengths[:, None]
        return self._distances[rows[:, :, None] + batch.words[:, None, :]].astype(np.float32)

    def heads_of(self, batch: Batch) -> np.ndarray:
        """int64 [S, N]."""
        return self.governors[self._at(batch)]

    def outside(self, batch: Batch) -> np.ndarray:
        """bool [S, N]: punctuation, and what is behind a sentence's end."""
        return self.punctuation[self._at(batch)] | ~batch.inside

    def _at(self, batch: Batch) -> np.ndarray:
        return self.starts[batch.sentences, None] + batch.words

    def shuffled(self, seed: int) -> Trees:
        """Random trees of the same shapes: in each sentence the words change places in the tree, by a hash of its id.
        Punctuation keeps its place, so that as many edges as before are between other words."""
        sentence = np.repeat(np.arange(len(self.ids)), self.lengths)
        word = np.arange(len(self.governors)) - self.starts[sentence]
        luck = mixed(mixed(hashed(self.ids, seed), _SHUFFLE)[sentence], word.astype(np.uint64))
        moving = np.flatnonzero(~self.punctuation)
        moved = np.arange(len(self.governors))
        moved[moving] = moving[np.lexsort((luck[moving], sentence[moving]))]
        start = self.starts[sentence]
        governors = np.empty_like(self.governors)
        governors[moved] = np.where(self.governors == ROOT, ROOT, moved[start + self.governors.clip(0)] - start)
        return replace(self, governors=governors)


def parts(texts: Sequence[str], seed: int, *, test: bool) -> list[np.ndarray]:
    """The sentences that are for fitting and for selecting, and with `test` those to be scored.

    By a hash of the text, so that the same sentence is never in two parts and others don't matter.
    """
    luck = to_unit(mixed(hashed_texts(texts, seed), _SPLIT))
    edges = [1 - VALIDATION - TEST, 1 - TEST, 1.0] if test else [1 - VALIDATION, 1.0]
    part = np.searchsorted(edges, luck, side="right")
    return [np.flatnonzero(part == number) for number in range(len(edges))]


def of_one_length(trees: Trees, sentences: np.ndarray) -> Iterator[Batch]:
    """The sentences in batches without padding: those of one length, with about `_PAIRS` pairs of words in all."""
    lengths = trees.lengths[sentences]
    for length in np.unique(lengths):
        alike = sentences[lengths == length]
        size = max(1, _PAIRS // int(length) ** 2)
        for start in range(0, len(alike), size):
            yield trees.batch(alike[start : start + size])


def _flat(rows: Sequence[Sequence[object] | np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.asarray(row, dtype=dtype) for row in rows])
