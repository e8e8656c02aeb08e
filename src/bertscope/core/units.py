"""The parts of an encoder that can be switched off, and the one place where public numbers become indices.

Public numbers are 1-based, as papers print them: layers 1..L, heads 1..H (layer 0 is the embedding output and
has no parts). Indices into tensors are 0-based. Nothing else in the package adds or subtracts that 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, get_args

from bertscope.core.errors import UserError, did_you_mean

UnitKind = Literal["head", "heads", "mlp", "layer", "neuron"]
Mode = Literal["uniform", "zero", "mean", "position", "resample", "optimal"]
"""What a part that is switched off leaves behind; `models/gates.py` says what they mean."""
MODES: tuple[Mode, ...] = get_args(Mode)
PlainMode = Literal["uniform", "zero", "mean"]
"""Those for questions that set parts off together against parts off alone."""
_FORM = re.compile(r"(?P<kind>[a-z]+):(?P<layer>[0-9]{1,9})(?:\.(?P<number>[0-9]{1,9}))?")
"""No model has parts of ten digits, and Python reads no number of thousands."""


@dataclass(frozen=True, order=True)
class Unit:
    """One part of an encoder: `head:3.7`, `heads:3` (all of layer 3), `mlp:5`, `neuron:5.301`, `layer:12`."""

    kind: UnitKind
    layer: int
    number: int | None = None
    """Of a head or a neuron within its layer."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.layer}" + (f".{self.number}" if self.number is not None else "")

    @property
    def layer_index(self) -> int:
        return self.layer - 1

    @property
    def index(self) -> int:
        """Of a head or a neuron within its layer, 0-based."""
        assert self.number is not None, f"{self} has no number"
        return self.number - 1

    @classmethod
    def at(cls, kind: UnitKind, layer: int, index: int | None = None) -> Unit:
        """The unit at these 0-based places.

        >>> str(Unit.at("head", 2, 6)), str(Unit.at("layer", 11))
        ('head:3.7', 'layer:12')
        """
        return cls(kind, layer + 1, None if index is None else index + 1)

    @classmethod
    def parse(cls, text: str | Unit) -> Unit:
        if isinstance(text, Unit):
            return text
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise UserError(
                f"{text!r} names no part of a model; write head:3.7, heads:3, mlp:5, neuron:5.301 or layer:12"
            )
        kind, layer, number = match["kind"], int(match["layer"]), match["number"]
        if kind not in get_args(UnitKind):
            raise UserError(f"{text!r}: unknown kind of part {kind!r}; {did_you_mean(kind, get_args(UnitKind))}")
        if (kind in ("head", "neuron")) != (number is not None):
            wanted = f"{kind}:3.7" if kind in ("head", "neuron") else f"{kind}:3"
            raise UserError(f"{text!r}: write it like {wanted}")
        return cls(kind, layer, int(number) if number else None)  # type: ignore[arg-type]

    @classmethod
    def parse_all(cls, parts: str | Unit | Iterable[str | Unit]) -> list[Unit]:
        """Several parts, or one."""
        return [cls.parse(part) for part in ([parts] if isinstance(parts, (str, Unit)) else parts)]

    def check(self, head_counts: Sequence[int], neuron_counts: Sequence[int] | None = None) -> Unit:
        """This unit, if a model with that many heads (and neurons) in each layer has it."""
        if not 1 <= self.layer <= len(head_counts):
            raise UserError(f"{self}: the model has layers 1 to {len(head_counts)}")
        counts = {"head": head_counts, "neuron": neuron_counts}.get(self.kind)
        if counts is not None and self.number is not None and not 1 <= self.number <= counts[self.layer_index]:
            has = f"{self.kind}s 1 to {counts[self.layer_index]}" if counts[self.layer_index] else f"no {self.kind}s"
            raise UserError(f"{self}: layer {self.layer} has {has}")
        return self


def columns(units: Sequence[Unit]) -> dict[str, Any]:
    """What tables say of units: name, kind, layer, and a head's number."""
    import pandas as pd

    return {
        "unit": [str(unit) for unit in units],
        "kind": [unit.kind for unit in units],
        "layer": [unit.layer for unit in units],
        "head": pd.array([unit.number for unit in units], dtype="Int64"),
    }


def every(kind: UnitKind, head_counts: Sequence[int]) -> list[Unit]:
    """All units of one kind, in reading order, of a model with that many heads in each layer."""
    if kind == "head":
        return [Unit(kind, layer, head) for layer, n in enumerate(head_counts, 1) for head in range(1, n + 1)]
    if kind == "heads":
        return [Unit(kind, layer) for layer, n in enumerate(head_counts, 1) if n]
    return [Unit(kind, layer) for layer in range(1, len(head_counts) + 1)]


def heads_and_mlps(head_counts: Sequence[int], neuron_counts: Sequence[int]) -> list[Unit]:
    """Every head, then every MLP, of which a model that was cut may lack some."""
    mlps = [unit for unit in every("mlp", head_counts) if neuron_counts[unit.layer_index]]
    return [*every("head", head_counts), *mlps]


def heads_of_layers(head_counts: Sequence[int]) -> dict[int, slice]:
    """Where a layer's heads stand when those of all layers are side by side; layers that have none are left out."""
    ends = [0, *accumulate(head_counts)]
    return {layer: slice(*ends[layer - 1 : layer + 1]) for layer, n in enumerate(head_counts, 1) if n}
