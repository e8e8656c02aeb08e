"""A vector for a whole text: the first token's, or the mean of its tokens'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.observe import Seen, observe

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

TextPool = Literal["cls", "mean"]
TEXT_POOLS: tuple[TextPool, ...] = ("cls", "mean")


def pooled(states: Tensor, special: Tensor, pool: TextPool) -> Tensor:
    """From tokens [row, token, d] to texts [row, d]. `cls`: the first token; `mean`: the mean of all that aren't
    special."""
    if pool == "cls":
        return states[:, 0]
    own = (~special).to(states.dtype).unsqueeze(-1)
    return (states * own).sum(1) / own.sum(1).clamp_min(1)


def sentence_vectors(
    encoder: Encoder, texts: Sequence[str], *, pools: Sequence[TextPool] = TEXT_POOLS, layers: Sequence[int]
) -> tuple[np.ndarray, int]:
    """The vectors of texts, each read alone, of these layers (0: the embedding output), [pool, layer, text, d]; and
    how many of the texts are longer than the model reads, and were truncated."""
    vectors = _Vectors(len(texts), pools, layers, encoder.hidden_size)
    passed = observe([encoder], unnamed(texts), [vectors], label="texts")
    return vectors.kept, passed.truncated


def unnamed(texts: Sequence[str]) -> Examples:
    """Texts, each by its place."""
    return Examples(ids=tuple(map(str, range(len(texts)))), text=tuple(texts))


class _Vectors:
    needs = frozenset({"hidden_states"})

    def __init__(self, n: int, pools: Sequence[TextPool], layers: Sequence[int], dim: int) -> None:
        self.kept = np.empty((len(pools), len(layers), n, dim), np.float32)
        self._pools, self._layers = pools, layers

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        for place, layer in enumerate(self._layers):
            for at, pool in enumerate(self._pools):
                texts = pooled(seen[0].hidden_states[layer], batch.special, pool)
                self.kept[at, place, batch.rows] = texts.float().cpu().numpy()
