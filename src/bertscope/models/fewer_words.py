"""What a model says of examples of which only some words are left: the others are masked, or deleted and the rest
tokenised anew.

Whatever is asked of an example with the same words left is read once. Many such examples are rows of one batch within
a budget of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal, get_args

import numpy as np
import torch

from bertscope.core.attributions import Targets
from bertscope.core.examples import Examples
from bertscope.models.embedding_path import EmbeddingPath
from bertscope.models.explained_window import SLOT, ExplainedWindow
from bertscope.models.outputs.base import ModelOutput, RowBatch, group_sized
from bertscope.models.read_words import word_spans
from bertscope.models.sending import sent

How = Literal["mask", "delete"]
HOW: tuple[How, ...] = get_args(How)
_AT_ONCE = 8192  # examples with deleted words that are tokenised at a time


@dataclass(frozen=True)
class Said:
    values: np.ndarray
    """[request]: the probability of what is explained; of what has none, the quantity itself."""
    passes: int
    """How many rows the model has read."""


def said_of_fewer(
    window: ExplainedWindow, path: EmbeddingPath, targets: Targets, unit: np.ndarray, kept: np.ndarray, how: How,
    budget: int,
) -> Said:  # fmt: skip
    """What the model says of `targets`, whose examples are the window's: of target `unit` [request] where these words
    are kept [request, word], in the order in which the window has the words that it reads of an example."""
    example = targets.example[unit]
    _, first, variant = np.unique(
        np.concatenate([example[:, None].view(np.uint8).reshape(len(example), -1), np.packbits(kept, 1)], 1),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    pairs, place = np.unique(variant.reshape(-1) * len(targets) + unit, return_inverse=True)
    asking = _Asking(targets, pairs // len(targets), pairs % len(targets))
    own, left = example[first], kept[first]
    read = _masked if how == "mask" else _deleted
    values, passes = np.zeros(len(pairs)), 0
    with torch.no_grad():
        for batch, variants in read(window, path, own, left, budget):
            at, copy = asking.of(variants)
            some = asking.targets.take(asking.target[at]).moved(copy)
            if how == "delete":
                some = window.asked.without_words(some, _by_number(window, own[variants], left[variants])[copy])
            values[at] = _likelihood(window.asked, batch, some)
            passes += len(batch.owner)
    return Said(values[place.reshape(-1)], passes)


@dataclass(frozen=True)
class _Asking:
    """Which targets are asked of which variants; pairs are in the order of the variants."""

    targets: Targets
    variant: np.ndarray
    target: np.ndarray

    def of(self, variants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of these variants, and the place of each one's variant among them."""
        first, last = (np.searchsorted(self.variant, variants, side=side) for side in ("left", "right"))
        counts = last - first
        copy = np.repeat(np.arange(len(variants)), counts)
        return np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts), copy


def _likelihood(asked: ModelOutput, batch: RowBatch, targets: Targets) -> np.ndarray:
    raw = asked.run(batch)
    found = asked.probability(raw, batch, targets)
    found = asked.quantity(raw, batch, targets) if found is None else found
    return found.double().cpu().numpy()


def _masked(
    window: ExplainedWindow, path: EmbeddingPath, example: np.ndarray, kept: np.ndarray, budget: int
) -> Iterator[tuple[RowBatch, np.ndarray]]:
    """Batches of examples in which [MASK]'s embedding stands in the place of words that aren't kept."""
    for group in group_sized(window.longest[example], window.counts[example], budget):
        batch = window.batch(example[group])
        slot = batch.marks[SLOT]
        left = sent(np.pad(kept[group], ((0, 0), (1, 0)), constant_values=True), slot.device)
        path.read(left[batch.owner].gather(1, slot.long())[..., None])
        yield batch, group


def _deleted(
    window: ExplainedWindow, path: EmbeddingPath, example: np.ndarray, kept: np.ndarray, budget: int
) -> Iterator[tuple[RowBatch, np.ndarray]]:
    """Batches of examples without the words that aren't kept; nor those that the model didn't read before."""
    asked, texts = window.asked, _Deleting(window)
    path.read()
    order = np.argsort(-kept.sum(1), kind="stable")  # those of about one length are tokenised together
    for begin in range(0, len(order), _AT_ONCE):
        some = order[begin : begin + _AT_ONCE]
        rows = asked.rows(texts.without(example[some], _by_number(window, example[some], kept[some])))
        rows = replace(rows, tokens=replace(rows.tokens, encodings=()))
        starts = np.searchsorted(rows.example, np.arange(len(some) + 1))
        longest = np.maximum.reduceat(rows.tokens.lengths, starts[:-1])
        for group in group_sized(longest, np.diff(starts), budget):
            yield asked.batch(rows, starts, group), some[group]


def _by_number(window: ExplainedWindow, example: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """[variant, word]: the same for words as examples count them; those that aren't read are not kept."""
    words, counts = window.words, window.words.counts[example]
    most = max(map(len, words.names), default=0)
    found = np.zeros((len(example), most), dtype=bool)
    row = np.repeat(np.arange(len(example)), counts)
    slot = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found[row, words.number[words.starts[example][row] + slot]] = kept[row, slot]
    return found


class _Deleting:
    """The texts of a window's examples, cut so that words can be left out."""

    def __init__(self, window: ExplainedWindow) -> None:
        self._examples, asked = window.examples, window.asked
        self._marked = window.examples.words is not None and asked.reads_marked_words
        if self._marked:
            return
        texts = asked.texts(window.examples)
        spans = iter(word_spans(asked.encoder.tokenizer, [text for each in texts for text in each]))
        self._parts = [_parted(each, [next(spans) for _ in each]) for each in texts]

    def without(self, example: np.ndarray, kept: np.ndarray) -> Examples:
        """These examples with the words that are kept [variant, word], counted as `Examples` does."""
        ids = tuple(map(str, range(len(example))))
        if self._marked:
            return self._marked_words(ids, example, kept)
        flags = np.concatenate([kept, np.ones((len(kept), 1), dtype=bool)], 1)  # what is between words stays
        made = [
            [_joined(parts, flags[row, words]) for parts, words in self._parts[one]]
            for row, one in enumerate(example)
        ]
        text = tuple(each[0] for each in made)
        if self._examples.choices is not None:
            return Examples(ids, text, choices=tuple(tuple(each[1:]) for each in made))
        return Examples(ids, text, pair=tuple(each[1] for each in made) if self._examples.pair is not None else None)

    def _marked_words(self, ids: tuple[str, ...], example: np.ndarray, kept: np.ndarray) -> Examples:
        examples = self._examples
        assert examples.words is not None
        words = tuple(tuple(compress(examples.words[one], left)) for one, left in zip(example, kept, strict=True))
        text = tuple(map(" ".join, words))
        if examples.first_words is None:
            return Examples(ids, text, words=words)
        first = [int(left[: examples.first_words[one]].sum()) for one, left in zip(example, kept, strict=True)]
        return Examples(ids, text, pair=text, words=words, first_words=tuple(first))


def _parted(texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[list[str], list[int]]]:
    """Each text of an example as pieces, a word with the space before it or what stands between words; and of each
    piece which word it is, counted through the example, -1 of what is none."""
    found, number = [], 0
    for text, words in zip(texts, spans, strict=True):
        parts, which, at = list[str](), list[int](), 0
        for begin, end in words:
            between = text[at:begin]
            if between.strip():
                parts, which, between = [*parts, between.rstrip()], [*which, -1], between[len(between.rstrip()) :]
            parts.append(between + text[begin:end])
            which.append(number)
            at, number = end, number + 1
        if text[at:].strip():
            parts, which = [*parts, text[at:]], [*which, -1]
        found.append((parts, which))
    return found


def _joined(parts: Sequence[str], kept: Any) -> str:
    return "".join(compress(parts, kept)).strip()
