"""Texts as masked copies: a row for each piece, in which it and the later pieces of its word are masked.

So is the pseudo-log-likelihood of a text defined (PLL-word-l2r, Kauf and Ivanova 2023): the sum over its pieces of
log p. Words are the tokenizer's own (`word_ids()`), whatever a source marks. Texts that a tokenizer reads as the same
pieces are read once, and are exactly as likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.batches import WINDOW, group_by_budget, tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.words import word_ids

_NO_WORD = -1


@dataclass(frozen=True)
class Copies:
    """Some pieces, each in a row of its own that doesn't show it."""

    pieces: np.ndarray
    """Which pieces these are."""
    inputs: dict[str, Tensor]
    at: Tensor
    """[row]: where each is masked."""
    right: Tensor
    """[row]: what stood there."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of texts, as one tokenizer reads them; different texts end to end."""

    fields: dict[str, np.ndarray]
    words: np.ndarray
    """[token]: its word, counted through all texts; -1 where it has none."""
    starts: np.ndarray
    lengths: np.ndarray
    """Of the different texts."""
    which: np.ndarray
    """[example]: which of the different texts it is."""
    cut: np.ndarray
    """[example]: whether it is longer than the model reads."""
    unknown: np.ndarray
    """[example]: whether it has pieces that the vocabulary doesn't know."""
    mask: int
    padding: int

    @property
    def places(self) -> np.ndarray:
        """[piece]: where it stands among all tokens."""
        return np.flatnonzero(self.words != _NO_WORD)

    @property
    def texts(self) -> np.ndarray:
        """[piece]: the different text that it is of."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)[self.places]

    def batches(self, tokens: int, device: Any) -> Iterator[Copies]:
        """All pieces once, in batches of at most so many tokens, padding included."""
        places, texts = self.places, self.texts
        ids = self.fields["input_ids"]
        for group in group_by_budget(self.lengths[texts], tokens):
            text, target = texts[group], places[group][:, None]
            place = np.arange(self.lengths[text].max())
            real = place < self.lengths[text][:, None]
            at = np.where(real, self.starts[text][:, None] + place, 0)
            hidden = real & (self.words[at] == self.words[target]) & (at >= target)
            inputs = {name: np.where(real, flat[at], 0) for name, flat in self.fields.items()}
            inputs["input_ids"] = np.where(hidden, self.mask, np.where(real, ids[at], self.padding))
            inputs["attention_mask"] = real
            yield Copies(
                group,
                {name: torch.from_numpy(each).long().to(device) for name, each in inputs.items()},
                torch.from_numpy(target[:, 0] - self.starts[text]).long().to(device),
                torch.from_numpy(ids[target[:, 0]]).long().to(device),
            )

    def take(self, at: np.ndarray) -> Pieces:
        """Those of the examples at these positions, in this order."""
        if len(at) == len(self.which) and (at == np.arange(len(at))).all():
            return self
        used, which = np.unique(self.which[at], return_inverse=True)
        lengths = self.lengths[used]
        starts = np.cumsum(lengths) - lengths
        tokens = np.repeat(self.starts[used] - starts, lengths) + np.arange(lengths.sum())
        return replace(
            self, fields={name: flat[tokens] for name, flat in self.fields.items()}, words=self.words[tokens],
            starts=starts, lengths=lengths, which=which, cut=self.cut[at], unknown=self.unknown[at],
        )  # fmt: skip

    def sums(self, values: np.ndarray) -> np.ndarray:
        """[example]: values of pieces, added up for each text."""
        return np.bincount(self.texts, values, len(self.lengths))[self.which]


def read_pieces(encoder: Encoder, examples: Examples, longest: int | None = None) -> Pieces:
    """The pieces of these texts, of which `longest` tokens can be read, or as many as this model reads; a text that
    has none is refused."""
    tokenizer = encoder.tokenizer
    if tokenizer.mask_token_id is None:
        raise UserError(f"the tokenizer of {encoder.name} has no mask token: no word can be masked; give another")
    plain = replace(examples, words=None, first_words=None, marks={}, governors=None, links=None)
    met: dict[bytes, int] = {}
    which, cut, unknown = list[int](), list[bool](), list[bool]()
    fields: dict[str, list[np.ndarray]] = {}
    words, lengths, before = list[np.ndarray](), list[int](), 0
    for first in range(0, len(plain), WINDOW):
        texts = plain.take(range(first, min(first + WINDOW, len(plain))))
        tokens = tokenise(tokenizer, texts, longest or encoder.max_length)
        own = word_ids(tokens.encodings)
        for row, (start, length) in enumerate(zip(tokens.starts.tolist(), tokens.lengths.tolist(), strict=True)):
            here = slice(start, start + length)
            key = b"".join(flat[here].tobytes() for flat in tokens.fields.values())
            cut.append(bool(tokens.truncated[row]))
            unknown.append(bool((tokens.fields["input_ids"][here] == tokenizer.unk_token_id).any()))
            if (own[here] == _NO_WORD).all():
                name = examples.ids[first + row]
                raise UserError(f"text {name} has no piece that {encoder.name} could read; remove the pair")
            if key not in met:
                met[key] = len(met)
                for name, flat in tokens.fields.items():
                    fields.setdefault(name, []).append(flat[here])
                words.append(np.where(own[here] == _NO_WORD, _NO_WORD, own[here] + before))
                before = int(words[-1].max()) + 1
                lengths.append(length)
            which.append(met[key])
    sizes = np.array(lengths)
    return Pieces(
        {name: np.concatenate(parts) for name, parts in fields.items()}, np.concatenate(words),
        np.cumsum(sizes) - sizes, sizes, np.array(which), np.array(cut), np.array(unknown),
        tokenizer.mask_token_id, tokenizer.pad_token_id or 0,
    )  # fmt: skip
