"""The weights of two checkpoints of one architecture in one model, part by part.

A graft lends a model some of another's weights for the length of a block: a layer's, its attention's or MLP's, a
head's. A whole tensor changes places without being copied; of a head, rows and columns are. What is on top of the
encoder, its pooler included, always stays the model's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.models.config_notes import PARSER
from bertscope.models.encoder import Encoder
from bertscope.models.families import descend
from bertscope.models.replay import TemporaryChange
from bertscope.models.sentence_modules import NAME as SENTENCE_MODULES
from bertscope.models.trimming import part_rows

WeightKind = Literal["embeddings", "attention", "mlp", "norm"]
Values = Callable[[str], Tensor]
"""From a parameter's name to what is lent."""


@dataclass(frozen=True)
class Place:
    """A parameter, or some of its rows or columns."""

    name: str
    """In the encoder without what is on top."""
    axis: int = 0
    at: tuple[int, ...] | None = None
    """The rows (axis 0) or columns (axis 1); None: all of it."""


@dataclass(frozen=True)
class _Where:
    """What a parameter is part of."""

    kind: WeightKind
    layer: int | None
    """0-based; None outside the layers."""


class Weights:
    """Where a model's weights are: by layer, by kind, by head."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.parameters: dict[str, nn.Parameter] = {
            name: parameter for name, parameter in encoder.model.base_model.named_parameters()
            if not self._is_on_top(name)
        }  # fmt: skip

    def _is_on_top(self, name: str) -> bool:
        """Whether it is the pooler's, or of what we put on an encoder that has no task head of the library's."""
        own = [path.removeprefix("base_model.") for path, _ in self.encoder.family.pooler if "base_model." in path]
        return any(name.startswith(f"{path}.") for path in (*own, "pooler", PARSER, SENTENCE_MODULES))

    @cached_property
    def where(self) -> dict[str, _Where]:
        family, base = self.encoder.family, self.encoder.model.base_model
        attention = (family.attention, family.projection, *family.head_weights)
        inside: dict[nn.Parameter, _Where] = {}
        for layer, block in enumerate(self.encoder.layers):
            norms = _of_norms(block)
            for name, parameter in block.named_parameters():
                kind: WeightKind = "attention" if name.startswith(tuple(f"{path}." for path in attention)) else "mlp"
                inside.setdefault(parameter, _Where("norm" if parameter in norms else kind, layer))
        closing = _of_norms(descend(base, family.closing)) if family.closing else set()
        return {
            name: inside.get(parameter) or _Where("norm" if parameter in closing else "embeddings", None)
            for name, parameter in self.parameters.items()
        }

    def of(self, *, kinds: Sequence[WeightKind] = (), layers: Sequence[int] = (), outside: str = "") -> list[Place]:
        """The weights of these kinds, or in these layers (0-based), or outside the layers: `embeddings` under them,
        `norm` behind the last."""
        return [
            Place(name) for name, where in self.where.items()
            if where.kind in kinds or where.layer in layers or (where.layer is None and where.kind == outside)
        ]  # fmt: skip

    def of_layer(self, layer: int, kind: WeightKind) -> list[Place]:
        return [Place(name) for name, where in self.where.items() if where == _Where(kind, layer)]

    def of_head(self, head: Unit) -> list[Place]:
        """Its rows of the queries', keys' and values' maps with their biases, and its columns of the output map. The
        output map's bias belongs to no head, nor do keys and values that several share."""
        encoder, family = self.encoder, self.encoder.family
        block, size = encoder.layers[head.layer_index], encoder.head_size
        names: dict[Tensor, str] = {parameter: name for name, parameter in self.parameters.items()}
        own = [path for path in family.head_weights if path not in family.shared_weights]
        places = []
        for linear in family.maps(block, own).values():
            rows = tuple(part_rows(linear, encoder.head_counts[head.layer_index], size, [head.index]))
            of_map = [linear.weight, *([] if linear.bias is None else [linear.bias])]
            places += [Place(names[parameter], 0, rows) for parameter in of_map]
        columns = tuple(range(head.index * size, (head.index + 1) * size))
        return [*places, Place(names[descend(block, family.projection).weight], 1, columns)]

    def lowest(self, places: Sequence[Place]) -> int:
        """The lowest layer (0-based) in which these are; 0 where they lie under the layers, and as many as there are
        where they are nowhere or behind the last."""
        found = [self.where[place.name] for place in places]
        under = [0 for where in found if where.layer is None and where.kind == "embeddings"]
        return min([*under, *(where.layer for where in found if where.layer is not None)], default=len(self.layers))

    @property
    def layers(self) -> list[nn.Module]:
        return self.encoder.layers

    def lent(self, places: Sequence[Place], values: Values) -> TemporaryChange:
        """The change that puts these values there."""
        first = self.lowest(places)
        here = [self.where[place.name] for place in places]
        only_mlp = all(where.kind == "mlp" for where in here if where.layer == first)
        outside = any(where.layer is None and where.kind == "embeddings" for where in here)
        return TemporaryChange(first, partial(self.lend, places, values), keeps_attention=only_mlp and not outside)

    @contextmanager
    def lend(self, places: Sequence[Place], values: Values) -> Iterator[None]:
        """Put these values there for the block."""
        own: list[tuple[nn.Parameter, Tensor]] = []
        try:
            for place in places:
                parameter = self.parameters[place.name]
                own.append((parameter, parameter.data))
                parameter.data = _mixed(parameter.data, values(place.name), place)
            yield
        finally:
            for parameter, data in reversed(own):
                parameter.data = data


def weights_of_base(weights: Weights, base: Encoder) -> dict[str, Tensor]:
    """The base's weights by the tuned model's names, on its device; refused where the two don't correspond."""
    tuned = weights.encoder
    found = dict(base.model.base_model.named_parameters())
    if base.family != tuned.family or base.model.config.model_type != tuned.model.config.model_type:
        raise UserError(
            f"{base.name} is a {base.model.config.model_type} and {tuned.name} a {tuned.model.config.model_type}: "
            "nothing can be exchanged between them; give the model that it was fine-tuned from"
        )
    for name, parameter in weights.parameters.items():
        if name not in found or found[name].shape != parameter.shape:
            has = list(found[name].shape) if name in found else "nothing of that name"
            raise UserError(
                f"{name} is {list(parameter.shape)} in {tuned.name} and {has} in {base.name}: nothing can be "
                "exchanged between them; give the model that it was fine-tuned from, whole"
            )
    return {name: found[name].data.to(parameter) for name, parameter in weights.parameters.items()}


def permuted_change(base: Mapping[str, Tensor], tuned: Mapping[str, Tensor], seed: int) -> Values:
    """The base with what fine-tuning changed in each tensor, in another order: as much change, of no meaning. The
    same seed always gives the same order, so that nothing has to be kept."""
    names = {name: at for at, name in enumerate(base)}

    def values(name: str) -> Tensor:
        change = (tuned[name] - base[name]).flatten()
        generator = torch.Generator(change.device).manual_seed(seed * len(names) + names[name])
        order = torch.randperm(len(change), generator=generator, device=change.device)
        return base[name] + change[order].view_as(base[name])

    return values


def on_the_way(base: Mapping[str, Tensor], tuned: Mapping[str, Tensor], share: float) -> Values:
    """base + share x (tuned - base); exactly the one at 0, and the other at 1."""
    return lambda name: torch.lerp(base[name], tuned[name], share)


def _mixed(own: Tensor, lent: Tensor, place: Place) -> Tensor:
    if place.at is None:
        return lent
    index = torch.tensor(place.at, dtype=torch.long, device=own.device)
    return own.index_copy(place.axis, index, lent.index_select(place.axis, index))


def _of_norms(module: nn.Module) -> set[nn.Parameter]:
    """The parameters of the norms in a module, itself included."""
    norms = [each for each in module.modules() if "Norm" in type(each).__name__]
    return {parameter for norm in norms for parameter in norm.parameters(recurse=False)}
