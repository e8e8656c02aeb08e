"""A random part in the place of a head: as much is taken from the layer, at the same tokens, in other directions.

A head that is off takes a vector out of what its layer's attention gives, at each token: one in a space of the head's
rank. All heads of the layer off take out another. The random part is what of the latter lies in a random subspace of
the head's rank, made as long as the former at each token. So rank and removed norm are the head's, and its directions
are nobody's: what that costs is what a head costs that has nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.units import Mode, Unit
from bertscope.models.donors import DRAWS
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Gates, Reference
from bertscope.models.judge import judge_each
from bertscope.models.replay import TemporaryChange
from bertscope.models.taps import Tap, tapped


def losses_without_random_parts(
    encoder: Encoder,
    output: Output,
    examples: Examples,
    heads: Sequence[Unit],
    *,
    draws: int,
    mode: Mode = "zero",
    reference: Reference | None = None,
    seed: int = 0,
) -> np.ndarray:
    """The losses [head, draw, example] without a random part in the place of each head."""
    with random_parts_off(encoder, heads, draws=draws, mode=mode, reference=reference, seed=seed) as changes:
        return judge_each(encoder, output, examples, changes).losses.reshape(len(heads), draws, -1)


@contextmanager
def random_parts_off(
    encoder: Encoder,
    heads: Sequence[Unit],
    *,
    draws: int,
    mode: Mode = "zero",
    reference: Reference | None = None,
    seed: int = 0,
) -> Iterator[list[TemporaryChange]]:
    """The changes that take a random part out in the place of each head, `draws` of each, inside the block. The heads
    of a layer have the same subspaces. By `resample` each has one draw of the other text."""
    with encoder.gates(mode=mode, reference=reference) as gates:
        tap = RandomPart(encoder, gates)
        subspaces = {layer: _subspaces(encoder, layer, draws, seed) for layer in {head.layer_index for head in heads}}
        changes = [
            TemporaryChange(head.layer_index, partial(tap.off, head, subspace, draw % DRAWS))
            for head in heads
            for draw, subspace in enumerate(subspaces[head.layer_index])
        ]
        with tapped(encoder, tap):
            yield changes


class RandomPart(Tap):
    """Takes a random part out of one layer at a time; `gates` say what heads that are off leave behind."""

    def __init__(self, encoder: Encoder, gates: Gates) -> None:
        self._encoder, self._gates = encoder, gates
        self._head: Unit | None = None
        self._subspace = self._removed = torch.empty(0)

    @contextmanager
    def off(self, head: Unit, subspace: Tensor, draw: int = 0) -> Iterator[None]:
        """For the block, without the part in this subspace, [hidden, rank] with orthonormal columns."""
        self._head, self._subspace, self._gates.draw = head, subspace, draw
        try:
            yield
        finally:
            self._head, self._gates.draw = None, 0

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if self._head is not None and layer == self._head.layer_index:
            gone = context - self._gates.left_behind(layer, context, value, mask)  # [batch, token, head, d]
            self._removed = random_part(gone, _projection(self._encoder, layer), self._head.index, self._subspace)
        return context

    def on_attention(self, layer: int, output: Tensor) -> Tensor:
        if self._head is None or layer != self._head.layer_index:
            return output
        return output - self._removed[:, : output.shape[1]]  # of the last layer only the row that is read is there


def random_part(gone: Tensor, projection: Tensor, head: int, subspace: Tensor) -> Tensor:
    """What is taken out of the attention's output [batch, token, hidden] in the place of a head.

    gone         what the heads say beyond what they leave behind when off: [batch, token, head, d]
    projection   the output projection's weight [hidden, head x d]
    subspace     [hidden, rank], with orthonormal columns
    """
    size = gone.shape[-1]
    own = gone[:, :, head] @ projection[:, head * size : (head + 1) * size].T
    inside = gone.flatten(-2) @ (projection.T @ subspace)  # of all heads, in the subspace: [batch, token, rank]
    scale = own.norm(dim=-1) / inside.norm(dim=-1).clamp(min=torch.finfo(inside.dtype).tiny)
    return (inside * scale[..., None]) @ subspace.T


def _projection(encoder: Encoder, layer: int) -> Tensor:
    return encoder.parts(encoder.layers[layer])[1].weight


def _subspaces(encoder: Encoder, layer: int, draws: int, seed: int) -> Tensor:
    """[draw, hidden, rank]: each with orthonormal columns, in no preferred direction."""
    weight = _projection(encoder, layer)
    generator = torch.Generator().manual_seed(seed * encoder.n_layers + layer)
    drawn = torch.randn(draws, weight.shape[0], encoder.head_size, generator=generator)
    return torch.linalg.qr(drawn).Q.to(weight)
