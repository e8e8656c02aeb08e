"""A small map for every head: its attention on a short example that it treats as it treats most of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, View
from bertscope.analyses.shapes.exemplars import Tokens
from bertscope.core.sums import Sums
from bertscope.models.encoder import Encoder

EXAMPLES = 15
WANTED = 12  # tokens: the examples whose length is nearest to this are kept
LONGEST = 24  # tokens: of a longer example, where there are no shorter ones, the first so many are shown


@dataclass
class _Kept:
    """One example: for each encoder and layer every head's map, and the numbers by which examples are compared."""

    maps: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # [head, query, key]
    numbers: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # [head, number]


class RepresentativeMaps:
    """Keeps all heads' maps of a few short examples, the same ones in whatever batches they come."""

    def __init__(self) -> None:
        self._kept: dict[tuple[float, int], _Kept] = {}  # by how far the length is from WANTED, and the example

    def choose(self, view: View) -> None:
        """Before a batch's layers are looked at: which of its examples are kept, and which earlier ones no longer."""
        far = (view.lengths - WANTED).abs().tolist()
        here = {(distance, int(row)): place for place, (distance, row) in enumerate(zip(far, view.rows, strict=True))}
        best = sorted({*self._kept, *here})[:EXAMPLES]
        self._here = {key: here[key] for key in best if key in here}
        lengths = view.lengths.tolist()
        self._sides = [min(int(lengths[place]), LONGEST) for place in self._here.values()]
        self._kept = {key: self._kept.get(key) or _Kept() for key in best}

    def look(self, encoder: int, layer: int, maps: LayerMaps, numbers: Tensor) -> None:
        """Keep the chosen examples' maps; `numbers` is [row, head, number]."""
        if not self._here:
            return
        places, side = list(self._here.values()), max(self._sides)
        shown = maps.maps[places, :, :side, :side].cpu().numpy()
        chosen = numbers[places].cpu().numpy()
        for at, (key, n) in enumerate(zip(self._here, self._sides, strict=True)):
            self._kept[key].maps[encoder, layer] = shown[at, :, :n, :n].copy()
            self._kept[key].numbers[encoder, layer] = chosen[at]

    @property
    def rows(self) -> set[int]:
        """The examples whose maps are kept."""
        return {row for _, row in self._kept}

    def sums(self, first: int) -> Sums:
        """What is kept, for `merge`; `first` is where the examples begin in the corpus."""
        arrays = {
            f"{place}.{what}.{encoder}.{layer}": array
            for place, one in enumerate(self._kept.values())
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
        kept = list(self._kept.items())
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
