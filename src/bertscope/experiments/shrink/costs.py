"""What a model of a certain shape costs: in parameters, or in time on this machine.

A cost is four numbers: what is outside the layers, and what a layer, a head and a neuron add. Parameters are counted.
Time is fitted to a few measurements of cut models: the search asks for thousands of shapes, and timing each would
take longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from bertscope.core.units import Unit
from bertscope.models.families import descend
from bertscope.models.latency import Inputs, in_torch, time_in_turn

if TYPE_CHECKING:
    from bertscope.core.output import Output
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Cost:
    unit: str
    """`parameters` or `ms`."""
    rest: float
    """Embeddings and what sits on top: not cut."""
    layer: float
    """A layer without heads and neurons: its LayerNorms, and the time it takes to call anything at all."""
    head: float
    neuron: float
    error: float = 0.0
    """How far the fit is from what was measured, at most, as a share of it."""

    def of(self, encoder: Encoder) -> float:
        return self.total(encoder.n_layers, sum(encoder.head_counts), sum(encoder.neuron_counts))

    def total(self, layers: int, heads: int, neurons: int) -> float:
        return self.rest + self.layer * layers + self.head * heads + self.neuron * neurons


def parameter_cost(encoder: Encoder) -> Cost:
    """The parameters of the blocks; embeddings, pooler and classifier aren't cut and don't count."""
    family = encoder.family
    own = [path for path in family.head_weights if path not in family.shared_weights]
    head = _in_each(encoder, encoder.head_counts, own, family.projection)
    neuron = _in_each(encoder, encoder.neuron_counts, family.mlp_weights, family.mlp_out)
    inside = head * sum(encoder.head_counts) + neuron * sum(encoder.neuron_counts)
    layer = (block_parameters(*encoder.layers) - inside) / encoder.n_layers  # one that lost its MLP lost a bias too
    return Cost("parameters", 0.0, layer, head, neuron)


def _in_each(encoder: Encoder, counts: Sequence[int], rows: Sequence[str], columns: str) -> int:
    """The parameters of each head or neuron, counted in the first layer that has any: in the maps that have rows for
    it, and in the one that has columns. What heads share stays as long as one of them reads it: it is the layer's."""
    layer = next((layer for layer, count in enumerate(counts) if count), None)
    if layer is None:
        return 0
    block = encoder.layers[layer]
    maps = encoder.family.maps(block, rows).values()
    return (block_parameters(*maps) + descend(block, columns).weight.numel()) // counts[layer]


def block_parameters(*blocks: nn.Module) -> int:
    """How many parameters there are in these modules."""
    return sum(parameter.numel() for block in blocks for parameter in block.parameters())


def latency_cost(encoder: Encoder, batches: Sequence[Inputs], output: Output | None = None) -> Cost:
    """The time of a call, in milliseconds, as a linear function of layers, heads and neurons.

    Eight models are timed in turn: the whole one, and with half or none of the layers (but one), heads and neurons.
    """
    models = {str(share): _shaped(encoder, *share) for share in _SHARES}
    times = time_in_turn({name: in_torch(one, output) for name, one in models.items()}, batches)
    whole = str(_SHARES[0])
    taken = np.array([times.milliseconds(whole) / times.faster(name, whole)[0] for name in models])
    counts = np.array([[1, one.n_layers, sum(one.head_counts), sum(one.neuron_counts)] for one in models.values()])
    return fitted(counts, taken)


# The shares of layers, heads and neurons that are left in each.
_SHARES = (
    (1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (0.0, 1.0, 1.0), (1.0, 0.5, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.5),
    (1.0, 1.0, 0.0), (1.0, 0.5, 0.5),
)  # fmt: skip


def fitted(counts: np.ndarray, taken: np.ndarray) -> Cost:
    """The cost that fits times [n] of models with these counts [n, 4] (1, layers, heads, neurons) best.

    No part takes less than no time, and each measurement counts by how far the fit is off as a share of it.
    """
    from scipy.optimize import nnls

    found, _ = nnls(counts / taken[:, None], np.ones(len(taken)))
    rest, layer, head, neuron = map(float, found)
    return Cost("ms", rest, layer, head, neuron, float(np.abs(counts @ found / taken - 1).max()))


def _shaped(encoder: Encoder, layers: float, heads: float, neurons: float) -> Encoder:
    """A copy with these shares of its layers and of each layer's heads and neurons; word embeddings are shared."""
    kept = max(1, round(layers * encoder.n_layers))
    off = [Unit.at("layer", layer) for layer in range(kept, encoder.n_layers)]
    for layer, (n_heads, n_neurons) in enumerate(zip(encoder.head_counts, encoder.neuron_counts, strict=True)):
        off += [Unit.at("head", layer, head) for head in range(round(heads * n_heads), n_heads)]
        off += [Unit.at("neuron", layer, neuron) for neuron in range(round(neurons * n_neurons), n_neurons)]
    smaller = encoder.cut(off)
    smaller.model.set_input_embeddings(encoder.model.get_input_embeddings())
    return smaller
