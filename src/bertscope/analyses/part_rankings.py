"""Heads and MLPs ranked on the validation set: by what their absence does, and by the gradients at their gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.gradients import example_gradients
from bertscope.core.ranking import ComputedRanking, Ranking
from bertscope.core.units import Mode, Unit, heads_and_mlps
from bertscope.models.judge import judge_without

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.means import Means

NODES = 16
"""Of the integral over the gates."""


@dataclass(frozen=True)
class Ranked:
    rankings: list[Ranking]
    missed: float | None = None
    """Of integrated gates: how far their sum is from what it should be, the loss with all parts minus the loss with
    none, as a share of that."""


def rank_parts(
    encoder: Encoder,
    task: Task,
    by: Sequence[ComputedRanking],
    *,
    mode: Mode = "zero",
    reference: Means | None = None,
    nodes: int = NODES,
    seed: int = 0,
) -> Ranked:
    """Heads and MLPs ranked in these ways, on the validation set.

    loss         how much the mean loss rises with the part alone off
    kl           how far predictions move then
    gradient     the mean over examples of the size of the loss's gradient at the part's gate, all parts on
    integrated   that gradient with its sign, integrated as all gates open together from 0 to 1: what the part takes
                 from the loss on the way from all parts off to all on. Over parts it adds up to what all of them
                 take. The sign stays, since a part that raises the loss is one that the circuit is better without;
                 sizes would rank it among the best.
    """
    units = heads_and_mlps(encoder.head_counts, encoder.neuron_counts)
    found: dict[str, np.ndarray] = {}  # each [example, unit]: the higher, the more it matters
    missed = None
    all_off: list[list[Unit]] = [units] if "integrated" in by else []
    alone = [[unit] for unit in units] if {"loss", "kl"} & {*by} else []
    if alone or all_off:
        off = [[], *all_off, *alone]
        judged = judge_without(encoder, task.output, task.validation, off, mode=mode, reference=reference)
        losses, first = judged.losses / task.loss_scale, 1 + len(all_off)
        found |= {"loss": (losses[first:] - losses[0]).T, "kl": judged.divergence[first:].T}
    if "gradient" in by:
        found["gradient"] = np.abs(_gradients(encoder, task, units, mode, reference, 1.0))
    if "integrated" in by:
        found["integrated"] = -_integrated(encoder, task, units, mode, reference, nodes)
        taken = float((losses[1] - losses[0]).mean())
        missed = abs(float(found["integrated"].sum(1).mean()) - taken) / (abs(taken) or 1.0)
    return Ranked([Ranking.of_means(one, units, found[one], seed=seed) for one in dict.fromkeys(by)], missed)


def _integrated(
    encoder: Encoder, task: Task, units: Sequence[Unit], mode: Mode, reference: Means | None, nodes: int
) -> np.ndarray:
    """[example, unit]: Gauss and Legendre's quadrature of the gradients between gates at 0 and gates at 1."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    total = np.zeros((len(task.validation), len(units)))
    for at, weight in zip((places + 1) / 2, weights / 2, strict=True):
        total += weight * _gradients(encoder, task, units, mode, reference, float(at))
    return total


def _gradients(
    encoder: Encoder, task: Task, units: Sequence[Unit], mode: Mode, reference: Means | None, at: float
) -> np.ndarray:
    """[example, unit]: the validation set's gradients, with their signs, with all gates there."""
    found = np.zeros((len(task.validation), len(units)))
    parts = example_gradients(encoder, task, task.validation, mode=mode, reference=reference, at=at)
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
