"""Attribution patching: what every activation would do if it were patched, by the gradient, all of them at once.

To first order, putting another's activation in place of one's own changes what is measured by the sum of (other's -
own) times its gradient. The gradient is that of the run that is patched: one way forth and back of either run serves
all layers, heads, MLPs and tokens. Behind a LayerNorm or a saturated softmax the first order fails; integrated
gradients average the gradient over Gauss and Legendre's points of the straight line between the two texts'
embeddings, which serves both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.units import Unit
from bertscope.models.attribution import gauss_legendre
from bertscope.models.outputs.base import ModelOutput, RowBatch
from bertscope.models.paired_rows import ROLE, ROLES, SIDES, Side
from bertscope.models.recorded_activations import Activations, Recorder

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

Run = tuple[RowBatch, Any, Activations]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What activations did, added up over the tokens of each role, the last place being all tokens."""

    layers: np.ndarray
    """[pair, 1 + layer, role]: of each layer's output, the embeddings' first."""
    heads: np.ndarray
    """[pair, layer, head, role]"""
    mlps: np.ndarray
    """[pair, layer, role]"""

    def of(self, unit: Unit, at: str) -> np.ndarray:
        """[pair]: what a unit did at the tokens of a role."""
        role = ROLES.index(at) if at in ROLES else len(ROLES)
        if unit.kind == "layer":
            return self.layers[:, unit.layer, role]
        if unit.kind == "mlp":
            return self.mlps[:, unit.layer_index, role]
        of_layer = self.heads[:, unit.layer_index, :, role]
        return of_layer.sum(1) if unit.kind == "heads" else of_layer[:, unit.index]

    def take(self, pairs: np.ndarray) -> Contributions:
        return Contributions(self.layers[pairs], self.heads[pairs], self.mlps[pairs])

    @property
    def all(self) -> tuple[np.ndarray, ...]:
        return self.layers, self.heads, self.mlps

    @classmethod
    def nothing(cls, encoder: Encoder, pairs: int) -> Contributions:
        layers, roles = encoder.n_layers, 1 + len(ROLES)
        shapes = (1 + layers, roles), (layers, encoder.n_heads, roles), (layers, roles)
        return cls(*(np.zeros((pairs, *shape)) for shape in shapes))


@dataclass(frozen=True, eq=False)
class Attributed:
    """What each activation does by the gradient, in the unit of what is measured."""

    denoise: Contributions
    """Gradient at the corrupted run."""
    noise: Contributions
    """Gradient at the clean run."""
    integrated: Contributions | None
    """Averaged between the two."""
    nodes: int

    @classmethod
    def nothing(cls, encoder: Encoder, pairs: int, nodes: int) -> Attributed:
        made = [Contributions.nothing(encoder, pairs) for _ in range(3 if nodes else 2)]
        return cls(made[0], made[1], made[2] if nodes else None, nodes)

    @property
    def _each(self) -> list[Contributions]:
        return [one for one in (self.denoise, self.noise, self.integrated) if one is not None]

    @property
    def is_finite(self) -> bool:
        return all(bool(np.isfinite(values).all()) for one in self._each for values in one.all)

    def take(self, pairs: np.ndarray) -> Attributed:
        taken = [one.take(pairs) for one in self._each]
        return Attributed(taken[0], taken[1], taken[2] if self.nodes else None, self.nodes)

    def add(
        self,
        asked: ModelOutput,
        pairs: np.ndarray,
        runs: Mapping[Side, Run],
        found: Mapping[Side, Tensor],
        answers: tuple[Tensor, Tensor],
        recorder: Recorder,
    ) -> None:
        """Take in some pairs: both runs, with their graph, and what was measured of them."""
        batch = runs["corrupted"][0]
        clean, corrupted = ([each.detach() for each in runs[side][2].all] for side in SIDES)
        apart = [one - other for one, other in zip(clean, corrupted, strict=True)]
        roles = _roles(batch)
        into: dict[Side, Contributions] = {"corrupted": self.denoise, "clean": self.noise}
        for side, own in into.items():
            gradients = _gradients(found[side], runs[side][2])
            _put(own, pairs, batch, roles, [one * other for one, other in zip(apart, gradients, strict=True)])
        if self.integrated is None:
            return
        total: list[Tensor] = []
        ends = [runs[side][2].inputs[0].detach() for side in ("corrupted", "clean")]
        for place, weight in zip(*gauss_legendre(self.nodes), strict=True):
            raw = recorder.run(asked, batch, torch.lerp(ends[0], ends[1], float(place)))
            gradients = _gradients(asked.contrast(raw, batch, *answers), recorder.activations)
            weighed = [weight * each for each in gradients]
            total = [one + other for one, other in zip(total, weighed, strict=True)] if total else weighed
        _put(self.integrated, pairs, batch, roles, [one * other for one, other in zip(apart, total, strict=True)])


def _gradients(measured: Tensor, activations: Activations) -> tuple[Tensor, ...]:
    return torch.autograd.grad(measured.sum(), activations.all, materialize_grads=True)


def _roles(batch: RowBatch) -> Tensor:
    """[row, token, 1 + roles]: 1 where a token has the role, the last being any."""
    codes = torch.arange(1, 1 + len(ROLES), device=batch.special.device)
    there = batch.marks[ROLE][..., None] == codes
    return torch.cat([there, batch.inputs["attention_mask"].bool()[..., None]], -1).float()


def _put(into: Contributions, pairs: np.ndarray, batch: RowBatch, roles: Tensor, products: list[Tensor]) -> None:
    """Write what each activation did, from (other's - own) times the gradient of each of its numbers."""
    layers = len(into.layers[0]) - 1
    each = [product.sum(-1) for product in products]  # [row, token] or [row, token, head]

    def added(values: Tensor) -> np.ndarray:
        """[pair, ..., role]"""
        spread = torch.einsum("rt...,rtk->r...k", values, roles[:, : values.shape[1]].to(values.dtype))
        return batch.per_example(spread).double().cpu().numpy()

    for layer, values in enumerate(each[: layers + 1]):
        into.layers[pairs, layer] = added(values)
    for layer, values in enumerate(each[layers + 1 : 2 * layers + 1]):
        into.heads[pairs, layer, : values.shape[2]] = added(values)
    for layer, values in enumerate(each[2 * layers + 1 :]):
        into.mlps[pairs, layer] = added(values)
