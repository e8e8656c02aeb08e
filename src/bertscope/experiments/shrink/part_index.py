"""What the parts of a model that was cut, and cut again, are called in the whole one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.units import Unit, UnitKind

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_Names = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Numbers:
    layers: tuple[int, ...]
    """The number that each layer has in the whole model."""
    heads: _Names
    """Of each layer, its heads'."""
    neurons: _Names

    @classmethod
    def of(cls, encoder: Encoder) -> Numbers:
        """Those of a model that counts as whole."""
        heads, neurons = (
            tuple(tuple(range(1, count + 1)) for count in counts)
            for counts in (encoder.head_counts, encoder.neuron_counts)
        )
        return cls(tuple(range(1, encoder.n_layers + 1)), heads, neurons)

    def original(self, unit: Unit) -> Unit:
        """A part of the cut model as a part of the whole one."""
        layer = self.layers[unit.layer_index]
        named = {"head": self.heads, "neuron": self.neurons}.get(unit.kind)
        return Unit(unit.kind, layer, None if named is None else named[unit.layer_index][unit.index])

    def without(self, units: Iterable[Unit]) -> Numbers:
        """Once these parts of the cut model are cut too."""
        gone = set(units)
        stay = [at for at in range(len(self.layers)) if Unit.at("layer", at) not in gone]

        def left(kind: UnitKind, whole: UnitKind, names: _Names) -> _Names:
            return tuple(
                ()
                if Unit.at(whole, at) in gone
                else tuple(name for place, name in enumerate(names[at]) if Unit.at(kind, at, place) not in gone)
                for at in stay
            )

        layers = tuple(self.layers[at] for at in stay)
        return Numbers(layers, left("head", "heads", self.heads), left("neuron", "mlp", self.neurons))
