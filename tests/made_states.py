"""Hidden states with vectors of one's own, for questions that read states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.hidden_store import HiddenStore


def store_of(
    ids: tuple[str, ...], lengths: list[int], layers: np.ndarray | list[np.ndarray], *, name: str, segments=None
) -> HiddenStore:
    """A store in memory that holds these layers [row, dim] of texts of so many words each."""
    array = np.stack(layers, 1).astype(np.float32)
    rows = sum(lengths)
    assert len(array) == rows
    return HiddenStore(
        folder=Path("made"), name=name, pool="word", layers=tuple(range(array.shape[1])), n_layers=array.shape[1] - 1,
        ids=ids, left_out=(), starts=np.concatenate([[0], np.cumsum(lengths)]),
        words=np.concatenate([np.arange(length) for length in lengths]).astype(np.int32),
        segments=np.zeros(rows, np.int8) if segments is None else segments, spans=np.zeros((rows, 2), np.int32),
        array=array,
    )  # fmt: skip


def made_states(
    layers: np.ndarray | list[np.ndarray], sentences: list[tuple[str, ...]], *, name: str = "made", **more
) -> tuple[HiddenStore, Examples]:
    """Layers 0, 1, ... of vectors [word, dim] for the words of these sentences, one after the other."""
    lengths = [len(words) for words in sentences]
    ids = tuple(f"s{i}" for i in range(len(sentences)))
    pairs = {"first_words": more["first_words"]} if "pair" in more else {}
    examples = Examples(
        ids=ids, text=tuple(map(" ".join, sentences)), words=tuple(sentences), pair=more.get("pair"),
        label=more.get("label"), name=more.get("corpus", ""), **pairs,
    )  # fmt: skip
    segments = None
    if pairs:
        words = np.concatenate([np.arange(length) for length in lengths])
        segments = (words >= np.repeat(more["first_words"], lengths)).astype(np.int8)
    store = store_of(ids, lengths, layers, name=name, segments=segments)
    return store, examples


def sentences_of(lengths: list[int], vocabulary: int = 0, seed: int = 0) -> list[tuple[str, ...]]:
    """Sentences of these lengths: of words that occur once, or of a vocabulary's."""
    generator = np.random.default_rng(seed)
    count = sum(lengths)
    words = generator.integers(0, vocabulary, count) if vocabulary else np.arange(count)
    ends = np.cumsum(lengths)
    return [tuple(f"w{word}" for word in words[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
