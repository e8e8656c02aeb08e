"""Masks over single weights: magnitude pruning of an encoder's linear layers.

A mask is one flat boolean array over all weights and biases of the linear layers inside the blocks, in the order of
the model's own parameters; True is kept. Embeddings, LayerNorm, pooler and classifier are never part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def prunable(encoder: Encoder) -> dict[str, nn.Parameter]:
    """The weights and biases of the blocks' linear layers, by their names in the base model; a shared one once."""
    linear = {
        id(parameter)
        for block in encoder.layers
        for module in block.modules()
        if isinstance(module, nn.Linear)
        for parameter in module.parameters()
    }
    named = encoder.model.base_model.named_parameters()
    return {name: parameter for name, parameter in named if id(parameter) in linear}


def by_magnitude(encoder: Encoder) -> np.ndarray:
    """Places in the flat array from the smallest weight to the largest, by absolute value."""
    flat = torch.cat([parameter.detach().abs().flatten() for parameter in prunable(encoder).values()])
    return torch.sort(flat, stable=True).indices.cpu().numpy()


def pruned_counts(total: int, share: float) -> Iterator[int]:
    """How many are gone after each step, when each prunes that share of what remains: 1 - (1 - share)^k of all."""
    gone = 0
    while step := round(share * (total - gone)):
        gone += step
        yield gone


def split(encoder: Encoder, kept: np.ndarray) -> dict[str, np.ndarray]:
    """The mask of each parameter, in its shape."""
    parameters = prunable(encoder)
    sizes = [parameter.numel() for parameter in parameters.values()]
    if sum(sizes) != kept.size:
        raise ValueError(f"a mask of {kept.size} weights for an encoder of {sum(sizes)}")
    pieces = np.split(kept, np.cumsum(sizes)[:-1])
    return {
        name: piece.reshape(parameter.shape)
        for (name, parameter), piece in zip(parameters.items(), pieces, strict=True)
    }


def zero_out(encoder: Encoder, kept: np.ndarray) -> None:
    """Set every weight that isn't kept to 0, for good."""
    with torch.no_grad():
        for parameter, mask in _paired(encoder, kept):
            parameter.mul_(mask)


@contextmanager
def masked(encoder: Encoder, kept: np.ndarray) -> Iterator[Encoder]:
    """The encoder with the other weights at 0, for the length of the block."""
    before = {name: parameter.detach().clone() for name, parameter in prunable(encoder).items()}
    zero_out(encoder, kept)
    try:
        yield encoder
    finally:
        with torch.no_grad():
            for name, parameter in prunable(encoder).items():
                parameter.copy_(before[name])


@contextmanager
def held(encoder: Encoder, kept: np.ndarray) -> Iterator[None]:
    """Hold weights that are 0 at 0 while the encoder is trained: their gradients are cut off.

    With no gradient from the first step on, neither momentum nor weight decay moves a weight that starts at 0.
    """
    hooks = [parameter.register_hook(mask.mul) for parameter, mask in _paired(encoder, kept)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _paired(encoder: Encoder, kept: np.ndarray) -> list[tuple[nn.Parameter, Tensor]]:
    masks = split(encoder, kept)
    return [(parameter, torch.from_numpy(masks[name]).to(parameter)) for name, parameter in prunable(encoder).items()]
