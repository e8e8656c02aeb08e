"""Texts that are longer than a model reads, in windows: a question's text, in which its answer stands, or any text.

Neighbouring windows share a quarter of the model's length, so that a short answer is whole in at least one of them.
Words that the source marks are passed over: answers are counted in characters of the text itself. Texts are tokenised
whole and cut here: what tokenizers give of what overflows differs (0.23.1 and 0.23.2 lose all but two windows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.batches import Tokens, tokenise_whole

_SHARED = 4
"""The part of the model's length that two windows share, and that a question may have at most."""


@dataclass(frozen=True)
class Windows:
    tokens: Tokens
    """A row for each window."""
    example: np.ndarray
    """[window]: the example it is of; those of one example follow each other."""
    spans: np.ndarray
    """[token, 2]: from which to which character of its text a token reaches."""
    inside: np.ndarray
    """[token]: whether it is in the text that is asked about."""
    shortened: np.ndarray
    """[example]: whether its question was too long and lost its end."""

    def __len__(self) -> int:
        return len(self.example)

    @property
    def truncated(self) -> int:
        """How many questions lost their end."""
        return int(self.shortened.sum())

    @property
    def row(self) -> np.ndarray:
        """[token]: its window."""
        return np.repeat(np.arange(len(self)), self.tokens.lengths)


def windowed(tokenizer: Any, examples: Examples, max_length: int) -> Windows:
    """Tokenise questions (the first text) with the texts they are about (the second)."""
    assert examples.pair is not None
    whole = tokenise_whole(tokenizer, Examples(examples.ids, examples.text, examples.pair))
    cut = _Cut.of(whole, True, max_length, max_length // _SHARED)
    places, lengths = cut.places()
    tokens = whole.at(places, lengths)
    inside = (tokens.segments == 1) & ~tokens.added
    return Windows(tokens, cut.example, whole.spans[places], inside, cut.shortened)


@dataclass(frozen=True)
class TextWindows:
    """Texts, or pairs of texts, as a model reads them to their end, or nearly so."""

    tokens: Tokens
    """A row for each window."""
    example: np.ndarray
    """[window]: the example it is of; those of one example follow each other."""
    truncated: np.ndarray
    """[example]: whether its end isn't read."""


def text_windows(tokenizer: Any, examples: Examples, max_length: int, most: int) -> TextWindows:
    """Tokenise texts in at most so many windows each. Of a pair the second text is read in windows, each with the
    first, which may have half of the model's length."""
    whole = tokenise_whole(tokenizer, Examples(examples.ids, examples.text, examples.pair))
    cut = _Cut.of(whole, examples.pair is not None, max_length, max_length // 2, most)
    return TextWindows(whole.at(*cut.places()), cut.example, cut.shortened | cut.unread)


def targets(windows: Windows, answers: np.ndarray) -> np.ndarray:
    """[window, 2]: the first and the last token of each example's answer (characters [example, 2]), as places in the
    window; 0 and 0, the first token, where another window has more of the answer, or none has a token of it."""
    row, spans, starts = windows.row, windows.spans, windows.tokens.starts
    begin, end = answers[windows.example[row]].T
    touched = np.flatnonzero(windows.inside & (spans[:, 0] < end) & (spans[:, 1] > begin))
    place, row = touched - starts[row[touched]], row[touched]
    count = np.bincount(row, minlength=len(windows))
    most = np.zeros(len(answers), dtype=count.dtype)
    np.maximum.at(most, windows.example, count)
    first, last = np.full(len(windows), np.iinfo(np.int64).max), np.zeros(len(windows), dtype=np.int64)
    np.minimum.at(first, row, place)
    np.maximum.at(last, row, place)
    whole = (count > 0) & (count == most[windows.example])
    return np.where(whole[:, None], np.stack([first, last], axis=1), 0)


@dataclass(frozen=True)
class _Cut:
    """Where windows begin and end. Each has the special tokens around its texts, the first text of a pair, and some
    of the text that is read in windows: the second, or the only one."""

    example: np.ndarray
    """[window]"""
    begins: np.ndarray
    """[window, part]: parts of an example that are left of it when the rest is cut out."""
    ends: np.ndarray
    shortened: np.ndarray
    """[example]: whether a pair's first text lost its end."""
    unread: np.ndarray
    """[example]: whether it has more windows than are read."""

    @classmethod
    def of(cls, whole: Tokens, paired: bool, max_length: int, most_of_first: int, most: int | None = None) -> _Cut:
        start, end = whole.starts, whole.starts + whole.lengths
        text, text_end = _bounds(whole, 1 if paired else 0, end)
        first, first_end = _bounds(whole, 0, start) if paired else (start, start)
        kept = np.minimum(first_end - first, most_of_first)
        around = whole.lengths - (text_end - text) - (first_end - first)
        size = np.maximum(max_length - around - kept, 1)
        step = np.maximum(size - max_length // _SHARED, 1)
        count = 1 + -(-np.maximum(text_end - text - size, 0) // step)
        read = count if most is None else np.minimum(count, most)
        example = np.repeat(np.arange(len(whole)), read)
        number = np.arange(len(example)) - np.repeat(np.cumsum(read) - read, read)
        at = text[example] + number * step[example]
        begins = np.stack([start[example], first_end[example], at, text_end[example]], 1)
        stop = np.minimum(at + size[example], text_end[example])
        ends = np.stack([(first + kept)[example], text[example], stop, end[example]], 1)
        return cls(example, begins, ends, kept < first_end - first, read < count)

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """All tokens of all windows as places among those of the whole texts, and how many each window has."""
        sizes = (self.ends - self.begins).ravel()
        shift = self.begins.ravel() - (np.cumsum(sizes) - sizes)
        return np.repeat(shift, sizes) + np.arange(sizes.sum()), (self.ends - self.begins).sum(1)


def _bounds(whole: Tokens, segment: int, otherwise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[example] twice: from where to where the first or second text of each reaches; where it has no token,
    `otherwise` is both."""
    at = np.flatnonzero(~whole.added & (whole.segments == segment))
    row = np.searchsorted(whole.starts, at, "right") - 1
    count = np.bincount(row, minlength=len(whole))
    begins = otherwise.copy()
    begins[count > 0] = at[np.searchsorted(row, np.flatnonzero(count))]
    return begins, begins + count
