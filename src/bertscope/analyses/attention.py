"""What the questions about attention share: one pass over the examples, and what several need of a map.

A map lives as long as its batch. A question brings a reader, which takes from each layer's maps what it needs;
readers that are brought together share the pass, and what two of them need of a map is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed, Seen, observe

_TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class View:
    """A batch as the readers see it."""

    rows: np.ndarray
    """The examples' positions in the corpus."""
    real: Tensor
    """[row, token]: not padding."""
    added: Tensor
    """[row, token]: a special token that the tokenizer added, [CLS] or [SEP]."""
    words: Tensor
    """[row, token]: the token's word, -1 where it belongs to none."""
    segments: Tensor
    """[row, token]: which text of a pair the token is in, 0 or 1; 0 for special tokens and padding."""
    _queries: dict[int, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, batch: Batch) -> View:
        return cls(batch.rows, batch.inputs["attention_mask"].bool(), batch.added, batch.words, batch.segments)

    @cached_property
    def lengths(self) -> Tensor:
        """[row]: real tokens, as a number to divide by."""
        return self.real.sum(1).float()

    @cached_property
    def cls(self) -> Tensor:
        """[row, token]: the token that opens the input, [CLS] or what the family calls it."""
        return self.added & (self._place == 0)

    @cached_property
    def sep(self) -> Tensor:
        """[row, token]: the special tokens that close a text, [SEP] or what the family calls them."""
        return self.added & (self._place > 0)

    @cached_property
    def _place(self) -> Tensor:
        return torch.arange(self.real.shape[1], device=self.real.device)

    @cached_property
    def padded(self) -> bool:
        return not bool(self.real.all())

    @cached_property
    def word_count(self) -> int:
        """One more than the highest number of a word in the batch; at least one, also where no text has a word."""
        return max(1, int(self.words.max()) + 1)

    @cached_property
    def in_word(self) -> Tensor:
        """[row, token, word]: 1 where the token is a piece of the word, else 0."""
        number = torch.arange(self.word_count, device=self.words.device)
        return (self.words[..., None] == number).float()

    @cached_property
    def pieces(self) -> Tensor:
        """[row, word]: how many tokens the word has; 0 where the example has no such word, or no token shows it."""
        return self.in_word.sum(1)

    def queries_of_words(self, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Which rows of maps [row x head x query, key] are each word's, for each [row, word, head] end to end; the
        share of each in its word; and where each word's end."""
        if heads not in self._queries:
            row, token = torch.nonzero(self.words >= 0, as_tuple=True)
            head = torch.arange(heads, device=row.device)
            word = (row * self.word_count + self.words[row, token])[:, None] * heads + head
            query = (row[:, None] * heads + head) * self.words.shape[1] + token[:, None]
            word, order = word.flatten().sort(stable=True)
            pieces = self.pieces.flatten().repeat_interleave(heads)
            ends = torch.cat([word.new_zeros(1), pieces.long().cumsum(0)])
            self._queries[heads] = query.flatten()[order], 1 / pieces[word], ends
        return self._queries[heads]


class LayerMaps:
    """One layer's attention on one batch: maps [row, head, query, key], all zero for padded queries and keys."""

    def __init__(self, maps: Tensor, view: View, context: Tensor | None = None) -> None:
        self.maps = maps * view.real[:, None, :, None] if view.padded else maps
        self.view = view
        self.context = context
        """The heads' outputs [row, query, head, d], if a reader needs them."""

    @cached_property
    def flat(self) -> Tensor:
        """[row, head, query x key]."""
        return self.maps.flatten(2)

    @cached_property
    def received(self) -> Tensor:
        """[row, head, key]: the attention each token gets, averaged over the queries."""
        return self.maps.sum(2) / self.view.lengths[:, None, None]

    @cached_property
    def squares(self) -> Tensor:
        """[row, head]: the sum of the map's squares."""
        return torch.linalg.vecdot(self.flat, self.flat)

    @cached_property
    def entropy(self) -> Tensor:
        """[row, head]: the entropy of a query's attention in bits, averaged over the queries."""
        return entropy(self.flat, self.view)

    @cached_property
    def between_words(self) -> Tensor:
        """[row, head, from, to]: attention from a word is the mean over its pieces, to a word the sum over them.

        Laid out as [row, from, head, to]: products over `from` take all heads at once.
        """
        rows, heads, _, tokens = self.maps.shape
        queries, shares, ends = self.view.queries_of_words(heads)
        # Of the two products with `in_word` this saves the first: most means are over one piece.
        from_words = embedding_bag(
            queries, self.maps.reshape(-1, tokens), ends, mode="sum", per_sample_weights=shares,
            include_last_offset=True,
        )  # fmt: skip
        between = from_words.view(rows, -1, tokens) @ self.view.in_word
        return between.unflatten(1, (-1, heads)).transpose(1, 2)


def read_notes(passed: Passed) -> list[str]:
    """What became of texts that are longer than the model reads."""
    longer = "texts are longer than the model reads and were"
    notes = [(passed.truncated, f"{longer} cut"), (passed.left_out, f"{longer} left out")]
    return [f"{count} {said}" for count, said in notes if count]


def entropy(flat: Tensor, view: View) -> Tensor:
    """The entropy in bits of maps [row, head, query x key], averaged over the queries."""
    nats = torch.linalg.vecdot(flat, log(flat.clamp_min(_TINY)))
    return nats / (-np.log(2) * view.lengths[:, None])


def log(values: Tensor) -> Tensor:
    """The natural logarithm. On a CPU NumPy's: it takes a third of the time of torch's."""
    return torch.from_numpy(np.log(values.numpy())) if values.device.type == "cpu" else values.log()


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A product of matrices by torch, whose threads would be in the way of NumPy's (see `read_maps`)."""
    return (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()


def ascending(values: Tensor) -> Tensor:
    """Sorted along the last dimension. On a CPU by NumPy: it takes a tenth of the time of torch."""
    return torch.from_numpy(np.sort(values.numpy())) if values.device.type == "cpu" else values.sort().values


class MapReader(Protocol):
    """A question's part in the pass."""

    needs: frozenset[str]
    """What it asks of `observe` beside the maps."""

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Take what is needed of one layer (0-based), for each encoder in turn."""


def read_maps(
    encoders: Sequence[Encoder],
    examples: Examples,
    readers: Sequence[MapReader],
    *,
    weighted: bool = False,
    tokens: int | None = None,
    window: int = 2048,
    long: Literal["cut", "left out"] = "cut",
) -> Passed:
    """Run the encoders over the examples once and let every reader read every layer's maps.

    weighted   attention times the length of the vector that it moves (Kobayashi et al. 2020), each query's normalised
               to sum to 1 again: a head that looks at [SEP] and takes nothing from it doesn't count as looking there
    """
    from threadpoolctl import threadpool_limits

    # torch's threads spin while they wait for work, and NumPy's products would wait for them: measured, a pass with
    # all questions takes three times as long when both have two threads.
    with threadpool_limits(1, user_api="blas"):
        return observe(
            encoders, examples, [_Pass(readers, weighted)],
            tokens=tokens, window=window, long=long, label="reading attention",
        )  # fmt: skip


class _Pass:
    """The observer that hands each layer to the readers."""

    def __init__(self, readers: Sequence[MapReader], weighted: bool) -> None:
        self._readers, self._weighted = readers, weighted
        self.needs = frozenset({"maps", *({"norms"} if weighted else ())}).union(*(one.needs for one in readers))

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        view = View.of(batch)
        for layer in range(len(seen[0].maps)):
            maps = [self._layer(one, layer, view) for one in seen]
            for reader in self._readers:
                reader.read(layer, view, maps)

    def _layer(self, seen: Seen, layer: int, view: View) -> LayerMaps:
        maps = seen.maps[layer]
        if self._weighted:
            maps = maps * seen.norms[layer][:, :, None]
            maps = maps / maps.sum(-1, keepdim=True).clamp_min(_TINY)
        return LayerMaps(maps, view, seen.contexts[layer] if seen.contexts else None)
