"""What a measurement keeps of some texts, in a form that can be stored and added to: the sums of a shard.

Whoever reduces texts to sums gives them (`sums`) and takes in those of other texts (`merge`), in the texts' order:
the sums of the parts of a corpus, merged, are those of the whole. Arrays are safetensors, the rest is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.folders import whole_folder

KIND = "sums"
_ARRAYS, _FACTS = "arrays.safetensors", "sums.json"
_INSIDE = "/"


@dataclass(frozen=True)
class Sums:
    """Arrays by name, and plain values by name; those of a part are called `part/name`."""

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Mapping[str, Sums], **facts: Any) -> Sums:
        """Those of several parts together, and further facts."""
        return cls(
            {f"{part}{_INSIDE}{name}": array for part, one in parts.items() for name, array in one.arrays.items()},
            {f"{part}{_INSIDE}{name}": fact for part, one in parts.items() for name, fact in one.facts.items()}
            | facts,
        )

    def part(self, name: str) -> Sums:
        """Those of one of the parts."""
        start = f"{name}{_INSIDE}"
        return Sums(*(
            {key.removeprefix(start): value for key, value in held.items() if key.startswith(start)}
            for held in (self.arrays, self.facts)
        ))  # fmt: skip

    def save(self, folder: Path, kind: str = KIND) -> None:
        """Write them to a folder, whole or not at all, which is then of that kind."""
        from safetensors.numpy import save_file

        with whole_folder(folder, kind) as scratch:
            # safetensors writes the bytes as they lie in memory: only C order reads back as it was.
            save_file({name: np.ascontiguousarray(one) for name, one in self.arrays.items()}, scratch / _ARRAYS)
            (scratch / _FACTS).write_text(json.dumps(dict(self.facts)), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Sums:
        from safetensors.numpy import load_file

        facts = json.loads((Path(folder) / _FACTS).read_text(encoding="utf-8"))
        return cls(load_file(Path(folder) / _ARRAYS), facts)
