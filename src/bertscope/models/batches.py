"""Texts to padded batches, in flat memory.

Texts are tokenised a window at a time, sorted by length inside the window, and grouped so that rows x longest row
stays under a budget of tokens: little padding, even batches, and nothing that grows with the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.freed_memory import give_back_memory
from bertscope.models.sending import sent
from bertscope.models.words import NO_WORD, align, encode, special_ids

WINDOW = 2048  # texts that are tokenised and sorted by length at a time, unless somebody says otherwise


@dataclass(frozen=True)
class Filled:
    """How a batch was filled up to a shape that others have, too: a thing is an example, or whatever else is trained
    on as one. What fills up repeats what is there, and counts for nothing."""

    weight: Tensor
    """[thing]: 1; 0 of those that only fill up."""
    things: Tensor
    """[thing]: their numbers, on the device."""
    rows: Tensor
    """[row]: whether it is one of its thing's own rows."""

    @classmethod
    def of(cls, things: np.ndarray, asked: int, own: np.ndarray) -> Filled:
        """Of things of which the first were `asked` for; `own` are their own rows."""
        weight = (np.arange(len(things)) < asked).astype(np.float32)
        return cls(*(torch.from_numpy(each) for each in (weight, things, own)))


@dataclass(frozen=True)
class Shape:
    """A shape that batches are filled up to, and where they are made."""

    length: int
    """Tokens of a row."""
    rows: int = 1
    """Rows of a thing."""
    device: str = "cpu"


@dataclass(frozen=True)
class Batch:
    """Some examples, tokenised and padded on the right."""

    rows: np.ndarray
    """Their positions in the examples they come from."""
    inputs: dict[str, Tensor]
    """What the model is called with: `input_ids`, `attention_mask` and, where the model has them, segments."""
    lengths: Tensor
    """Real tokens per row, special tokens included."""
    special: Tensor
    """[row, token]: whether the token is [CLS], [SEP] or padding, or a special token typed in the text."""
    added: Tensor
    """[row, token]: whether the tokenizer added it: [CLS] and [SEP], or what the family calls them."""
    words: Tensor
    """[row, token]: the token's word in its example (see `models.words`), -1 where it belongs to none."""
    segments: Tensor
    """[row, token]: which text of a pair the token is in, 0 or 1; 0 for special tokens and padding."""
    truncated: int
    """How many of these texts were longer than the model allows."""
    filled: Filled | None = field(default=None, kw_only=True)
    """None where the batch has what it was asked for, and nothing more."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class SentBatch(Batch):
    """A batch that is elsewhere, with what it was on the CPU: who asks about that needn't wait for the device."""

    host: Batch = field(kw_only=True)


@dataclass(frozen=True)
class Tokens:
    """Tokenised examples, not yet padded: each field end to end in one array, an example a slice of it."""

    fields: dict[str, np.ndarray]
    special: np.ndarray
    added: np.ndarray
    words: np.ndarray
    segments: np.ndarray
    """Which text of a pair the token is in."""
    starts: np.ndarray
    lengths: np.ndarray
    truncated: np.ndarray
    encodings: Sequence[Any]
    """What the tokenizer gave, for what is asked once in a corpus."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def spans(self) -> np.ndarray:
        """[token, 2]: from which to which character of its text a token reaches; of a marked word, in the word."""
        offsets = chain.from_iterable(encoding.offsets for encoding in self.encodings)
        return np.fromiter(chain.from_iterable(offsets), np.int32, 2 * len(self.words)).reshape(-1, 2)

    def at(self, places: np.ndarray, lengths: np.ndarray) -> Tokens:
        """The tokens at these places, each row's after another's, in rows of these lengths; nothing is truncated."""
        return replace(
            self,
            fields={name: flat[places] for name, flat in self.fields.items()},
            special=self.special[places],
            added=self.added[places],
            words=self.words[places],
            segments=self.segments[places],
            starts=np.cumsum(lengths) - lengths,
            lengths=lengths,
            truncated=np.zeros(len(lengths), dtype=bool),
            encodings=(),
        )


def tokenise(tokenizer: Any, texts: Examples, max_length: int) -> Tokens:
    """Tokenise texts, pairs or marked words; what is longer than the model allows is truncated, and noted."""
    coded = encode(tokenizer, texts, truncation=True, max_length=max_length, return_special_tokens_mask=True)
    return lay_out(tokenizer, coded, texts)


def tokenise_whole(tokenizer: Any, texts: Examples) -> Tokens:
    """All tokens of each text, however many they are."""
    coded = encode(tokenizer, texts, truncation=False, return_special_tokens_mask=True, verbose=False)
    return lay_out(tokenizer, coded, texts)


def lay_out(tokenizer: Any, coded: Any, texts: Examples) -> Tokens:
    """What the tokenizer gave for these texts, with its special tokens mask, end to end."""
    coded.pop("attention_mask", None)  # rebuilt when the rows are padded
    lengths = np.array([len(row) for row in coded["input_ids"]])
    flat = {name: np.fromiter(chain.from_iterable(coded[name]), np.int32, lengths.sum()) for name in coded}
    # The tokenizer's own mask knows the special tokens it adds, not those typed in a text.
    added = flat.pop("special_tokens_mask").astype(bool)
    special = added | np.isin(flat["input_ids"], special_ids(tokenizer))
    words, segments = align(tokenizer, coded, special, texts)
    return Tokens(
        fields=flat,
        special=special,
        added=added,
        words=words,
        segments=segments,
        starts=np.cumsum(lengths) - lengths,
        lengths=lengths,
        truncated=np.array([bool(encoding.overflowing) for encoding in coded.encodings]),
        encodings=coded.encodings,
    )


def tokenise_all(tokenizer: Any, texts: Examples, max_length: int, window: int = 8192) -> Tokens:
    """The same a window at a time, without what the tokenizer gave: that is many times as large."""
    parts = []
    for first in range(0, len(texts), window):
        some = texts.take(range(first, min(first + window, len(texts))))
        parts.append(replace(tokenise(tokenizer, some, max_length), encodings=()))

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    lengths = joined("lengths")
    fields = {name: np.concatenate([part.fields[name] for part in parts]) for name in parts[0].fields}
    kept = {name: joined(name) for name in ("special", "added", "words", "segments", "truncated")}
    return Tokens(fields=fields, starts=np.cumsum(lengths) - lengths, lengths=lengths, encodings=(), **kept)


def pieces_of_words(tokenizer: Any, texts: Examples, max_length: int) -> np.ndarray:
    """How many tokens each marked word of the texts has, end to end; 0 in a text that is longer than `max_length`."""
    assert texts.words is not None
    sizes = np.array([len(words) for words in texts.words])
    pieces = []
    for first in range(0, len(texts), WINDOW):
        rows = np.arange(first, min(first + WINDOW, len(texts)))
        tokens = tokenise(tokenizer, texts.take(rows), max_length)
        starts = np.cumsum(sizes[rows]) - sizes[rows]
        row = np.repeat(np.arange(len(rows)), tokens.lengths)
        shown = (tokens.words != NO_WORD) & ~tokens.truncated[row]
        pieces.append(np.bincount((starts[row] + tokens.words)[shown], minlength=sizes[rows].sum()))
    return np.concatenate(pieces)


def fill_up(things: np.ndarray, most: int) -> np.ndarray:
    """So many things: these, and behind them the first again."""
    return np.concatenate([things, np.repeat(things[:1], max(0, most - len(things)))])


def pad(
    tokens: Tokens, rows: np.ndarray, *, pad_id: int, first: int = 0, device: Any = "cpu", length: int | None = None
) -> Batch:
    """The batch of these rows of `tokens`, padded to the longest of them, or to a `length`; `first` is where the
    tokens' first example stands in the corpus."""
    lengths = tokens.lengths[rows]
    place = np.arange(length or lengths.max())
    real = place < lengths[:, None]
    at = np.where(real, tokens.starts[rows][:, None] + place, 0)

    def fill(values: np.ndarray, padding: int | bool) -> Tensor:
        return sent(np.where(real, values[at], padding), device)

    inputs = {name: fill(flat, pad_id if name == "input_ids" else 0).long() for name, flat in tokens.fields.items()}
    inputs["attention_mask"] = sent(real, device).long()
    return Batch(
        rows=rows + first,
        inputs=inputs,
        lengths=sent(lengths, device),
        special=fill(tokens.special, True),
        added=fill(tokens.added, False),
        words=fill(tokens.words, NO_WORD),
        segments=fill(tokens.segments, 0),
        truncated=int(tokens.truncated[rows].sum()),
    )


def batches(
    tokenizer: Any,
    examples: Examples,
    *,
    max_length: int,
    tokens: int,
    window: int = WINDOW,
    cells: int | None = None,
    device: Any = "cpu",
    long: Literal["truncated", "left_out"] = "truncated",
) -> Iterator[Batch]:
    """All examples once, in batches of at most `tokens` tokens, padding included, and of at most `cells` pairs of a
    text's tokens: as many has a head's attention map. Windows are in file order.

    What is longer than `max_length` is truncated to it, or left out.
    """
    how: Any = {"tokens": tokens, "window": window, "cells": cells, "device": device, "long": long}
    return chain.from_iterable(windows(tokenizer, examples, max_length=max_length, **how))


def windows(
    tokenizer: Any,
    examples: Examples,
    *,
    max_length: int,
    tokens: int,
    window: int = WINDOW,
    cells: int | None = None,
    device: Any = "cpu",
    long: Literal["truncated", "left_out"] = "truncated",
) -> Iterator[Window]:
    """The same a window at a time, whose batches can be gone through more than once."""
    for first in range(0, len(examples), window):
        give_back_memory()
        texts = examples.take(range(first, min(first + window, len(examples))))
        coded = replace(tokenise(tokenizer, texts, max_length), encodings=())  # thousands of small things
        kept = np.flatnonzero(~coded.truncated) if long == "left_out" else np.arange(len(coded))
        groups = [kept[group] for group in group_by_budget(coded.lengths[kept], tokens, cells)]
        yield Window(coded, groups, {"pad_id": tokenizer.pad_token_id or 0, "first": first}, device)


@dataclass(frozen=True)
class Window:
    """Some tokenised texts, and which of them make a batch."""

    tokens: Tokens
    groups: Sequence[np.ndarray]
    how: dict[str, Any]  # they are padded
    device: Any

    def __iter__(self) -> Iterator[Batch]:
        for rows in self.groups:
            made = pad(self.tokens, rows, **self.how)
            yield made if torch.device(self.device).type == "cpu" else _sent_batch(made, self.device)


def _sent_batch(batch: Batch, device: Any) -> SentBatch:
    held = {each.name: getattr(batch, each.name) for each in fields(batch)}
    moved: dict[str, Any] = {name: sent(value, device) for name, value in held.items() if isinstance(value, Tensor)}
    moved["inputs"] = {name: sent(value, device) for name, value in batch.inputs.items()}
    return SentBatch(**held | moved, host=batch)


def group_by_budget(lengths: np.ndarray, tokens: int, cells: int | None = None) -> Iterator[np.ndarray]:
    """Rows sorted by length, longest first, in groups whose size x longest row is within the budget, and so is size x
    longest row squared, if that has one."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        size = max(1, min(tokens, cells // longest if cells else tokens) // longest)
        yield order[start : start + size]
        start += size
