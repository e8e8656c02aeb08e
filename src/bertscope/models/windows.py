"""Texts that are longer than a model reads, in windows: a question's text, in which its answer stands, or any text.

Neighbouring windows share a quarter of the model's length, so that a short answer is whole in at least one of them.
Words that the source marks are passed over: answers are counted in characters of the text itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from transformers import BatchEncoding

from bertscope.core.examples import Examples
from bertscope.models.batches import Tokens, lay_out

_SHARED = 4
"""The part of the model's length that two windows share at least, and that a question may have at most."""


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
    questions, shortened = _shortened(tokenizer, examples.text, max_length // _SHARED)
    coded = tokenizer(
        questions, list(examples.pair), truncation="only_second", max_length=max_length,
        stride=max_length // _SHARED, return_overflowing_tokens=True, return_special_tokens_mask=True,
    )  # fmt: skip
    example = np.array(coded.pop("overflow_to_sample_mapping"), dtype=np.int64)
    tokens = lay_out(tokenizer, coded, Examples(examples.ids, examples.text, examples.pair), example)
    inside = (tokens.segments == 1) & ~tokens.added
    spans = tokens.spans
    return Windows(
        replace(tokens, encodings=()), example, spans, inside, shortened
    )  # encodings are thousands of things


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
    texts: tuple[Any, ...] = (list(examples.text),)
    shortened = np.zeros(len(examples), bool)
    if examples.pair is not None:
        first, shortened = _shortened(tokenizer, examples.text, max_length // 2)
        texts = (first, list(examples.pair))
    coded = tokenizer(
        *texts, truncation="only_first" if examples.pair is None else "only_second", max_length=max_length,
        stride=max_length // _SHARED, return_overflowing_tokens=True, return_special_tokens_mask=True,
    )  # fmt: skip
    example = np.array(coded.pop("overflow_to_sample_mapping"), dtype=np.int64)
    place = np.arange(len(example)) - np.searchsorted(example, example)
    kept = np.flatnonzero(place < most)
    some = BatchEncoding(
        {name: [rows[at] for at in kept] for name, rows in coded.items()}, [coded.encodings[at] for at in kept]
    )
    tokens = lay_out(tokenizer, some, Examples(examples.ids, examples.text, examples.pair), example[kept])
    return TextWindows(replace(tokens, encodings=()), example[kept], shortened | (np.bincount(example) > most))


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


def _shortened(tokenizer: Any, questions: Sequence[str], most: int) -> tuple[list[str], np.ndarray]:
    """The questions, truncated where they have more tokens than `most`, and whether each was."""
    found, shortened = list(questions), np.zeros(len(questions), bool)
    coded = tokenizer(found, add_special_tokens=False, verbose=False)
    for at, encoding in enumerate(coded.encodings):
        if len(encoding) > most:
            found[at] = found[at][: encoding.offsets[most - 1][1]]
            shortened[at] = True
    return found, shortened
