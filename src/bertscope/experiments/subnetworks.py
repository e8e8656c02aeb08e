"""Parts of a model that are kept while the rest is pruned: how they are drawn, applied and trained.

Structured (`s`): whole heads and MLPs are off. By magnitude (`m`): single weights are 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.units import Unit, heads_and_mlps

if TYPE_CHECKING:
    from torch import nn

    from bertscope.models.encoder import Encoder

Method = Literal["s", "m"]
Arm = Literal["good", "random", "bad", "reinit", "super", "never", "any"]
ARMS = {
    "good": "what survived pruning",
    "random": "as many parts drawn at random",
    "bad": "drawn from what was pruned",
    "reinit": "what survived, on new random weights",
    "super": "what survived with every seed",
    "never": "as many parts, from those that survived with the fewest seeds",
    "any": "as many parts as survived with every seed, drawn at random",
}
"""The subnetworks that are compared, in words."""
EVERY_SEED: tuple[Arm, ...] = ("super", "never", "any")
"""Those that are drawn from the survivors of all seeds."""


@dataclass(frozen=True, eq=False)
class Subnetwork:
    """What is kept of a model: booleans over its heads and MLPs (`s`), or over its weights (`m`)."""

    method: Method
    kept: np.ndarray

    @classmethod
    def of(cls, pruned: Result) -> Subnetwork:
        """The survivors that a stored `prune` found."""
        method: Method = pruned.subject["method"]  # type: ignore[assignment]
        if method == "s":
            return cls(method, pruned.tables["survivors"]["survives"].to_numpy(bool))
        count = int(pruned.arrays["count"][0])
        return cls(method, np.unpackbits(pruned.arrays["kept"], count=count).astype(bool))


def parts(encoder: Encoder) -> list[Unit]:
    """What structured pruning can take: every head, then every MLP, of which a model that was cut may lack some."""
    return heads_and_mlps(encoder.head_counts, encoder.neuron_counts)


def share_left(encoder: Encoder, subnetwork: Subnetwork) -> float:
    """The share of the weights of the blocks' linear maps that the subnetwork has."""
    if subnetwork.method == "m":
        return float(subnetwork.kept.mean())
    from bertscope.models.trimming import sharing

    gone, total = 0.0, 0
    stays = dict(zip(parts(encoder), subnetwork.kept, strict=True))
    for layer, block in enumerate(encoder.layers, start=1):
        _, projection, mlp, mlp_out = encoder.parts(block)
        whole, inner = _weights(block), _weights(mlp, mlp_out)
        shared = _weights(*encoder.family.maps(block, encoder.family.shared_weights).values())
        bias = 0 if projection.bias is None else projection.bias.numel()  # stays when all of its heads go
        heads = [kept for unit, kept in stays.items() if unit.kind == "head" and unit.layer == layer]
        gone += (whole - inner - shared - bias) * (1 - sum(heads) / max(1, len(heads)))
        if (read := sharing(block, encoder.family)) is not None:  # stays as long as one head reads it
            gone += shared * (1 - len(set(compress(read, heads))) / max(1, len(set(read))))
        gone += inner * (not stays.get(Unit("mlp", layer), True))
        total += whole
    return float(1 - gone / total)


def _weights(*modules: nn.Module) -> int:
    """How many weights the linear maps in these modules have; a map that is in two of them counts once."""
    from torch import nn

    linear = {part for module in modules for part in module.modules() if isinstance(part, nn.Linear)}
    return sum(parameter.numel() for part in linear for parameter in part.parameters())


def draw(arm: Arm, found: Sequence[Subnetwork], tuned: Encoder, seed: int) -> Subnetwork:
    """The subnetwork of an arm. `found` are the survivors: one seed's, or all seeds' for `super` and its controls.

    All arms of a seed have exactly the same size: as many heads and as many MLPs, or as many weights.
    """
    generator = np.random.default_rng([seed, list(ARMS).index(arm)])
    if found[0].method == "m":
        return Subnetwork("m", _draw_weights(arm, found[0].kept, tuned, generator))
    kinds = np.array([unit.kind for unit in parts(tuned)])
    votes = np.stack([one.kept for one in found])
    kept = np.zeros(len(kinds), bool)
    for kind in ("head", "mlp"):
        kept[kinds == kind] = _draw_parts(arm, votes[:, kinds == kind], generator)
    return Subnetwork("s", kept)


def _draw_parts(arm: Arm, votes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Parts of one kind; `votes` [seed, part] says what survived."""
    survived = votes.sum(0)
    if arm in ("good", "reinit", "super"):
        return survived == len(votes)
    # What may be drawn comes in ranks: a higher one only where a lower one has too few.
    rank = np.zeros_like(survived) if arm in ("random", "any") else survived
    order = np.lexsort((generator.permutation(votes.shape[1]), rank))
    kept = np.zeros(votes.shape[1], bool)
    kept[order[: int(votes.all(0).sum())]] = True
    return kept


def _draw_weights(arm: Arm, good: np.ndarray, tuned: Encoder, generator: np.random.Generator) -> np.ndarray:
    from bertscope.models.masks import by_magnitude

    if arm in ("good", "reinit"):
        return good
    if arm not in ("random", "bad"):
        raise UserError(f"{ARMS[arm]}: only heads and MLPs have such a subnetwork, not single weights")
    # Bad: the largest weights are pruned instead of the smallest.
    order = generator.permutation(good.size) if arm == "random" else by_magnitude(tuned)
    kept = np.zeros_like(good)
    kept[order[: int(good.sum())]] = True
    return kept


@contextmanager
def only(encoder: Encoder, subnetwork: Subnetwork) -> Iterator[Encoder]:
    """The encoder reduced to the subnetwork for the length of the block. Heads and MLPs are cut out, which is the
    same and faster; where one block serves many layers their gates are closed."""
    from bertscope.models.masks import masked

    if subnetwork.method == "m":
        with masked(encoder, subnetwork.kept):
            yield encoder
        return
    off = [unit for unit, kept in zip(parts(encoder), subnetwork.kept, strict=True) if not kept]
    if encoder.shares_blocks:
        with encoder.gates(off):
            yield encoder
    else:
        yield encoder.cut(off) if off else encoder


@contextmanager
def trainable(encoder: Encoder, subnetwork: Subnetwork) -> Iterator[Encoder]:
    """The encoder reduced to the subnetwork, which holds while it is trained inside the block."""
    from bertscope.models.masks import held, zero_out

    if subnetwork.method == "m":
        zero_out(encoder, subnetwork.kept)
        with held(encoder, subnetwork.kept):
            yield encoder
    else:
        with only(encoder, subnetwork) as smaller:
            yield smaller
