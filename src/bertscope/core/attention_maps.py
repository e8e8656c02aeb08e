"""The attention maps of one text, or pair of texts, in one checkpoint or two: a value that is kept and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.folders import whole_folder
from bertscope.core.model_record import ModelRecord
from bertscope.core.seal import refuse_damaged
from bertscope.core.words import model_names

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MARKER, ARRAYS = "attention.json", "maps.safetensors"
KIND = "attention"
"""What its folder is, by its seal."""
ADDED = -1
"""Stands among the texts of tokens for those that the tokenizer added, such as [CLS]."""
_DESCRIBED = ("text", "pair", "tokens", "in_text", "weighted", "notes")


@dataclass(eq=False)
class AttentionMaps:
    """What `attention` gives. Layers, heads, queries and keys are counted from 1 where they are named; arrays are
    NumPy's, float32 (`torch.from_numpy` makes tensors of them). Saved as safetensors and JSON."""

    text: str
    pair: str | None
    """The second text."""
    tokens: list[str]
    """What the model reads, special tokens included."""
    in_text: list[int]
    """Of each token: 0 in the first text, 1 in the second, -1 where the tokenizer added it, such as [CLS]."""
    models: dict[str, ModelRecord]
    """The one or two checkpoints, by their ids."""
    of_models: dict[str, list[np.ndarray]]
    """Of each the maps [head, query, key] of every layer."""
    weighted: bool = False
    """Whether attention is times the length of the vector that it moves (Kobayashi et al. 2020), each query's summing
    to 1 again."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know beside the maps, such as that the text was cut."""

    @property
    def maps(self) -> list[np.ndarray]:
        """The first checkpoint's maps: `maps[layer - 1]` is [head, query, key], and each query's sum to 1."""
        return next(iter(self.of_models.values()))

    @property
    def other_maps(self) -> list[np.ndarray] | None:
        """The same of the other checkpoint, if there is one."""
        return list(self.of_models.values())[1] if len(self.of_models) > 1 else None

    @property
    def names(self) -> dict[str, str]:
        """What the checkpoints are called, by their ids."""
        return model_names(self.models)

    def map(self, layer: int, head: int, *, other: bool = False) -> np.ndarray:
        """The map [query, key] of one head, counted from 1: of the first checkpoint, or of the `other`."""
        maps = self.other_maps if other else self.maps
        name = list(self.names.values())[int(other and maps is not None)]
        if maps is None:
            raise UserError(f"these are the maps of {name} alone; give attention(..., other=...) a second checkpoint")
        if not 1 <= layer <= len(maps):
            raise UserError(f"{name} has no layer {layer}; it has 1 to {len(maps)}")
        if not 1 <= head <= (heads := len(maps[layer - 1])):
            has = f"it has 1 to {heads}" if heads else "none is left there"
            raise UserError(f"layer {layer} of {name} has no head {head}; {has}")
        return maps[layer - 1][head - 1]

    def difference(self, layer: int, head: int) -> np.ndarray:
        """The other checkpoint's map less the first one's. Heads are counted in each by itself: where a layer has
        lost some in one of the two, there is no saying which was which."""
        first, other = self.map(layer, head), self.map(layer, head, other=True)
        counts = [len(maps[layer - 1]) for maps in self.of_models.values()]
        if counts[0] != counts[1]:
            raise UserError(
                f"layer {layer} has {counts[0]} heads in one checkpoint and {counts[1]} in the other: which is which "
                "isn't known; compare maps of your choice with map(layer, head) and map(layer, head, other=True)"
            )
        return other - first

    def to_frame(self, layer: int | None = None, head: int | None = None) -> pd.DataFrame:
        """A row for every head, query and key: of all heads, of one layer's, or of one."""
        import pandas as pd

        frames = [
            self._rows(key, at, which, maps[at - 1][which - 1])
            for key, maps in self.of_models.items()
            for at, which in self._heads(maps, layer, head)
        ]
        if not frames:
            self.map(layer or 1, head or 1)  # says what is wrong
        return pd.concat(frames, ignore_index=True)

    @staticmethod
    def _heads(maps: Sequence[np.ndarray], layer: int | None, head: int | None) -> Iterator[tuple[int, int]]:
        for at, heads in enumerate(maps, start=1):
            for which in range(1, len(heads) + 1):
                if layer in (None, at) and head in (None, which):
                    yield at, which

    def _rows(self, key: str, layer: int, head: int, weights: np.ndarray) -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        n = len(self.tokens)
        query, to = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
        token = pd.Categorical(self.tokens, categories=list(dict.fromkeys(self.tokens)))
        return pd.DataFrame(
            {"checkpoint": key, "layer": layer, "head": head, "query": query + 1, "key": to + 1,
             "query_token": token[query], "key_token": token[to], "attention": weights.ravel()}
        )  # fmt: skip

    def plot(self, layer: int, head: int | None = None) -> Any:
        """One head's map, or those of a layer's heads, as an Altair chart: a notebook draws it. Of two checkpoints,
        both side by side."""
        import pandas as pd

        from bertscope.core import registry

        rows = self.to_frame(layer, head)
        names, several = self.names, len(self.models) > 1
        panel = "head " + rows["head"].astype(str)
        if several:
            panel = rows["checkpoint"].map(names) + ("" if head else " · " + panel)
        rows = rows.assign(
            panel=pd.Categorical(panel, categories=panel.unique()), token=rows["query_token"].astype(str)
        )
        which = "norm-weighted attention" if self.weighted else "attention"
        figure = Figure(
            "maps", "maps", x="key", y="query", value="attention", token="token",
            facet="panel" if panel.nunique() > 1 else None,
            key="maps",
            title=f"Layer {layer}" + (f", head {head}" if head else ""),
            caption=f"The {which} that each token (row) pays to each other (column).",
            labels={"attention": which},
        )  # fmt: skip
        return registry.resolve(registry.SERVICES["chart"])(figure, rows)

    def page(self, out: str | Path) -> Path:
        """Write the view of all heads as a page of its own: one HTML file that asks nothing of the network."""
        from bertscope.core import registry

        return registry.resolve(registry.SERVICES["attention_page"])(self, out)

    def _repr_html_(self) -> str:
        from bertscope.core import registry

        return registry.resolve(registry.SERVICES["attention_frame"])(self)

    def __repr__(self) -> str:
        heads = ", ".join(
            f"{name}: {sum(map(len, maps))} heads in {len(maps)} layers"
            for name, maps in zip(self.names.values(), self.of_models.values(), strict=True)
        )
        which = "norm-weighted attention" if self.weighted else "attention"
        return "\n".join(
            [f"<{which} of {len(self.tokens)} tokens; {heads}>", *(f"note: {one}" for one in self.notes)]
        )

    def equals(self, other: AttentionMaps) -> bool:
        """Whether both are the same maps of the same text, wherever their models lay."""
        import numpy as np

        same = [
            [getattr(one, name) for name in _DESCRIBED] + [[(key, two.wherever()) for key, two in one.models.items()]]
            for one in (self, other)
        ]
        pairs = zip(self.of_models.values(), other.of_models.values(), strict=False)
        return same[0] == same[1] and all(
            len(one) == len(two) and all(map(np.array_equal, one, two)) for one, two in pairs
        )

    def save(self, folder: str | Path) -> Path:
        """Write all of it to `folder`, in one step; older maps there are replaced."""
        import numpy as np
        from safetensors.numpy import save_file

        folder = Path(folder)
        with whole_folder(folder, KIND) as scratch:
            arrays = {
                f"{place}.{layer}": np.ascontiguousarray(heads)
                for place, maps in enumerate(self.of_models.values(), start=1)
                for layer, heads in enumerate(maps, start=1)
            }
            save_file(arrays, scratch / ARRAYS)
            about: Mapping[str, Any] = {name: getattr(self, name) for name in _DESCRIBED} | {
                "models": {key: record.to_json() for key, record in self.models.items()},
                "layers": [len(maps) for maps in self.of_models.values()],
            }
            (scratch / MARKER).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> AttentionMaps:
        """Read what `save` wrote."""
        from safetensors.numpy import load_file

        folder = Path(folder)
        if not (folder / MARKER).is_file():
            raise UserError(f"{folder} holds no attention maps (no {MARKER} in it)")
        refuse_damaged(folder, KIND)
        about, arrays = json.loads((folder / MARKER).read_text(encoding="utf-8")), load_file(folder / ARRAYS)
        return cls(
            models={key: ModelRecord.from_json(one) for key, one in about["models"].items()},
            of_models={
                key: [arrays[f"{place}.{layer}"] for layer in range(1, layers + 1)]
                for place, (key, layers) in enumerate(zip(about["models"], about["layers"], strict=True), start=1)
            },
            **{name: about[name] for name in _DESCRIBED},
        )
