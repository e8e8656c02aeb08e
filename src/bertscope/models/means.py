"""What heads and MLPs give on average over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.observe import Seen, observe

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Means:
    """What each head and MLP puts out on average over real tokens: what `mean` leaves in place of a part."""

    heads: Tensor  # [layer, head, d]
    mlps: Tensor  # [layer, hidden]


def means(encoder: Encoder, examples: Examples) -> Means:
    """See `Encoder.means`."""
    sums = _Sums()
    observe([encoder], examples, [sums], label="averaging")
    # Layers of a cut model have different numbers of heads: the rows of those that aren't there stay 0.
    heads = torch.zeros(
        encoder.n_layers, encoder.n_heads, encoder.head_size, dtype=torch.double, device=encoder.device
    )
    for layer, total in enumerate(sums.heads):
        heads[layer, : len(total)] = total / sums.tokens
    return Means(heads, torch.stack(sums.mlps) / sums.tokens)


class _Sums:
    """Sums over real tokens, per layer. Double precision, so that the order of batches doesn't show."""

    needs = frozenset({"contexts", "mlps"})

    def __init__(self) -> None:
        self.tokens = 0
        self.heads: list[Tensor] = []
        self.mlps: list[Tensor] = []

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        real = batch.inputs["attention_mask"].double()
        heads = [torch.einsum("bt,bthd->hd", real, context.double()) for context in seen[0].contexts]
        mlps = [torch.einsum("bt,btd->d", real, output.double()) for output in seen[0].mlps]
        self.heads = [old + new for old, new in zip(self.heads, heads, strict=True)] if self.heads else heads
        self.mlps = [old + new for old, new in zip(self.mlps, mlps, strict=True)] if self.mlps else mlps
        self.tokens += int(real.sum())
