"""What heads and MLPs give on average over a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.models.batches import Batch
from bertscope.models.observe import Seen
from bertscope.models.part_outputs import as_read, by_layer, places, real_tokens, show_parts

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

FEWEST = 10
"""How many texts have to have a place for it to have a mean of its own."""
PLACES = 512
"""Of how many places, from the first, means are kept."""


@dataclass(frozen=True)
class Means:
    """What each head and MLP puts out on average over real tokens: what `mean` leaves in place of a part. And, in the
    same shape, any other constant, such as what `optimal` leaves."""

    heads: Tensor  # [layer, head, d]
    mlps: Tensor  # [layer, hidden]

    def entries(self, inputs: Mapping[str, Any], draw: int) -> Tensor | None:
        """All tokens get the same."""
        return None


@dataclass(frozen=True)
class PlaceMeans:
    """The same at each place of a text, counted in real tokens from the first: what `position` leaves. The last entry
    is for places that too few texts have: the average over all tokens."""

    heads: Tensor  # [layer, place, head, d]
    mlps: Tensor  # [layer, place, hidden]

    def entries(self, inputs: Mapping[str, Any], draw: int) -> Tensor | None:
        """[row, token]: which entry a token gets."""
        return places(real_tokens(inputs)).clamp_max(self.mlps.shape[1] - 1)


def means(encoder: Encoder, examples: Examples, output: Output | None = None) -> Means:
    """See `Encoder.means`."""
    sums = _Sums()
    read = as_read(encoder, examples, output)
    show_parts(encoder, read, sums.update, total=len(examples), label="averaging")
    return Means(
        by_layer(encoder, [total / sums.tokens for total in sums.heads]), torch.stack(sums.mlps) / sums.tokens
    )


class _Sums:
    """Sums over real tokens, per layer. Double precision, so that the order of batches doesn't show."""

    def __init__(self) -> None:
        self.tokens = 0
        self.heads: list[Tensor] = []
        self.mlps: list[Tensor] = []

    def update(self, batch: Batch, seen: Seen) -> None:
        real = batch.inputs["attention_mask"].double()
        heads = [torch.einsum("bt,bthd->hd", real, context.double()) for context in seen.contexts]
        mlps = [torch.einsum("bt,btd->d", real, output.double()) for output in seen.mlps]
        self.heads = [old + new for old, new in zip(self.heads, heads, strict=True)] if self.heads else heads
        self.mlps = [old + new for old, new in zip(self.mlps, mlps, strict=True)] if self.mlps else mlps
        self.tokens += int(real.sum())


def means_by_place(encoder: Encoder, examples: Examples, output: Output | None) -> PlaceMeans:
    """See `Encoder.means_by_place`."""
    sums = _PlaceSums(min(encoder.max_length, PLACES))
    read = as_read(encoder, examples, output)
    show_parts(encoder, read, sums.update, total=len(examples), label="averaging by place")
    return PlaceMeans(by_layer(encoder, sums.means(sums.heads)), torch.stack(sums.means(sums.mlps)))


class _PlaceSums:
    """Sums over rows at each place, and behind them over all real tokens, per layer."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._counts: Tensor | None = None
        self.heads: dict[int, Tensor] = {}
        self.mlps: dict[int, Tensor] = {}

    def update(self, batch: Batch, seen: Seen) -> None:
        real = batch.inputs["attention_mask"].double()  # padded on the right: a place is a column
        self._counts = self._added(self._counts, real, real[..., None])
        for layer, (context, output) in enumerate(zip(seen.contexts, seen.mlps, strict=True)):
            self.heads[layer] = self._added(self.heads.get(layer), real, context.double())
            self.mlps[layer] = self._added(self.mlps.get(layer), real, output.double())

    def _added(self, old: Tensor | None, real: Tensor, values: Tensor) -> Tensor:
        found = torch.einsum("bt,bt...->t...", real, values)
        new = found.new_zeros(self._size + 1, *found.shape[1:]) if old is None else old
        kept = min(len(found), self._size)
        new[:kept] += found[:kept]
        new[-1] += found.sum(0)
        return new

    def means(self, sums: dict[int, Tensor]) -> list[Tensor]:
        """[place, ...] of each layer, in single precision: there are many."""
        assert self._counts is not None
        counts = self._counts[:, 0]
        last = len(counts) - 1
        own = (counts >= FEWEST).nonzero()[:, 0]
        own = own[own < last]
        found = []
        for total in sums.values():
            each = (total[-1:] / counts[-1]).repeat(len(total), *[1] * (total.ndim - 1))
            each[own] = total[own] / counts[own].reshape(-1, *[1] * (total.ndim - 1))
            found.append(each.float())
        return found
