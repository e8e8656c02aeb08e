"""A small map for every head: its attention on a short example that it treats as it treats most of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes.exemplars import Tokens
from bertscope.core.sums import Sums
from bertscope.models.encoder import Encoder

EXAMPLES = 15
WANTED = 12  # tokens: the examples whose length is nearest to this are kept
LONGEST = 24  # tokens: of a longer example, where there are no shorter ones, the first so many are shown


class _Shown:
    """What a batch's chosen examples show in some layers: [example, head, ...], where it came to be until it is
    read."""

    def __init__(self, values: Tensor) -> None:
        self._values = values

    @cached_property
    def array(self) -> np.ndarray:
        return self._values.cpu().numpy()


@dataclass(frozen=True)
class _Part:
    """Of that, what one example shows in one layer."""

    of: _Shown
    place: int
    heads: slice
    side: int | None = None
    """Tokens on each side of a map."""

    @property
    def array(self) -> np.ndarray:
        shown = self.of.array[self.place, self.heads]
        return shown if self.side is None else shown[:, : self.side, : self.side].copy()


@dataclass
class _Kept:
    """One example: for each encoder and layer every head's map, and the numbers by which examples are compared."""

    maps: dict[tuple[int, int], Any] = field(default_factory=dict)  # [head, query, key], or a part
    numbers: dict[tuple[int, int], Any] = field(default_factory=dict)  # [head, number], or a part

    def read(self) -> _Kept:
        """The same as arrays."""
        return _Kept(*(
            {at: one.array if isinstance(one, _Part) else one for at, one in found.items()}
            for found in (self.maps, self.numbers)
        ))  # fmt: skip


class RepresentativeMaps:
    """Keeps all heads' maps of a few short examples, the same ones in whatever batches they come."""

    def __init__(self) -> None:
        self._kept: dict[tuple[float, int], _Kept] = {}  # by how far the length is from WANTED, and the example

    def choose(self, view: View) -> None:
        """Before a batch's layers are looked at: which of its examples are kept, and which earlier ones no longer."""
        far = (view.host.lengths - WANTED).abs().tolist()
        here = {(distance, int(row)): place for place, (distance, row) in enumerate(zip(far, view.rows, strict=True))}
        best = sorted({*self._kept, *here})[:EXAMPLES]
        self._here = {key: here[key] for key in best if key in here}
        lengths = view.host.lengths.tolist()
        self._sides = [min(int(lengths[place]), LONGEST) for place in self._here.values()]
        self._places = view.send(np.array(list(self._here.values()), dtype=np.int64))
        self._kept = {key: self._kept.get(key) or _Kept() for key in best}

    def look(self, encoder: int, layer: int, maps: LayerMaps, numbers: Tensor) -> None:
        """Keep the chosen examples' maps of layers from `layer` on; `numbers` is [row, head, number]."""
        if not self._here:
            return
        side = max(self._sides)
        shown, chosen = _Shown(maps.maps[self._places, :, :side, :side]), _Shown(numbers[self._places])
        for at, (key, n) in enumerate(zip(self._here, self._sides, strict=True)):
            for which, heads in enumerate(maps.layers, start=layer):
                self._kept[key].maps[encoder, which] = _Part(shown, at, heads, n)
                self._kept[key].numbers[encoder, which] = _Part(chosen, at, heads)

    def _read(self) -> dict[tuple[float, int], _Kept]:
        """What is kept, as arrays."""
        self._kept = {key: one.read() for key, one in self._kept.items()}
        return self._kept

    @property
    def rows(self) -> set[int]:
        """The examples whose maps are kept."""
        return {row for _, row in self._kept}

    def sums(self, first: int) -> Sums:
        """What is kept, for `merge`; `first` is where the examples begin in the corpus."""
        arrays = {
            f"{place}.{what}.{encoder}.{layer}": array
            for place, one in enumerate(self._read().values())
            for what, found in (("maps", one.maps), ("numbers", one.numbers))
            for (encoder, layer), array in found.items()
        }
        return Sums(arrays, {"kept": [[distance, first + row] for distance, row in self._kept]})

    def merge(self, other: Sums) -> None:
        """Take in examples of elsewhere in the corpus; as many are kept as before, whose length is nearest."""
        found = [(distance, row) for distance, row in other.facts["kept"]]
        for name, array in other.arrays.items():
            place, what, encoder, layer = name.split(".")
            one = self._kept.setdefault(found[int(place)], _Kept())
            getattr(one, what)[int(encoder), int(layer)] = array
        self._kept = {key: self._kept[key] for key in sorted(self._kept)[:EXAMPLES]}

    def tables(
        self, checkpoints: Mapping[str, Encoder], tokens: Tokens
    ) -> tuple[dict[str, pd.DataFrame], np.ndarray]:
        """`head_maps`, a row for each head; `map_tokens`, those of the examples shown; and the maps [row, query,
        key], 255 times the square root of the attention."""
        kept = list(self._read().items())
        rows: list[tuple[str, int, int, int]] = []
        maps = []
        for which, (name, encoder) in enumerate(checkpoints.items()):
            for layer, heads in enumerate(encoder.head_counts):
                alike = [i for i, other in enumerate(checkpoints.values()) if other.head_counts[layer] == heads]
                nearest = self._nearest_to_median([(i, layer) for i in alike]) if heads else []
                for head, chosen in enumerate(nearest):
                    (_, row), found = kept[chosen]
                    rows.append((name, layer + 1, head + 1, row))
                    maps.append(found.maps[which, layer][head])
        where = pd.DataFrame(rows, columns=["checkpoint", "layer", "head", "example"])
        shown = _tokens(tokens, sorted({row[-1] for row in rows}))
        return {"head_maps": where, "map_tokens": shown}, _stacked(maps)

    def _nearest_to_median(self, places: Sequence[tuple[int, int]]) -> list[int]:
        """For each head the kept example that is nearest to the median of all: one for all these encoders, so that
        before and after can be compared."""
        numbers = np.stack([np.concatenate([one.numbers[at] for at in places], 1) for one in self._kept.values()])
        spread, median = numbers.std(0), np.quantile(numbers, 0.5, axis=0, method="lower")  # an example's, no mean
        off = np.abs(numbers - median) / np.where(spread > 0, spread, 1)
        return off.sum(-1).argmin(0).tolist()


def _tokens(tokens: Tokens, rows: Sequence[int]) -> pd.DataFrame:
    return pd.DataFrame(
        {"example": row, "position": position, "token": token}
        for row in rows
        for position, token in enumerate(tokens(row)[:LONGEST], start=1)
    )


def _stacked(maps: Sequence[np.ndarray]) -> np.ndarray:
    side = max(len(one) for one in maps)
    stacked = np.stack([np.pad(one, ((0, side - len(one)),) * 2) for one in maps])
    return (255 * np.sqrt(stacked.clip(0, 1))).round().astype(np.uint8)
