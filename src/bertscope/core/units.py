"""The parts of an encoder that can be switched off, and the one place where public numbers become indices.

Public numbers are 1-based, as papers print them: layers 1..L, heads 1..H (layer 0 is the embedding output and
has no parts). Indices into tensors are 0-based. Nothing else in the package adds or subtracts that 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from bertscope.core.errors import UserError, did_you_mean

UnitKind = Literal["head", "heads", "mlp", "layer"]
_FORM = re.compile(r"(?P<kind>[a-z]+):(?P<layer>\d+)(?:\.(?P<head>\d+))?")


@dataclass(frozen=True, order=True)
class Unit:
    """One part of an encoder: `head:3.7`, `heads:3` (all heads of layer 3), `mlp:5`, `layer:12`."""

    kind: UnitKind
    layer: int
    head: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.layer}" + (f".{self.head}" if self.head is not None else "")

    @property
    def layer_index(self) -> int:
        return self.layer - 1

    @property
    def head_index(self) -> int | None:
        return None if self.head is None else self.head - 1

    @classmethod
    def parse(cls, text: str | Unit) -> Unit:
        if isinstance(text, Unit):
            return text
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise UserError(f"{text!r} names no part of a model; write head:3.7, heads:3, mlp:5 or layer:12")
        kind, layer, head = match["kind"], int(match["layer"]), match["head"]
        if kind not in get_args(UnitKind):
            raise UserError(f"{text!r}: unknown kind of part {kind!r}; {did_you_mean(kind, get_args(UnitKind))}")
        if (kind == "head") != (head is not None):
            wanted = "head:LAYER.HEAD" if kind == "head" else f"{kind}:LAYER"
            raise UserError(f"{text!r}: write {wanted}, such as {wanted.replace('LAYER', '3').replace('HEAD', '7')}")
        return cls(kind, layer, int(head) if head else None)  # type: ignore[arg-type]

    def check(self, n_layers: int, n_heads: int) -> Unit:
        """This unit, if a model of that size has it."""
        if not 1 <= self.layer <= n_layers:
            raise UserError(f"{self}: the model has layers 1 to {n_layers}")
        if self.head is not None and not 1 <= self.head <= n_heads:
            raise UserError(f"{self}: layer {self.layer} has heads 1 to {n_heads}")
        return self


def every(kind: UnitKind, n_layers: int, n_heads: int) -> list[Unit]:
    """All units of one kind, in reading order."""
    layers = range(1, n_layers + 1)
    if kind == "head":
        return [Unit(kind, layer, head) for layer in layers for head in range(1, n_heads + 1)]
    return [Unit(kind, layer) for layer in layers]
