"""Gates: a factor on every head, MLP and layer, applied in the forward pass and differentiable.

At 1 a gate changes nothing; at 0 its part is off. Ablation sets gates to 0, importance is the gradient at 1, and
cutting a part out must give the logits of its gate at 0.

head   multiplies the head's output before the output projection (whose bias stays)
mlp    multiplies the MLP's output, bias included, before residual and LayerNorm (which stay)
layer  x + g (f(x) - x): at 0 the layer is the identity, which zeroing the parts of a post-LN layer is not
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.models.taps import Tap, tapped

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

Mode = Literal["zero", "uniform", "mean"]


@dataclass(frozen=True)
class Means:
    """What each head and MLP puts out on average over real tokens: what `mean` leaves in place of a part."""

    heads: Tensor  # [layer, head, d]
    mlps: Tensor  # [layer, hidden]


class Gates(Tap):
    """The factors of one `with encoder.gates(...)` block; set or differentiate them inside it.

    Each may have a leading batch axis (`heads` [B, L, H] instead of [L, H]), so that one backward pass of the
    summed loss gives every example its own gradient.

    mode   what a part that is off leaves behind. `zero`: nothing. `uniform`: the head attends equally to every key
           the mask allows (an MLP has no such form and leaves nothing). `mean`: the part's average output.
    """

    def __init__(self, n_layers: int, n_heads: int, mode: Mode, means: Means | None, like: Tensor) -> None:
        self.heads = torch.ones(n_layers, n_heads, dtype=like.dtype, device=like.device)
        self.mlps = torch.ones(n_layers, dtype=like.dtype, device=like.device)
        self.layers = torch.ones(n_layers, dtype=like.dtype, device=like.device)
        self.mode, self.means = mode, means

    def all_on(self) -> None:
        """Set every gate back to 1."""
        for gate in (self.heads, self.mlps, self.layers):
            gate.fill_(1)

    def switch_off(self, unit: Unit) -> None:
        layer = unit.layer_index
        if unit.kind == "head":
            self.heads[..., layer, unit.head_index] = 0
        elif unit.kind == "heads":
            self.heads[..., layer, :] = 0
        elif unit.kind == "mlp":
            self.mlps[..., layer] = 0
        else:
            self.layers[..., layer] = 0

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        gate = self.heads[..., layer, :]
        if _idle(gate):
            return context
        gate = gate.reshape(-1, 1, gate.shape[-1], 1)  # [1 or batch, 1, head, 1]
        left = context * gate
        if self.mode == "uniform":
            return left + (1 - gate) * _uniform(value, mask)
        if self.mode == "mean":
            assert self.means is not None
            return left + (1 - gate) * self.means.heads[layer].to(context)
        return left

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        gate = self.mlps[..., layer]
        if _idle(gate):
            return output
        left = output * gate.reshape(-1, 1, 1)
        if self.mode == "mean":
            assert self.means is not None
            return left + (1 - gate.reshape(-1, 1, 1)) * self.means.mlps[layer].to(output)
        return left

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        gate = self.layers[..., layer]
        return after if _idle(gate) else before + gate.reshape(-1, 1, 1) * (after - before)


@contextmanager
def open_gates(
    encoder: Encoder, off: Iterable[str | Unit] = (), *, mode: Mode = "zero", reference: Means | None = None
) -> Iterator[Gates]:
    """Gates on the whole encoder for the length of the block, with the units in `off` at 0. Blocks nest."""
    if mode not in ("zero", "uniform", "mean"):
        raise UserError(f"no such way to switch a part off: {mode!r}; choose zero, uniform or mean")
    if mode == "mean" and reference is None:
        raise UserError("mode 'mean' needs a reference: encoder.means(examples), on the select split")
    gates = Gates(encoder.n_layers, encoder.n_heads, mode, reference, next(encoder.model.parameters()))
    for unit in off:
        gates.switch_off(Unit.parse(unit).check(encoder.n_layers, encoder.n_heads))
    with ExitStack() as undo:
        undo.enter_context(tapped(encoder, gates))
        for index, (layer, mlp) in enumerate(zip(encoder.layers, encoder.mlp_outputs, strict=True)):
            for hook in (
                mlp.register_forward_hook(_mlp_hook(gates, index)),
                layer.register_forward_hook(_layer_hook(gates, index), with_kwargs=True),
            ):
                undo.callback(hook.remove)
        yield gates


def _mlp_hook(gates: Gates, layer: int) -> Callable[..., Tensor]:
    def hook(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        return gates.on_mlp(layer, output)

    return hook


def _layer_hook(gates: Gates, layer: int) -> Callable[..., Any]:
    def hook(module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> Any:
        before = args[0] if args else kwargs["hidden_states"]
        if isinstance(output, tuple):
            return (gates.on_layer(layer, before, output[0]), *output[1:])
        return gates.on_layer(layer, before, output)

    return hook


def _idle(gate: Tensor) -> bool:
    """Whether the gate can be left out: all ones, and nobody asks for its gradient."""
    return not gate.requires_grad and bool((gate == 1).all())


def _uniform(value: Tensor, mask: Tensor | None) -> Tensor:
    """What heads that attend equally to every allowed key put out: [batch, query (or 1), head, d]."""
    if mask is None:
        return value.mean(2, keepdim=True).transpose(1, 2)
    allowed = (mask > torch.finfo(mask.dtype).min / 2).to(value.dtype)
    return (allowed / allowed.sum(-1, keepdim=True) @ value).transpose(1, 2)
