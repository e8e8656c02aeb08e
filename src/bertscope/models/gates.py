"""Gates: a factor on every head, MLP and layer, applied in the forward pass and differentiable.

At 1 a gate changes nothing; at 0 its part is off. Ablation sets gates to 0, importance is the gradient at 1, and
cutting a part out must give the logits of its gate at 0.

head   multiplies the head's output before the output projection (whose bias stays)
mlp    multiplies the MLP's output, bias included, before residual and LayerNorm (which stay)
neuron multiplies one hidden unit of the MLP, after its activation
layer  x + g (f(x) - x): at 0 the layer is the identity, which zeroing the parts of a post-LN layer is not
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertscope.core.config import check_known
from bertscope.core.errors import UserError
from bertscope.core.units import MODES, Mode, Unit
from bertscope.models.donors import Donors
from bertscope.models.families import refuse_rotated
from bertscope.models.means import Means, PlaceMeans
from bertscope.models.taps import Tap, allowed_keys, tapped

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

Reference = Means | PlaceMeans | Donors
"""What parts that are off leave behind, where that isn't computed of the text itself."""
_NEEDED: dict[Mode, tuple[type[Reference], str]] = {
    "mean": (Means, "encoder.means(examples), on the validation set"),
    "position": (PlaceMeans, "encoder.means_by_place(examples), on the validation set"),
    "resample": (Donors, "encoder.donors(examples), on the validation set"),
    "optimal": (Means, "optimal_constants(encoder, output, examples, sets), on the validation set"),
}
"""What modes need to be told, and who tells it."""


class Gates(Tap):
    """The factors of one `with encoder.gates(...)` block; set or differentiate them inside it.

    Each may have a leading batch axis (`heads` [B, L, H] instead of [L, H]), so that one backward pass of the
    summed loss gives every example its own gradient; or axes for batch and token ([B, T, L, H]). `neurons` then have
    both: [B, 1, N] or [B, T, N].

    mode   what a part that is off leaves behind. `zero`: nothing. `uniform`: the head attends equally to every key
           the mask allows (an MLP has no such form and leaves nothing). `mean`: the part's average output;
           `position`: its average output at that place of a text; `resample`: its output on another text, which
           another is in each `draw`; `optimal`: a constant, the one with which the model says most nearly the same.
    """

    def __init__(self, encoder: Encoder, mode: Mode, reference: Reference | None) -> None:
        like = next(encoder.model.parameters())
        layers, heads = encoder.n_layers, encoder.n_heads
        self.heads = torch.ones(layers, heads, dtype=like.dtype, device=like.device)
        self.mlps = torch.ones(layers, dtype=like.dtype, device=like.device)
        self.layers = torch.ones(layers, dtype=like.dtype, device=like.device)
        self.neurons: dict[int, Tensor] = {}
        """Layer (0-based) to a factor for each of its MLP's neurons; a layer that isn't here has all of them on."""
        self.mode, self.reference = mode, reference
        self.draw = 0
        """Which other text `resample` takes: a number from 0."""
        self._inputs: Mapping[str, Any] = {}
        self._entries: Tensor | None = None
        self._neuron_counts = encoder.neuron_counts
        self._busy: dict[str, list[bool]] = {}
        self._looked_at: dict[str, tuple[Tensor, int, list[bool]]] = {}

    def all_on(self) -> None:
        """Set every gate back to 1."""
        for gate in (self.heads, self.mlps, self.layers):
            gate.fill_(1)
        self.neurons.clear()

    def switch_off(self, unit: Unit) -> None:
        layer = unit.layer_index
        if unit.kind == "head":
            self.heads[..., layer, unit.index].zero_()  # a plain 0 would be copied to a GPU, and waited for
        elif unit.kind == "heads":
            self.heads[..., layer, :].zero_()
        elif unit.kind == "mlp":
            self.mlps[..., layer].zero_()
        elif unit.kind == "neuron":
            self.neurons.setdefault(layer, torch.ones_like(self.mlps[..., :1]).repeat(self._neuron_counts[layer]))
            self.neurons[layer][unit.index].zero_()
        else:
            self.layers[..., layer].zero_()

    def on_start(self, inputs: Mapping[str, Any]) -> None:
        self._inputs, self._entries = inputs, None
        # One look at the gates per forward pass, not one per layer: on a GPU each look waits for the device.
        axes = {"heads": (self.heads, -1), "mlps": (self.mlps, None), "layers": (self.layers, None)}
        self._busy = {name: self._look(name, gate, axis) for name, (gate, axis) in axes.items()}

    def _look(self, name: str, gate: Tensor, inner: int | None) -> list[bool]:
        """For each layer, whether its gates do anything. Those that nobody wrote to since aren't looked at again."""
        if gate.requires_grad or gate.is_inference():  # nothing to look at; nothing tells whether it was written to
            return _busy(gate, inner)
        known = self._looked_at.get(name)
        if known is None or known[0] is not gate or known[1] != gate._version:
            known = self._looked_at[name] = gate, gate._version, _busy(gate, inner)
        return known[2]

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if not self._busy["heads"][layer]:
            return context
        n_heads = context.shape[2]  # a cut layer has fewer than others, or none
        if not n_heads:
            return context
        gate = _placed(self.heads[..., layer, :n_heads, None], 2)
        left = context * gate
        return left if self.mode == "zero" else left + (1 - gate) * self.left_behind(layer, context, value, mask)

    def left_behind(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """What heads that are off put out instead of their context, in a shape that spreads to its own."""
        if self.mode == "uniform":
            return _uniform(value, mask)
        if self.mode not in _NEEDED:
            return context.new_zeros(1)
        assert self.reference is not None
        return self._told(self.reference.heads[layer][..., : context.shape[2], :], context)

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        if not self._busy["mlps"][layer]:
            return output
        gate = _placed(self.mlps[..., layer, None], 1)
        if self.mode not in _NEEDED:
            return output * gate
        assert self.reference is not None
        return output * gate + (1 - gate) * self._told(self.reference.mlps[layer], output)

    def _told(self, entries: Tensor, output: Tensor) -> Tensor:
        """What the reference has for each token of a part's output [batch, token, ...]."""
        assert self.reference is not None
        if self._entries is None:
            self._entries = self.reference.entries(self._inputs, self.draw)
        if self._entries is None:
            return entries.to(output)
        return entries[self._entries[:, : output.shape[1]]].to(output)  # of the last layer there may be one row

    def on_neurons(self, layer: int, neurons: Tensor) -> Tensor:
        return neurons * self.neurons[layer] if layer in self.neurons else neurons

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        if not self._busy["layers"][layer]:
            return after
        return before + _placed(self.layers[..., layer, None], 1) * (after - before)


def _placed(gate: Tensor, inner: int) -> Tensor:
    """Gates of one layer, whose last `inner` axes are a part's own, with both of the axes batch and token."""
    outer = (*gate.shape[: gate.ndim - inner], 1, 1)[:2]
    return gate.reshape(*outer, *gate.shape[gate.ndim - inner :])


def _busy(gate: Tensor, inner: int | None) -> list[bool]:
    """For each layer, whether its gates do anything: one is not 1, or somebody asks for its gradient."""
    differs = (gate != 1) if inner is None else (gate != 1).any(inner)
    if gate.requires_grad or not differs.numel():  # a model may have no layers at all
        return [True] * differs.shape[-1]
    return differs.reshape(-1, differs.shape[-1]).any(0).tolist()


@contextmanager
def open_gates(
    encoder: Encoder, off: str | Iterable[str | Unit] = (), *, mode: Mode = "zero", reference: Reference | None = None
) -> Iterator[Gates]:
    """Gates on the whole encoder for the length of the block, with the units in `off` at 0. Blocks nest."""
    check_known("mode", mode, MODES)
    if mode in _NEEDED:
        kind, told_by = _NEEDED[mode]
        if not isinstance(reference, kind):
            raise UserError(f"mode {mode!r} needs a reference: {told_by}")
    if mode == "uniform":
        refuse_rotated(encoder.model.config, encoder.name, "their mean means nothing; use zero")
    gates = Gates(encoder, mode, reference)
    for unit in Unit.parse_all(off):
        gates.switch_off(unit.check(encoder.head_counts, encoder.neuron_counts))
    with tapped(encoder, gates):
        yield gates


def _uniform(value: Tensor, mask: Tensor | None) -> Tensor:
    """What heads that attend equally to every allowed key put out: [batch, query (or 1), head, d]."""
    if mask is None:
        return value.mean(2, keepdim=True).transpose(1, 2)
    allowed = allowed_keys(value, mask)
    # A padded query may be allowed nothing at all: it gets zeros, which nobody reads.
    return (allowed / allowed.sum(-1, keepdim=True).clamp(min=1) @ value).transpose(1, 2)
