"""Cutting parts out for real: a smaller model that puts out what the gates at 0 did.

What was cut is written inside the model's config, so that it survives every way of saving; `load` reads it and gives
the modules their shapes before it reads the weights. The result is an ordinary transformers model.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.core.model_record import Origin
from bertscope.core.units import Unit
from bertscope.models.config_notes import notes_in, origin_in, origin_note
from bertscope.models.families import Family, descend, head_size_of
from bertscope.models.trimming import kept_heads, trim

if TYPE_CHECKING:
    from torch import nn

    from bertscope.models.encoder import Encoder


def cut(encoder: Encoder, off: str | Iterable[str | Unit]) -> Encoder:
    """A copy of the encoder without these heads, MLPs, neurons and layers; the encoder itself is untouched.

    Numbers are the encoder's own. A layer may lose all of its heads (its output bias stays, as under a gate) or its
    MLP (whose bias goes with it). Where one block serves many layers (ALBERT), all of these lose the same.
    """
    units = {unit.check(encoder.head_counts, encoder.neuron_counts) for unit in Unit.parse_all(off)}
    layers_off = {unit.layer_index for unit in units if unit.kind == "layer"}
    if layers_off and len(layers_off) == encoder.n_layers:
        raise UserError(f"all {encoder.n_layers} layers would go; leave at least one")
    if len(layers_off) == len(units):
        return without_layers(encoder, {unit.layer for unit in units})
    _refuse_losing(encoder, {unit.layer for unit in units if unit.kind == "layer"})
    model = copy.deepcopy(encoder.model)
    done: dict[nn.Module, _Left] = {}
    for layer, block in enumerate(replace(encoder, model=model).layers):
        if layer in layers_off:
            continue
        left = _Left.of(encoder, layer, units)
        if block not in done:
            trim(block, encoder.family, encoder.head_size, left.heads, left.neurons, mlp=left.mlp)
        elif done[block] != left:
            raise UserError(
                f"{encoder.name} has one block for many layers, and a cut in one would be a cut in all: cut the same "
                "heads, neurons and MLPs in each of them, or switch parts off with gates instead"
            )
        done[block] = left
    _drop_layers(model, encoder.family, layers_off)
    return _written_down(encoder, model, units)


@dataclass(frozen=True)
class _Left:
    """What a cut leaves of a layer, by 0-based index."""

    heads: tuple[int, ...]
    neurons: tuple[int, ...]
    mlp: bool

    @classmethod
    def of(cls, encoder: Encoder, layer: int, units: Collection[Unit]) -> _Left:
        here = {unit for unit in units if unit.layer_index == layer}
        kinds = {unit.kind for unit in here}
        heads_off = {unit.index for unit in here if unit.kind == "head"}
        neurons_off = {unit.index for unit in here if unit.kind == "neuron"}
        heads = () if "heads" in kinds else range(encoder.head_counts[layer])
        neurons = () if "mlp" in kinds else range(encoder.neuron_counts[layer])
        return cls(
            tuple(head for head in heads if head not in heads_off),
            tuple(neuron for neuron in neurons if neuron not in neurons_off),
            "mlp" not in kinds,
        )


def without_layers(encoder: Encoder, layers: Collection[int]) -> Encoder:
    """A copy of an encoder of any family without these layers (by number); none at all may be left."""
    _refuse_losing(encoder, layers)
    model, units = copy.deepcopy(encoder.model), {Unit("layer", layer) for layer in layers}
    _drop_layers(model, encoder.family, {unit.layer_index for unit in units})
    return _written_down(encoder, model, units)


def _refuse_losing(encoder: Encoder, layers: Collection[int]) -> None:
    family = encoder.family
    family.refuse_losing(layers, vars(encoder.model.config), encoder.name)
    if layers and family.groups and len(set(encoder.layers)) > 1:
        raise UserError(
            f"{encoder.name} can't lose layers: {len(set(encoder.layers))} blocks share them out evenly, and others "
            "would serve other layers"
        )


def refuse_shared(encoder: Encoder) -> None:
    """Refuse a model whose layers can't be cut one by one, where that is what is to be done."""
    if encoder.shares_blocks:
        raise UserError(
            f"{encoder.name} has one block for many layers, and a cut in one would be a cut in all; leave whole "
            "layers out with truncate, or cut the same parts of every layer in Python: encoder.cut([...])"
        )


def is_plain(encoder: Encoder) -> bool:
    """Whether plain transformers opens it: all of its layers have the shape that its config names."""
    return "shape" not in notes_in(encoder.model.config)


def reshape(model: Any, family: Family, shape: dict[str, Any]) -> None:
    """Give a freshly made model the shape that was written down when it was cut; its weights are still to come."""
    blocks, seen = family.blocks(model.base_model, model.config.num_hidden_layers), set()
    which = shape.get("which") or [_numbers(range(heads)) for heads in shape["heads"]]
    for layer, (block, heads, neurons) in enumerate(zip(blocks, which, shape["neurons"], strict=True), 1):
        if block not in seen:
            places, mlp = [Unit("head", layer, head).index for head in heads], layer not in shape["without_mlp"]
            trim(block, family, head_size_of(model.config), places, range(neurons), mlp=mlp)
        seen.add(block)


def _numbers(heads: Iterable[int]) -> list[int | None]:
    """The numbers of heads by their 0-based index."""
    return [Unit.at("head", 0, head).number for head in heads]


def _drop_layers(model: Any, family: Family, layers_off: Collection[int]) -> None:
    config = model.config
    stay = [layer for layer in range(config.num_hidden_layers) if layer not in layers_off]
    if getattr(config, "layer_types", None):
        config.layer_types = [config.layer_types[layer] for layer in stay]
    config.num_hidden_layers = len(stay)
    if family.groups:  # one block for all layers, however many there are
        return
    blocks = descend(model.base_model, family.layers)
    for layer in sorted(layers_off, reverse=True):
        del blocks[layer]
    for number, block in enumerate(blocks):
        attention = descend(block, family.attention)
        if hasattr(attention, "layer_idx"):
            attention.layer_idx = number


def _in_brief(units: Sequence[str]) -> str:
    """Parts by name, but of neurons only how many: there are thousands."""
    named = [unit for unit in units if not unit.startswith("neuron")]
    return ", ".join(named + ([f"{len(units) - len(named)} neurons"] if len(units) > len(named) else []))


def _written_down(encoder: Encoder, model: Any, units: set[Unit]) -> Encoder:
    """The smaller model, with its shape and the cuts in its config. A shape that plain transformers would make is
    left out."""
    smaller = replace(encoder, model=model)
    config = model.config
    noted = copy.deepcopy(notes_in(config))
    noted["cut"] = [*noted.get("cut", []), sorted(map(str, units))]
    before = origin_in(config)
    # A model that is cut again and again was made from what it was before the first cut.
    base = before.base if before and before.by == "cut" else encoder.record
    noted |= origin_note(Origin("cut", base, removed="; ".join(map(_in_brief, noted["cut"]))))
    parts = [smaller.parts(block) for block in smaller.layers]
    without_mlp = [
        layer for layer, (*_, mlp_out) in enumerate(parts, 1) if mlp_out.bias is None and not mlp_out.in_features
    ]
    noted["shape"] = {"heads": smaller.head_counts, "neurons": smaller.neuron_counts, "without_mlp": without_mlp}
    kept = [kept_heads(attention) for attention, *_ in parts]
    if any(one is not None for one in kept):
        noted["shape"]["which"] = [
            _numbers(range(heads) if one is None else one)
            for one, heads in zip(kept, smaller.head_counts, strict=True)
        ]
    widths, even_heads = set(smaller.neuron_counts), {config.num_attention_heads}.issuperset(smaller.head_counts)
    even_neurons = len(widths) < 2 and not without_mlp
    if even_neurons and widths:
        setattr(config, encoder.family.mlp_width, widths.pop())
    if even_neurons and even_heads:
        noted.pop("shape")
    config.bertscope = noted
    return smaller
