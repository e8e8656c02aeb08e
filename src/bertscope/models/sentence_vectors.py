"""A vector for a whole text: the first token's, the mean of its tokens', or what the model's maker made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.observe import Seen, observe
from bertscope.models.sentence_modules import SentenceModules

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


@dataclass(frozen=True)
class TextVectors:
    """The vectors of some texts, each read alone."""

    pooled: np.ndarray
    """[pool, layer, text, d]"""
    own: np.ndarray | None
    """[text, e], as the model's maker defined them (see `Encoder.sentence`); None where nobody did."""
    truncated: int
    """How many of the texts are longer than the model reads, and were truncated."""


def text_vectors(
    encoder: Encoder, texts: Sequence[str], *, pools: Sequence[TextPool] = TEXT_POOLS, layers: Sequence[int]
) -> TextVectors:
    """The vectors of texts of these layers (0: the embedding output), and the model's own, in one pass."""
    vectors = _Vectors(len(texts), pools, layers, encoder.hidden_size)
    own = _OwnVectors(len(texts), encoder.sentence) if encoder.sentence else None
    passed = observe([encoder], unnamed(texts), [vectors, *([own] if own else [])], label="texts")
    return TextVectors(vectors.kept, own.kept if own else None, passed.truncated)


def sentence_vectors(
    encoder: Encoder, texts: Sequence[str], *, pools: Sequence[TextPool] = TEXT_POOLS, layers: Sequence[int]
) -> tuple[np.ndarray, int]:
    """The vectors of texts, each read alone, of these layers (0: the embedding output), [pool, layer, text, d]; and
    how many of the texts are longer than the model reads, and were truncated."""
    read = text_vectors(encoder, texts, pools=pools, layers=layers)
    return read.pooled, read.truncated


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


class _OwnVectors:
    needs = frozenset({"hidden_states"})

    def __init__(self, n: int, modules: SentenceModules) -> None:
        self.kept = np.empty((n, modules.size), np.float32)
        self._modules = modules

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        texts = self._modules(seen[0].hidden_states[-1], batch.inputs["attention_mask"])
        self.kept[batch.rows] = texts.float().cpu().numpy()
