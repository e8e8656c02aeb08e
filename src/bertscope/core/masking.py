"""Which words of a text are masked: the same ones in every batch, every split and for every tokenizer.

A word is what the source marks (`Examples.words`), or else a run of letters and digits, or one other sign. Words are
counted through an example, those of a pair's second text after those of its first.
"""

from __future__ import annotations

import re

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed_texts, mixed

SHARE = 0.15
"""Of a text's words, as in BERT's training."""
_WORD = re.compile(r"\w+|[^\w\s]")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a plain text begin and end.

    >>> word_spans("Don't go.")
    [(0, 3), (3, 4), (4, 5), (6, 8), (8, 9)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def word_counts(examples: Examples) -> np.ndarray:
    """[example]: how many words it has."""
    if examples.words is not None:
        return np.array([len(words) for words in examples.words], dtype=np.int64)
    counts = np.array([len(word_spans(text)) for text in examples.text], dtype=np.int64)
    if examples.pair is not None:
        counts += np.array([len(word_spans(text)) for text in examples.pair], dtype=np.int64)
    return counts


def masked_words(examples: Examples) -> list[np.ndarray]:
    """The numbers of each example's masked words, in their order: those 15%, and at least one, for which a hash of
    the text and the word's place is lowest. Equal texts have equal masks."""
    pairs = examples.pair or ("",) * len(examples)
    keys = hashed_texts([f"{text}\n{pair}" for text, pair in zip(examples.text, pairs, strict=True)], 0)
    chosen = []
    for key, count in zip(keys, word_counts(examples), strict=True):
        luck = mixed(key, np.arange(count, dtype=np.uint64))
        chosen.append(np.sort(np.argsort(luck, kind="stable")[: masked_count(int(count))]))
    return chosen


def masked_count(words: int) -> int:
    """How many of so many words are masked: 15%, halves rounded up, and at least one where there is one.

    >>> [masked_count(words) for words in (0, 1, 9, 10, 100)]
    [0, 1, 1, 2, 15]
    """
    return min(words, max(1, int(SHARE * words + 0.5)))
