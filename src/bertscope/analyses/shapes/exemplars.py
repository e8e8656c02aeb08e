"""Maps to show: for each class and layer the one that the classifier is surest of, small enough to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps
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


@dataclass(frozen=True)
class _Exemplar:
    """A map, and how likely it is of its class."""

    chance: float
    layer: int
    head: int
    row: int
    """The example."""
    map: np.ndarray


class Exemplars:
    """Keeps one map per class and layer, however many it looks at."""

    def __init__(self) -> None:
        self._best: dict[tuple[int, int], _Exemplar] = {}

    def look(self, layer: int, maps: LayerMaps, chances: Tensor) -> None:
        """Take a batch's surest map of each class, if it is surer than what is kept."""
        if not chances.shape[1]:  # all heads of the layer were cut
            return
        lengths = maps.view.lengths
        shown = (lengths >= SHORTEST) & (lengths <= LONGEST)
        surest, at = torch.where(shown[:, None, None], chances, -1).flatten(0, 1).max(0)  # over rows and heads
        heads = chances.shape[1]
        for number, (chance, place) in enumerate(zip(surest.tolist(), at.tolist(), strict=True)):
            row, head = divmod(place, heads)
            kept = self._best.get((number, layer))
            if chance > 0.5 and (kept is None or chance > kept.chance):
                n = int(lengths[row])
                picture = maps.maps[row, head, :n, :n].cpu().numpy().copy()
                self._best[number, layer] = _Exemplar(chance, layer, head, int(maps.view.rows[row]), picture)

    @property
    def rows(self) -> set[int]:
        """The examples that are shown."""
        return {one.row for one in self._best.values()}

    def sums(self, first: int) -> Sums:
        """What is kept, for `merge`; `first` is where the examples begin in the corpus."""
        facts = [
            [number, one.layer, one.head, first + one.row, one.chance] for (number, _), one in self._best.items()
        ]
        return Sums({str(place): one.map for place, one in enumerate(self._best.values())}, {"surest": facts})

    def merge(self, other: Sums) -> None:
        """Take in the maps that are surer, of examples that come later."""
        for place, (number, layer, head, row, chance) in enumerate(other.facts["surest"]):
            kept = self._best.get((number, layer))
            if kept is None or chance > kept.chance:
                self._best[number, layer] = _Exemplar(chance, layer, head, row, other.arrays[str(place)])

    def table(self, tokens: Tokens) -> pd.DataFrame:
        """A row for each cell of the surest maps of each class, with the tokens that the cell is between."""
        frames = []
        for number, name in enumerate(CLASSES):
            found = [one for (of_class, _), one in self._best.items() if of_class == number]
            for one in sorted(found, key=lambda one: -one.chance)[:PER_CLASS]:
                frames.append(_cells(one, name, tokens(one.row)))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


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
