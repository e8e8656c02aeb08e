"""The words of examples, as the rows of tokens have them that a model reads: which token is of which word, and what
the word is in its text.

Words are counted through an example as `Examples` says, whatever of it is read: those of a pair's second text after
all of its first, those of a second candidate after all of the first one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.batches import tokenise_whole
from bertscope.models.outputs.base import ModelOutput, Rows
from bertscope.models.words import NO_WORD


@dataclass(frozen=True)
class ReadWords:
    slot: np.ndarray
    """[token], end to end as the rows have them: which of the words that are read of its example, from 0; `NO_WORD`
    of special tokens and of mere space."""
    starts: np.ndarray
    """[example + 1]: where the words of an example begin among those that are read."""
    number: np.ndarray
    """[word]: which word of its example it is."""
    names: tuple[tuple[str, ...], ...]
    """[example]: all words, also those that aren't read."""

    @property
    def counts(self) -> np.ndarray:
        """[example]: words that are read."""
        return np.diff(self.starts)

    @property
    def unread(self) -> np.ndarray:
        """[example]: words that aren't."""
        return np.array([len(words) for words in self.names], dtype=np.int64) - self.counts

    def text(self, example: int, number: int) -> str:
        return self.names[example][number]


def read_words(asked: ModelOutput, rows: Rows, examples: Examples) -> ReadWords:
    tokens, n = rows.tokens, len(examples)
    inside = np.flatnonzero(tokens.words != NO_WORD)
    example = np.repeat(rows.example, tokens.lengths)[inside]
    if examples.words is not None and asked.reads_marked_words:
        names, number = examples.words, tokens.words[inside].astype(np.int64)
    else:
        texts = asked.texts(examples)
        words = words_of_texts(asked.encoder.tokenizer, [text for each in texts for text in each])
        begins = np.cumsum([0, *map(len, texts)])
        names = tuple(tuple(word for text in words[start:end] for word in text) for start, end in pairwise(begins))
        sizes = np.array([len(each) for each in words], dtype=np.int64)
        text = begins[example] + asked.text_of(rows)[inside]
        here = tokens.words[inside].astype(np.int64)
        # The first word of a text that is read is its first: only ends are cut, and windows begin at the beginning.
        first = np.full(len(words), np.iinfo(np.int64).max)
        np.minimum.at(first, text, here)
        begin = first[text]
        if asked.encoder.tokenizer.truncation_side == "left":  # or else the last that a cut row reads is its last
            row = np.repeat(np.arange(len(tokens)), tokens.lengths)[inside]
            part = 2 * row + tokens.segments[inside]
            last = np.zeros(2 * len(tokens), dtype=np.int64)
            np.maximum.at(last, part, here)
            begin = np.where(tokens.truncated[row], last[part] - sizes[text] + 1, begin)
        before = np.cumsum(sizes) - sizes
        number = here - begin + before[text] - before[begins[example]]
    width = int(number.max(initial=0)) + 1
    kinds, kind = np.unique(example * width + number, return_inverse=True)
    starts = np.searchsorted(kinds, np.arange(n + 1) * width)
    slot = np.full(len(tokens.words), NO_WORD, dtype=np.int64)
    slot[inside] = kind - starts[example]
    return ReadWords(slot, starts, kinds % width, names)


def words_of_texts(tokenizer: Any, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each text, as a tokenizer divides it."""
    spans = word_spans(tokenizer, texts)
    return [tuple(text[begin:end].strip() for begin, end in each) for text, each in zip(texts, spans, strict=True)]


def word_spans(tokenizer: Any, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """From which to which character each word of each text reaches."""
    if not texts:
        return []
    tokens = tokenise_whole(tokenizer, Examples(tuple(texts), tuple(texts)))
    inside = np.flatnonzero(tokens.words != NO_WORD)
    text, word = np.repeat(np.arange(len(texts)), tokens.lengths)[inside], tokens.words[inside]
    counts = np.zeros(len(texts), dtype=np.int64)
    np.maximum.at(counts, text, word + 1)
    starts = np.cumsum(counts) - counts
    begin, end = np.full(counts.sum(), np.iinfo(np.int64).max), np.zeros(counts.sum(), dtype=np.int64)
    spans = tokens.spans[inside]
    np.minimum.at(begin, starts[text] + word, spans[:, 0])
    np.maximum.at(end, starts[text] + word, spans[:, 1])
    found = list(zip(begin.tolist(), end.tolist(), strict=True))
    return [found[start : start + count] for start, count in zip(starts, counts, strict=True)]
