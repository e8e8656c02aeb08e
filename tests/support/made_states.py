"""Texts and hidden states made up on the spot, for tests of questions that read states and know what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.model_record import ModelRecord
from bertscope.models.states_store import StatesStore


def made_store(examples: Examples, layers: Sequence[np.ndarray], name: str = "planted") -> StatesStore:
    """A store in memory whose layers 0, 1, ... are these vectors [word, dim], words in the examples' order."""
    assert examples.words is not None
    array = np.stack(layers, 1).astype(np.float32)
    lengths = [len(words) for words in examples.words]
    rows = sum(lengths)
    assert len(array) == rows
    words = np.concatenate([np.arange(length) for length in lengths])
    in_first = lengths if examples.first_words is None else examples.first_words
    return StatesStore(
        folder=Path("made"), record=ModelRecord(name, name), pool="word", layers=tuple(range(array.shape[1])),
        n_layers=array.shape[1] - 1, ids=examples.ids, left_out=(), starts=np.concatenate([[0], np.cumsum(lengths)]),
        words=words.astype(np.int32), segments=(words >= np.repeat(in_first, lengths)).astype(np.int8),
        spans=np.zeros((rows, 2), np.int32), array=array,
    )  # fmt: skip


def made_states(
    layers: Sequence[np.ndarray], sentences: Sequence[tuple[str, ...]], *, name: str = "made", **columns
) -> tuple[StatesStore, Examples]:
    """The store of these layers for the words of these sentences, one after the other, and the sentences."""
    ids = tuple(f"s{i}" for i in range(len(sentences)))
    examples = Examples(ids=ids, text=tuple(map(" ".join, sentences)), words=tuple(sentences), **columns)
    return made_store(examples, layers, name), examples


def sentences_of(lengths: list[int], vocabulary: int = 0, seed: int = 0) -> list[tuple[str, ...]]:
    """Sentences of these lengths: of words that occur once, or of a vocabulary's."""
    generator = np.random.default_rng(seed)
    count = sum(lengths)
    words = generator.integers(0, vocabulary, count) if vocabulary else np.arange(count)
    ends = np.cumsum(lengths)
    return [tuple(f"w{word}" for word in words[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


def made_texts(
    words: np.ndarray, marks: Mapping[str, np.ndarray], per_text: int = 8, label: np.ndarray | None = None
) -> Examples:
    """Texts of so many words each, with marks for every word."""
    n = len(words) // per_text

    def rows(values: np.ndarray) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(str, row)) for row in values[: n * per_text].reshape(n, per_text))

    of_texts = rows(words)
    ids = tuple(f"t{row}" for row in range(n))
    text = tuple(f"{' '.join(row)} {at}" for at, row in enumerate(of_texts))  # no two texts are equal
    return Examples(
        ids, text, words=of_texts, marks={kind: rows(values) for kind, values in marks.items()},
        label=None if label is None else label[:n],
    )  # fmt: skip


def one_hot(numbers: np.ndarray, dim: int) -> np.ndarray:
    return np.eye(dim)[numbers]
