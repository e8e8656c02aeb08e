"""Sentences as a tagger reads them: a long one in windows, and of each word the piece that speaks for it.

A word's first piece carries its tag. Neighbouring windows share half of what a window holds, and a word is read where
it has most context: in the window whose nearer edge is furthest from it. So nothing of a sentence is lost, however
long it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.batches import Tokens, tokenise_whole
from bertscope.models.words import NO_WORD


@dataclass(frozen=True)
class WordWindows:
    tokens: Tokens
    """A row for each window."""
    example: np.ndarray
    """[window]: the sentence it is of; those of one sentence follow each other."""
    word: np.ndarray
    """[token]: the word that this token speaks for; `NO_WORD` where it does for none."""

    def __len__(self) -> int:
        return len(self.example)


def word_windows(tokenizer: Any, examples: Examples, max_length: int) -> WordWindows:
    """Tokenise sentences whole, and cut what is longer than `max_length` into windows with the special tokens that
    the tokenizer adds around a text."""
    tokens = tokenise_whole(tokenizer, examples)
    pieces, example, word = list[np.ndarray](), list[int](), list[np.ndarray]()
    for at, (start, length) in enumerate(zip(tokens.starts, tokens.lengths, strict=True)):
        here = np.arange(start, start + length)
        speaks = _first_of_words(tokens.words[here])
        if length <= max_length:
            pieces.append(here)
            word.append(speaks)
            example.append(at)
            continue
        inside = ~tokens.added[here]
        first, last = np.flatnonzero(inside)[[0, -1]]
        before, text, after = np.split(np.arange(length), [first, last + 1])
        size = max_length - len(before) - len(after)
        begins = _window_starts(len(text), size)
        best = _most_context(tokens.words[here][text], begins, size)
        for number, begin in enumerate(begins):
            window = np.concatenate([before, text[begin : begin + size], after])
            own = speaks[window]
            pieces.append(here[window])
            word.append(np.where((own != NO_WORD) & (best[own] == number), own, NO_WORD))
            example.append(at)
    lengths = np.array([len(one) for one in pieces], dtype=np.int64)
    return WordWindows(tokens.at(_joined(pieces), lengths), np.array(example, dtype=np.int64), _joined(word))


def _first_of_words(words: np.ndarray) -> np.ndarray:
    """[token]: the word whose first piece it is."""
    found = np.full(len(words), NO_WORD)
    numbers, at = np.unique(words, return_index=True)
    found[at] = numbers
    return found


def _window_starts(length: int, size: int) -> np.ndarray:
    """Where windows of that size begin in a text; the last one ends where the text ends."""
    step = max(size // 2, 1)
    return np.append(np.arange(0, length - size, step), length - size)


def _most_context(words: np.ndarray, begins: np.ndarray, size: int) -> np.ndarray:
    """[word]: the window in which the nearer edge is furthest from the word; of equals the first. A window that lacks
    the word's first piece doesn't count, and one that lacks its last has it beyond its edge."""
    numbers, first = np.unique(words, return_index=True)
    last = len(words) - 1 - np.unique(words[::-1], return_index=True)[1]
    room = np.minimum(first - begins[:, None], begins[:, None] + size - 1 - last)
    has_first = (first >= begins[:, None]) & (first < begins[:, None] + size)
    best = np.zeros(max(int(numbers.max(initial=0)) + 1, 1), dtype=np.int64)
    known = numbers != NO_WORD
    best[numbers[known]] = np.where(has_first, room, -len(words) - size).argmax(0)[known]
    return best


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
