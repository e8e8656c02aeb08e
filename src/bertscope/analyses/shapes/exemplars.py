"""Maps to show: for each class and layer the one that the classifier is surest of, small enough to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes import CLASSES
from bertscope.core.examples import Examples
from bertscope.core.sums import Sums
from bertscope.models.batches import tokenise
from bertscope.models.encoder import Encoder

Tokens = Callable[[int], list[str]]
"""From an example's place in the corpus to what the encoder reads of it."""
LONGEST = 24
SHORTEST = 8
PER_CLASS = 4
LEAST = 0.5
"""How likely a map must be of a class, and more, to stand for it."""


@dataclass(frozen=True)
class _Exemplar:
    """A map, and how likely it is of its class."""

    chance: float
    layer: int
    head: int
    row: int
    """The example."""
    map: np.ndarray


@dataclass
class _Surest:
    """The surest maps of all layers and classes, where they came to be: nobody waits for a GPU to tell which."""

    chance: Tensor
    """[layer, class]"""
    facts: Tensor
    """[layer, class, (the batch that the first came with, head, example, tokens)]"""
    maps: Tensor
    """[layer, class, query, key]"""

    @classmethod
    def none(cls, layers: int, like: Tensor) -> _Surest:
        shape = layers, len(CLASSES)
        facts = torch.zeros(*shape, 4, dtype=torch.long, device=like.device)
        return cls(like.new_full(shape, LEAST), facts, like.new_zeros(*shape, LONGEST, LONGEST))


class Exemplars:
    """Keeps one map per class and layer, however many it looks at."""

    def __init__(self) -> None:
        self._surest: _Surest | None = None
        self._batches = 0
        self._others: dict[tuple[int, int], _Exemplar] = {}

    @torch.inference_mode()
    def look(self, layer: int, maps: LayerMaps, chances: Tensor) -> None:
        """Take a batch's surest map of each class, if it is surer than what is kept; layers from `layer` on."""
        self._batches += layer == 0
        if self._surest is None:
            self._surest = _Surest.none(maps.view.n_layers, maps.maps)
        at = 0
        for heads, alike in groupby(maps.head_counts):
            layers = len(list(alike))
            width = layers * heads
            if heads:  # else all heads of the layers were cut
                some = slice(at, at + width)
                self._take(layer, layers, maps.view, maps.maps[:, some], chances[:, some])
            layer, at = layer + layers, at + width

    def _take(self, first: int, layers: int, view: View, maps: Tensor, chances: Tensor) -> None:
        """Take those of some layers from `first` on, which have equally many heads."""
        assert self._surest is not None
        lengths, rows = view.once(_lengths_and_examples)
        shown = (lengths >= SHORTEST) & (lengths <= LONGEST)
        of_layers = torch.where(shown[:, None, None], chances, -1).unflatten(1, (layers, -1))
        heads = of_layers.shape[2]
        surest, place = of_layers.transpose(1, 2).flatten(0, 1).max(0)  # [layer, class], over rows and heads
        row, head = place // heads, place % heads
        side, now = min(LONGEST, maps.shape[-1]), slice(first, first + layers)
        of_layer = torch.arange(layers, device=maps.device)[:, None] * heads
        pictures = maps[row, of_layer + head, :side, :side]
        pictures = torch.nn.functional.pad(pictures, (0, LONGEST - side) * 2)
        kept = self._surest
        better, new = surest > kept.chance[now], kept.chance[now] == LEAST
        since = torch.where(new, self._batches, kept.facts[now][..., 0])
        facts = torch.stack([since, head, rows[row], lengths[row]], -1)
        kept.chance[now] = torch.where(better, surest, kept.chance[now])
        kept.facts[now] = torch.where(better[..., None], facts, kept.facts[now])
        kept.maps[now] = torch.where(better[..., None, None], pictures, kept.maps[now])

    @property
    def _best(self) -> dict[tuple[int, int], _Exemplar]:
        """By class and layer, in the order in which they were first found."""
        best = dict(self._others)
        for key, one in self._own().items():
            if key not in best or one.chance > best[key].chance:
                best[key] = one
        return best

    def _own(self) -> dict[tuple[int, int], _Exemplar]:
        if self._surest is None:
            return {}
        chances, facts, maps = (
            one.cpu().numpy() for one in (self._surest.chance, self._surest.facts, self._surest.maps)
        )
        found = {}
        for layer, number in np.argwhere(chances > LEAST).tolist():
            since, head, row, n = facts[layer, number].tolist()
            picture = maps[layer, number, :n, :n].copy()
            chance = float(chances[layer, number])
            found[since, layer, number] = _Exemplar(chance, layer, head, row, picture)
        return {(number, layer): found[since, layer, number] for since, layer, number in sorted(found)}

    @property
    def rows(self) -> set[int]:
        """The examples that are shown."""
        return {one.row for one in self._best.values()}

    def sums(self, first: int) -> Sums:
        """What is kept, for `merge`; `first` is where the examples begin in the corpus."""
        best = self._best
        facts = [[number, one.layer, one.head, first + one.row, one.chance] for (number, _), one in best.items()]
        return Sums({str(place): one.map for place, one in enumerate(best.values())}, {"surest": facts})

    def merge(self, other: Sums) -> None:
        """Take in the maps that are surer, of examples that come later."""
        best = self._best
        for place, (number, layer, head, row, chance) in enumerate(other.facts["surest"]):
            kept = best.get((number, layer))
            if kept is None or chance > kept.chance:
                best[number, layer] = _Exemplar(chance, layer, head, row, other.arrays[str(place)])
        self._others, self._surest = best, None

    def table(self, tokens: Tokens) -> pd.DataFrame:
        """A row for each cell of the surest maps of each class, with the tokens that the cell is between."""
        frames, best = [], self._best
        for number, name in enumerate(CLASSES):
            found = [one for (of_class, _), one in best.items() if of_class == number]
            for one in sorted(found, key=lambda one: -one.chance)[:PER_CLASS]:
                frames.append(_cells(one, name, tokens(one.row)))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _lengths_and_examples(view: View) -> tuple[Tensor, Tensor]:
    """[row] each: its tokens, and its example's place in the corpus."""
    return view.lengths.long(), view.send(view.rows)


def _cells(exemplar: _Exemplar, name: str, tokens: list[str]) -> pd.DataFrame:
    n = len(tokens)
    return pd.DataFrame(
        {
            "map": f"{name} · layer {exemplar.layer + 1}, head {exemplar.head + 1}",
            "class": name,
            "layer": exemplar.layer + 1,
            "head": exemplar.head + 1,
            "example": exemplar.row,
            "query": np.repeat(np.arange(1, n + 1), n),
            "key": np.tile(np.arange(1, n + 1), n),
            "token": np.repeat(tokens, n),
            "attention": exemplar.map.ravel().round(4),
        }
    )


def tokens_of(encoder: Encoder, examples: Examples, row: int) -> list[str]:
    """What the encoder reads of an example."""
    coded = tokenise(encoder.tokenizer, examples.take([row]), encoder.max_length)
    return encoder.tokenizer.convert_ids_to_tokens(coded.fields["input_ids"].tolist())
