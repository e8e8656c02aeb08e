"""Activation patching with torch's hooks alone, one activation at a time, in any family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bertscope.core.units import Unit
from bertscope.models.encoder import Encoder


def plain_patch(
    encoder: Encoder, into: Sequence[str], source: Sequence[str], unit: Unit, at: Tensor, *, share: float = 1.0
) -> Tensor:
    """The logits of texts of one length with what a unit puts out moved toward what it puts out in the runs of other
    texts, at some tokens [text, token]: all the way, or a share of it."""
    size = encoder.head_size
    columns = slice(None) if unit.number is None else slice(unit.index * size, (unit.index + 1) * size)
    held: list[Tensor] = []

    def keep(own: Tensor) -> Tensor:
        held.append(own.clone())
        return own

    def move(own: Tensor) -> Tensor:
        moved, (others,) = own.clone(), held
        moved[..., columns] += share * (others - own)[..., columns]
        return torch.where(at[..., None], moved, own)

    with _through(encoder, unit, keep):
        logits_of(encoder, source)
    with _through(encoder, unit, move):
        return logits_of(encoder, into)


@torch.no_grad()
def logits_of(encoder: Encoder, texts: Sequence[str]) -> Tensor:
    """Of texts of one length: nothing is padded."""
    return encoder.model(**encoder.tokenizer(list(texts), return_tensors="pt").to(encoder.device)).logits


@contextmanager
def _through(encoder: Encoder, unit: Unit, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let what a unit puts out go through a function: a head's, which the output projection reads; an MLP's; a
    layer's, which the next one gets. A block that serves several layers is changed at one of its calls alone."""
    layer = unit.layer_index
    block = encoder.layers[layer]
    _, projection, _, mlp_out = encoder.parts(block)
    if unit.kind in ("head", "heads"):
        module, goes_in = projection, True
    elif unit.kind == "mlp":
        module, goes_in = mlp_out, False
    elif layer + 1 < encoder.n_layers:
        module, goes_in, layer = encoder.layers[layer + 1], True, layer + 1
    else:
        module, goes_in = block, False
    call = [place for place, one in enumerate(encoder.layers) if one is encoder.layers[layer]].index(layer)
    seen = 0

    def mine() -> bool:
        nonlocal seen
        seen += 1
        return seen - 1 == call

    def before(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not mine():
            return None
        if args:
            return (change(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": change(kwargs["hidden_states"])}

    def after(module: Any, args: Any, output: Any) -> Any:
        if not mine():
            return None
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    hook = (
        module.register_forward_pre_hook(before, with_kwargs=True) if goes_in else module.register_forward_hook(after)
    )
    try:
        yield
    finally:
        hook.remove()
