"""Cutting parts out for real: a smaller model that puts out what the gates at 0 did.

What was cut is written inside the model's config, so that it survives every way of saving; `load` reads it and gives
the modules their shapes before it reads the weights. The result is an ordinary transformers model.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.model_record import Origin
from bertscope.core.units import Unit
from bertscope.models.config_notes import notes_in, origin_in, origin_note
from bertscope.models.families import Family, descend

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def cut(encoder: Encoder, off: str | Iterable[str | Unit]) -> Encoder:
    """A copy of the encoder without these heads, MLPs, neurons and layers; the encoder itself is untouched.

    Numbers are the encoder's own. A layer may lose all of its heads (its output bias stays, as under a gate) or its
    MLP (whose bias goes with it). Whole layers can be cut from any family.
    """
    units = {unit.check(encoder.head_counts, encoder.neuron_counts) for unit in Unit.parse_all(off)}
    layers_off = {unit.layer_index for unit in units if unit.kind == "layer"}
    if layers_off and len(layers_off) == encoder.n_layers:
        raise UserError(f"all {encoder.n_layers} layers would go; leave at least one")
    if len(layers_off) == len(units):
        return without_layers(encoder, {unit.layer for unit in units})
    refuse_whole(encoder)
    model = copy.deepcopy(encoder.model)
    smaller = replace(encoder, model=model)
    for layer, block in enumerate(smaller.layers):
        here = {unit for unit in units if unit.layer_index == layer}
        kinds = {unit.kind for unit in here}
        heads_off = {unit.index for unit in here if unit.kind == "head"}
        neurons_off = {unit.index for unit in here if unit.kind == "neuron"}
        n_heads, n_neurons = encoder.head_counts[layer], encoder.neuron_counts[layer]
        heads = [head for head in range(n_heads) if "heads" not in kinds and head not in heads_off]
        neurons = [neuron for neuron in range(n_neurons) if "mlp" not in kinds and neuron not in neurons_off]
        _trim(block, encoder.family, encoder.head_size, heads, neurons, mlp="mlp" not in kinds)
    _drop_layers(model, encoder.family, layers_off)
    return _written_down(encoder, model, units)


def without_layers(encoder: Encoder, layers: Collection[int]) -> Encoder:
    """A copy of an encoder of any family without these layers (by number); none at all may be left."""
    family = encoder.family
    family.refuse_losing(layers, encoder.name)
    if family.groups and len(set(encoder.layers)) > 1:
        raise UserError(
            f"{encoder.name} can't lose layers: {len(set(encoder.layers))} blocks share them out evenly, and others "
            "would serve other layers"
        )
    model, units = copy.deepcopy(encoder.model), {Unit("layer", layer) for layer in layers}
    _drop_layers(model, family, {unit.layer_index for unit in units})
    return _written_down(encoder, model, units)


def refuse_whole(encoder: Encoder) -> None:
    """Refuse a family that can't be cut, with the reason."""
    if encoder.family.whole_because:
        raise UserError(
            f"{encoder.name} can't be cut: {encoder.family.whole_because}; switch parts off with gates instead"
        )


def is_plain(encoder: Encoder) -> bool:
    """Whether plain transformers opens it: all of its layers have the shape that its config names."""
    return "shape" not in notes_in(encoder.model.config)


def reshape(model: Any, family: Family, head_size: int, shape: dict[str, list[int]]) -> None:
    """Give a freshly made model the shape that was written down when it was cut; its weights are still to come."""
    blocks = list(descend(model.base_model, family.layers))
    for layer, (block, heads, neurons) in enumerate(zip(blocks, shape["heads"], shape["neurons"], strict=True), 1):
        _trim(block, family, head_size, range(heads), range(neurons), mlp=layer not in shape["without_mlp"])


def _trim(
    block: nn.Module, family: Family, head_size: int, heads: Sequence[int], neurons: Sequence[int], *, mlp: bool
) -> None:
    """Leave only these heads and neurons in a block (by 0-based index)."""
    places = [head * head_size + place for head in heads for place in range(head_size)]
    for path in family.head_weights:
        _keep(descend(block, path), rows=places)
    _keep(descend(block, family.projection), columns=places)
    for path in family.mlp_weights:
        _keep(descend(block, path), rows=neurons)
    mlp_out = descend(block, family.mlp_out)
    _keep(mlp_out, columns=neurons)
    if not mlp:
        mlp_out.bias = None  # a gate at 0 silences the bias too
    attention = descend(block, family.attention)
    if not heads:
        # Fused attention over no heads at all crashes on a GPU in half precision; the plain form takes it.
        attention.config = copy.deepcopy(attention.config)
        attention.config._attn_implementation = "eager"
    for name, value in (("num_attention_heads", len(heads)), ("n_heads", len(heads)), ("all_head_size", len(places))):
        if hasattr(attention, name):
            setattr(attention, name, value)


def _keep(linear: nn.Linear, *, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> None:
    axis, wanted = (0, rows) if rows is not None else (1, columns)
    assert wanted is not None
    index = torch.tensor(list(wanted), dtype=torch.long, device=linear.weight.device)
    linear.weight = nn.Parameter(linear.weight.detach().index_select(axis, index), linear.weight.requires_grad)
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.detach()[index], linear.bias.requires_grad)
    linear.out_features, linear.in_features = linear.weight.shape


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
    without_mlp = [
        layer for layer, block in enumerate(smaller.layers, 1)
        if encoder.family.mlp_weights and smaller.parts(block)[3].bias is None
    ]  # fmt: skip
    noted["shape"] = {"heads": smaller.head_counts, "neurons": smaller.neuron_counts, "without_mlp": without_mlp}
    widths, even_heads = set(smaller.neuron_counts), {config.num_attention_heads}.issuperset(smaller.head_counts)
    even_neurons = len(widths) < 2 and not without_mlp
    if even_neurons and widths:
        setattr(config, encoder.family.mlp_width, widths.pop())
    if even_neurons and even_heads:
        noted.pop("shape")
    config.bertscope = noted
    return smaller
