"""Hidden states with vectors of one's own, for questions that read states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.hidden_store import HiddenStore


def made_states(
    layers: np.ndarray | list[np.ndarray], sentences: list[tuple[str, ...]], *, name: str = "made", **more
) -> tuple[HiddenStore, Examples]:
    """Layers 0, 1, ... of vectors [word, dim] for the words of these sentences, one after the other."""
    lengths = [len(words) for words in sentences]
    array = np.stack(layers, 1).astype(np.float32)
    assert array.shape[0] == sum(lengths)
    ids = tuple(f"s{i}" for i in range(len(sentences)))
    pairs = {"first_words": more["first_words"]} if "pair" in more else {}
    examples = Examples(
        ids=ids, text=tuple(map(" ".join, sentences)), words=tuple(sentences), pair=more.get("pair"),
        label=more.get("label"), name=more.get("corpus", ""), **pairs,
    )  # fmt: skip
    words = np.concatenate([np.arange(length) for length in lengths]).astype(np.int32)
    segments = np.zeros(len(words), np.int8)
    if pairs:
        segments = (words >= np.repeat(more["first_words"], lengths)).astype(np.int8)
    store = HiddenStore(
        folder=Path("made"), name=name, pool="word", layers=tuple(range(array.shape[1])), n_layers=array.shape[1] - 1,
        ids=ids, left_out=(), starts=np.concatenate([[0], np.cumsum(lengths)]), words=words, segments=segments,
        spans=np.zeros((len(words), 2), np.int32), array=array,
    )  # fmt: skip
    return store, examples


def sentences_of(lengths: list[int], vocabulary: int = 0, seed: int = 0) -> list[tuple[str, ...]]:
    """Sentences of these lengths: of words that occur once, or of a vocabulary's."""
    generator = np.random.default_rng(seed)
    count = sum(lengths)
    words = generator.integers(0, vocabulary, count) if vocabulary else np.arange(count)
    ends = np.cumsum(lengths)
    return [tuple(f"w{word}" for word in words[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
