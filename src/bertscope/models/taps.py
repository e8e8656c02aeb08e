"""How the package gets inside a forward pass: taps on every layer of a model, for the length of a `with` block.

transformers looks its attention function up by name, so while a tap is open the model's attention is the function
below. It computes what the library computes, fused where nobody wants the maps, and remembers values and mask. Hooks
on each layer's parts do the rest: a tap may read the maps, and read or replace the layer's input, the heads' outputs,
what they add up to, the MLP's input, neurons and output, and the layer's output. Families that don't ask for the
attention function by name are read by hooks alone. When the last tap closes, the model is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from bertscope.models.families import descend
from bertscope.models.padding_mask import padding_mask

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_NAME = "bertscope"
_RUN = "_bertscope_run"
_NO_MODULE = nn.Module()  # what the library's function reads off a module, it is told here instead


class Tap:
    """What may be done inside a forward pass. Layers are 0-based here, as modules are."""

    wants_maps = False

    def on_start(self, inputs: Mapping[str, Any]) -> None:
        """Called before each forward pass, with what the encoder is called with, by name."""

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        """Called with the layer's input [batch, token, hidden]; of layer 0 that is the embeddings' output."""
        return inputs

    def on_maps(self, layer: int, maps: Tensor) -> None:
        """Called with the attention maps [batch, head, query, key], if `wants_maps`."""

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Called with the heads' outputs [batch, query, head, d]; what it returns goes to the output projection.

        `value` is [batch, head, key, d]; `mask` is added to the scores ([batch, 1, query, key]) or None.
        """
        return context

    def on_attention(self, layer: int, output: Tensor) -> Tensor:
        """Called with what the output projection gives, its bias included, before residual and LayerNorm."""
        return output

    def on_mlp_input(self, layer: int, inputs: Tensor) -> Tensor:
        """Called with the MLP's input [batch, token, hidden]."""
        return inputs

    def on_neurons(self, layer: int, neurons: Tensor) -> Tensor:
        """Called with the MLP's neurons after their activation [batch, token, neuron]."""
        return neurons

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        """Called with the MLP's output, before residual and LayerNorm."""
        return output

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        """Called with the layer's input and output."""
        return after


@dataclass
class Kept:
    """What one layer did in a forward pass."""

    context: Tensor
    """The heads' outputs [batch, query, heads x d], before any tap."""
    value: Tensor
    mask: Tensor | None
    output: Tensor | None = None
    """The layer's output, after the taps."""


@dataclass
class Run:
    """What the hooks share: who listens, and which layer the forward pass has reached."""

    taps: list[Tap] = field(default_factory=list)
    layer: int = -1
    """Counted, not read off the module: one module may serve many layers, and some are told no number."""
    value: Tensor | None = None
    mask: Tensor | None = None
    settled: int = 0
    """Layers below this one return what they returned before, taps included: nothing is done to them again."""
    record: list[Kept] | None = None
    """Where to keep what each layer does, if somebody wants to replay it."""

    @property
    def wants_maps(self) -> bool:
        return any(tap.wants_maps for tap in self.taps)

    def start(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        self.layer = -1
        inputs = dict(zip(_names(type(module).forward), args, strict=False)) | kwargs
        for tap in self.taps:
            tap.on_start(inputs)

    def show_maps(self, maps: Tensor) -> None:
        for tap in self.taps:
            if tap.wants_maps:
                tap.on_maps(self.layer, maps)

    def through(self, event: str, tensor: Tensor, *more: Any) -> Tensor:
        for tap in self.taps:
            tensor = getattr(tap, event)(self.layer, tensor, *more)
        return tensor


@contextmanager
def tapped(encoder: Encoder, tap: Tap) -> Iterator[None]:
    """Open `tap` on every layer of the encoder. Taps nest: each sees what those opened before it left."""
    base = encoder.model.base_model
    with ExitStack() as undo:
        if not hasattr(base, _RUN):
            _open(encoder, undo)
        run: Run = getattr(base, _RUN)
        run.taps.append(tap)
        undo.callback(run.taps.remove, tap)
        yield


def is_tapped(encoder: Encoder) -> bool:
    return hasattr(encoder.model.base_model, _RUN)


def run_of(encoder: Encoder) -> Run:
    """What the open taps of an encoder share; there must be one."""
    return getattr(encoder.model.base_model, _RUN)


def _open(encoder: Encoder, undo: ExitStack) -> None:
    run, base, family = Run(), encoder.model.base_model, encoder.family
    setattr(base, _RUN, run)
    undo.callback(delattr, base, _RUN)
    hooks = [base.register_forward_pre_hook(run.start, with_kwargs=True)]
    for block in dict.fromkeys(encoder.layers):  # a shared block once
        attention, projection, mlp, mlp_out = encoder.parts(block)
        hooks += [
            block.register_forward_pre_hook(_entry_hook(run), with_kwargs=True),
            projection.register_forward_pre_hook(_context_hook(run, encoder.head_size)),
            projection.register_forward_hook(lambda module, args, output: run.through("on_attention", output)),
            mlp.register_forward_pre_hook(_input_hook(run, "on_mlp_input")),
            mlp_out.register_forward_pre_hook(_input_hook(run, "on_neurons")),
            mlp_out.register_forward_hook(lambda module, args, output: run.through("on_mlp", output)),
            # Before the library's own hooks, so that the hidden states it collects are those that flow on.
            block.register_forward_hook(_layer_hook(run), with_kwargs=True, prepend=True),
        ]
        if family.hooked:
            hooks += _attention_hooks(run, encoder, block)
        else:
            setattr(attention, _RUN, run)
            undo.callback(delattr, attention, _RUN)
    for hook in hooks:
        undo.callback(hook.remove)
    if not family.hooked:
        AttentionInterface.register(_NAME, _attention)
        AttentionMaskInterface.register(_NAME, padding_mask)
        undo.callback(encoder.model.set_attn_implementation, encoder.model.config._attn_implementation)
        encoder.model.set_attn_implementation(_NAME)


@cache
def _names(forward: Callable[..., Any]) -> tuple[str, ...]:
    """What a model's class calls the arguments of its pass, in their order."""
    return tuple(signature(forward).parameters)[1:]


def allowed_keys(value: Tensor, mask: Tensor | None) -> Tensor:
    """[batch or 1, 1, query or 1, key]: 1 where a query may look at a key, else 0; as taps see values and mask."""
    if mask is None:
        return value.new_ones(1, 1, 1, value.shape[2])
    return (mask > torch.finfo(mask.dtype).min / 2).to(value.dtype)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    run: Run = getattr(module, _RUN)
    if (groups := query.shape[1] // max(1, value.shape[1])) > 1:  # several query heads to one key and value
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    run.value, run.mask = value, attention_mask
    if not (kwargs.get("output_attentions") or run.wants_maps):
        context, _ = sdpa_attention_forward(
            _NO_MODULE, query, key, value, attention_mask, dropout=dropout, scaling=scaling, is_causal=False
        )
        return context, None
    scores = query @ key.transpose(-1, -2)
    scores *= scaling or query.shape[-1] ** -0.5
    if attention_mask is not None:
        scores += attention_mask
    # In the place of the scores, unless a gradient needs them: one large tensor a layer instead of four.
    maps = torch.softmax(scores, -1, out=None if scores.requires_grad else scores)
    run.show_maps(maps)
    context = nn.functional.dropout(maps, dropout, module.training) @ value
    return context.transpose(1, 2).contiguous(), maps


def _entry_hook(run: Run) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> Any:
        run.layer += 1
        if run.layer < run.settled:
            return None
        if args:
            return (run.through("on_input", args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": run.through("on_input", kwargs["hidden_states"])}

    return hook


def _context_hook(run: Run, head_size: int) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        heads = args[0].unflatten(-1, (args[0].shape[-1] // head_size, head_size))
        if not heads.shape[2]:  # a layer whose heads were all cut: its attention was nobody's
            batch, tokens = heads.shape[:2]
            run.value, run.mask = heads.transpose(1, 2), None
            run.show_maps(heads.new_empty(batch, 0, tokens, tokens))
        assert run.value is not None
        if run.record is not None:
            run.record.append(Kept(args[0], run.value, run.mask))
        return (run.through("on_context", heads, run.value, run.mask).flatten(-2), *args[1:])

    return hook


def _input_hook(run: Run, event: str) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (run.through(event, args[0]), *args[1:])

    return hook


def _layer_hook(run: Run) -> Callable[..., Any]:
    def hook(module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> Any:
        before = args[0] if args else kwargs["hidden_states"]
        after = output[0] if isinstance(output, tuple) else output
        if run.layer < run.settled:
            return output
        for tap in run.taps:
            after = tap.on_layer(run.layer, before, after)
        if run.record is not None:
            run.record[run.layer].output = after
        return (after, *output[1:]) if isinstance(output, tuple) else after

    return hook


def _attention_hooks(run: Run, encoder: Encoder, block: nn.Module) -> list[Any]:
    """For families that compute attention themselves: their values, mask and maps, in the form the taps know."""
    attention, value = encoder.parts(block)[0], descend(block, encoder.family.value or "")

    def keep_value(module: nn.Module, args: Any, output: Tensor) -> None:
        run.value = output.unflatten(-1, (-1, encoder.head_size)).transpose(1, 2)

    def before(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        mask = args[1] if len(args) > 1 else kwargs.get("attention_mask")
        if mask is not None and encoder.family.mask == "allowed":
            lowest = torch.finfo(args[0].dtype).min
            mask = torch.where(mask.bool(), torch.zeros((), device=mask.device, dtype=args[0].dtype), lowest)
        run.mask = mask
        if run.wants_maps:  # the third argument of DeBERTa's forward, a named one elsewhere
            if len(args) > 2 and isinstance(args[2], bool):
                args = (*args[:2], True, *args[3:])
            else:
                kwargs = kwargs | {"output_attentions": True}
        return args, kwargs

    def after(module: nn.Module, args: Any, output: tuple) -> None:
        if run.wants_maps and output[1] is not None and output[1].shape[1]:  # else no heads: see the context's hook
            run.show_maps(output[1])

    return [
        value.register_forward_hook(keep_value),
        attention.register_forward_pre_hook(before, with_kwargs=True),
        attention.register_forward_hook(after),
    ]
