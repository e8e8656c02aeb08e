"""Heads and MLPs ranked on the validation set: by what their absence does, and by the gradients at their gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.gradients import example_gradients
from bertscope.core.ranking import MISSED, ComputedRanking, Ranking
from bertscope.core.units import Unit, heads_and_mlps

if TYPE_CHECKING:
    from bertscope.analyses.without_parts import WithoutParts
    from bertscope.models.gates import Reference

NODES = 16
"""Of the integral over the gates."""


@dataclass(frozen=True)
class Ranked:
    rankings: list[Ranking]
    missed: float | None = None
    """Of integrated gates: how far their sum is from what it should be, the loss with all parts minus the loss with
    none, as a share of that."""


def rank_parts(without: WithoutParts, by: Sequence[ComputedRanking], *, nodes: int = NODES, seed: int = 0) -> Ranked:
    """Heads and MLPs ranked in these ways, on the validation set. A gate that closes leaves behind what a part does
    that is off.

    loss         how much the mean loss rises with the part alone off
    kl           how far predictions move then
    gradient     the mean over examples of the size of the loss's gradient at the part's gate, all parts on
    integrated   that gradient with its sign, integrated as all gates open together from 0 to 1: what the part takes
                 from the loss on the way from all parts off to all on. Over parts it adds up to what all of them
                 take. The sign stays, since a part that raises the loss is one that the circuit is better without;
                 sizes would rank it among the best.
    """
    encoder, task = without.encoder, without.task
    units = heads_and_mlps(encoder.head_counts, encoder.neuron_counts)
    found: dict[str, np.ndarray] = {}  # each [example, unit]: the higher, the more it matters
    missed = None
    all_off: list[list[Unit]] = [units] if "integrated" in by else []
    alone = [[unit] for unit in units] if {"loss", "kl"} & {*by} else []
    if alone or all_off:
        judged = without.judged(task.validation, [[], *all_off, *alone])
        losses, first = judged.losses / task.loss_scale, 1 + len(all_off)
        found |= {"loss": (losses[first:] - losses[0]).T, "kl": judged.divergence[first:].T}
    if "gradient" in by:
        found["gradient"] = np.abs(_gradients(without, units, without.reference(units, alone=True), 1.0))
    if "integrated" in by:
        taken = float((losses[1] - losses[0]).mean())
        for more in (nodes, 2 * nodes, 4 * nodes):
            found["integrated"] = -_integrated(without, units, more)
            missed = abs(float(found["integrated"].sum(1).mean()) - taken) / (abs(taken) or 1.0)
            if missed <= MISSED:
                break
    return Ranked([Ranking.of_means(one, units, found[one], seed=seed) for one in dict.fromkeys(by)], missed)


def _integrated(without: WithoutParts, units: Sequence[Unit], nodes: int) -> np.ndarray:
    """[example, unit]: Gauss and Legendre's quadrature of the gradients between gates at 0 and gates at 1."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    total = np.zeros((len(without.task.validation), len(units)))
    reference = without.reference(units, alone=False)
    for at, weight in zip((places + 1) / 2, weights / 2, strict=True):
        total += weight * _gradients(without, units, reference, float(at))
    return total


def _gradients(without: WithoutParts, units: Sequence[Unit], reference: Reference | None, at: float) -> np.ndarray:
    """[example, unit]: the validation set's gradients, with their signs, with all gates there."""
    encoder, task = without.encoder, without.task
    found = np.zeros((len(task.validation), len(units)))
    parts = example_gradients(encoder, task, task.validation, mode=without.mode, reference=reference, at=at)
    for part in parts:
        found[part.rows] = of_units(part.heads, part.mlps, units)
    return found


def of_units(heads: np.ndarray, mlps: np.ndarray, units: Sequence[Unit]) -> np.ndarray:
    """From values of heads [..., layer, head] and MLPs [..., layer] to those of these units, [..., unit]."""
    values = [
        heads[..., unit.layer_index, unit.index] if unit.kind == "head" else mlps[..., unit.layer_index]
        for unit in units
    ]
    return np.stack(values, -1) if values else np.zeros((*heads.shape[:-2], 0))
