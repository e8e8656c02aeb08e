"""`redundancy`: how far the heads' maps are apart, and how alike the heads' outputs are.

All pairs of heads on all queries would cost several forward passes, and a covariance of all outputs another. So a few
queries of each example and a fixed number of tokens of the whole corpus are taken, by hashes of the examples' ids and
the tokens' places: what is taken depends neither on batches nor on order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.kept import MapResampling, kept
from bertscope.analyses.attention.maps import LayerMaps, times_log2
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.view import View
from bertscope.analyses.redundancy.clusters import clusters, plane
from bertscope.analyses.redundancy.compared import Compared
from bertscope.analyses.redundancy.interactions import (
    Interactions,
    check_together,
    interactions,
    random_partners,
    together,
)
from bertscope.analyses.redundancy.outputs import NONE, Outputs, mirrored
from bertscope.analyses.redundancy.question import RedundancyConfig
from bertscope.analyses.redundancy.result import redundancy_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed
from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.result import Result
from bertscope.core.sums import Sums
from bertscope.core.units import every
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed
from bertscope.models.sending import sent

_TINY = torch.finfo(torch.float32).tiny
_CELLS, _GPU_CELLS = 2**18, 2**25  # mixtures held at a time: on a CPU they must stay in the cache
_QUERIES, _TOKENS = np.uint64(2**32), np.uint64(2**33)  # the resamples have the lower numbers


def part(models: Sequence[Encoder], data: Task | Examples, config: RedundancyConfig) -> PassPart:
    checkpoints = side_by_side(models)
    for encoder in models:
        if (heads := sum(encoder.head_counts)) < 3:
            raise UserError(f"{encoder.name} has {heads} heads: too few to compare them with each other")
    task, examples = (None, data) if isinstance(data, Examples) else (data, data.test)
    if config.together:  # refused before the pass, not after it
        if task is None:
            raise UserError("--together scores a task without some heads; give a task with --on")
        for encoder in models:
            check_together(encoder, task, config.together)
    reader = RedundancyReader(
        examples.ids, [encoder.head_counts for encoder in models],
        queries=config.queries, tokens=config.tokens, repeats=config.repeats, seed=config.seed,
    )  # fmt: skip

    def finish(passed: Passed) -> Result:
        found = zip(checkpoints.items(), reader.maps, reader.outputs, strict=True)
        compared = [_compare(key, encoder, maps, outputs, task, config) for (key, encoder), maps, outputs in found]
        about = subject(data, weighted=config.weighted)
        return redundancy_result(compared, task, passed, config, subject=about, notes=data.notes)

    return PassPart(models, examples, reader, finish, weighted=config.weighted)


def _compare(
    key: str, encoder: Encoder, maps: MapsApart, outputs: Outputs, task: Task | None, config: RedundancyConfig
) -> Compared:
    """All that is known of a checkpoint's heads: groups, the most similar pairs, and what those do together."""
    divergence, units = maps.divergence, every("head", encoder.head_counts)
    distances = np.sqrt(divergence)
    places, stress = plane(distances)
    rows, columns = np.triu_indices(len(units), 1)
    nearest = np.argsort(divergence[rows, columns], kind="stable")[: config.pairs]
    similar = [(units[rows[at]], units[columns[at]]) for at in nearest]
    partners = random_partners(similar, encoder.head_counts, config.seed)
    how: dict[str, Any] = {
        "mode": config.mode, "repeats": config.repeats, "seed": config.seed, "null": config.null
    }  # fmt: skip
    off: Interactions | None = None
    notes = []
    if task is not None and similar:
        try:
            off = interactions(encoder, task, similar, partners, **how)
        except UserError as reason:  # heads can be compared on any texts; only this part needs the task's head
            notes.append(f"no pairs were switched off: {reason}")
    return Compared(
        key=key,
        model=encoder.record,
        head_counts=encoder.head_counts,
        head_size=encoder.head_size,
        divergence=divergence,
        error=maps.error,
        draws=maps.draws,
        alike=outputs.alike,
        tokens=len(outputs.values),
        groups=clusters(distances, config.clusters),
        places=places,
        stress=stress,
        similar=similar,
        random=[pair for pair in partners if pair],
        interactions=off,
        together=together(encoder, task, config.together, **how) if task is not None and config.together else None,
        notes=notes,
    )


class RedundancyReader:
    """Reads every encoder's maps and outputs; `maps` and `outputs` hold what was found, one entry per encoder."""

    needs = frozenset({"contexts"})

    def __init__(
        self,
        ids: Sequence[str],
        head_counts: Sequence[Sequence[int]],
        *,
        queries: int = 1,
        tokens: int = 2000,
        repeats: int = 1000,
        seed: int = 0,
    ) -> None:
        self.resampling = MapResampling(ids, repeats=repeats, seed=seed)
        self._keys, self._queries = hashed(ids, seed), queries
        self.maps = [MapsApart(self.resampling, counts) for counts in head_counts]
        self.outputs = [Outputs(counts, tokens) for counts in head_counts]

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if layer == 0:  # the same queries and tokens for all layers of a batch, and for all encoders
            real = view.host.real.numpy()
            places = np.arange(real.shape[1], dtype=np.uint64)
            keys = self._keys[view.rows][:, None]
            chosen = _chosen(mixed(mixed(keys, _QUERIES), places), real, self._queries)
            self._places, self._share = map(view.send, chosen)
            words = real & ~(view.host.cls | view.host.sep).numpy()
            self._hashes = np.where(words, mixed(mixed(keys, _TOKENS), places), NONE)
        for one, apart, outputs in zip(maps, self.maps, self.outputs, strict=True):
            apart.add(layer, one, self._places, self._share)
            outputs.add(layer, one.contexts, self._hashes)

    def sums(self, first: int = 0) -> Sums:
        maps = {f"maps.{at}": one.sums() for at, one in enumerate(self.maps)}
        return Sums.of(maps | {f"outputs.{at}": one.sums() for at, one in enumerate(self.outputs)})

    def merge(self, other: Sums) -> None:
        for at, (maps, outputs) in enumerate(zip(self.maps, self.outputs, strict=True)):
            maps.merge(other.part(f"maps.{at}"))
            outputs.merge(other.part(f"outputs.{at}"))


class MapsApart:
    """The Jensen-Shannon divergence between all heads of one encoder, on some queries of each example.

    A layer is compared with itself and those below it: of a batch, the chosen rows of its layers' maps are kept.
    With S_ij the sum of s log2 s over the keys, s = p_i + p_j, the divergence is (S_ii + S_jj - 2 S_ij) / 4: exactly
    0 for equal maps.
    """

    def __init__(self, resampling: Resampling, head_counts: Sequence[int]) -> None:
        self.ends = [0, *accumulate(head_counts)]
        """Where each layer's heads begin among all heads, and where the last layer's end."""
        self.examples = 0
        self._member = torch.eye(len(head_counts)).repeat_interleave(torch.tensor(head_counts), 0)  # [head, layer]
        self._sums, self._squares = (_LowerSum(self.ends[-1]) for _ in range(2))
        self._layers = RunningMean(resampling)  # [layer, layers up to this one], summed over pairs

    def add(self, layer: int, layers: LayerMaps, places: Tensor, share: Tensor) -> None:
        """Take in the maps of layers from `layer` on: queries `places` [row, query], each with its weight."""
        maps, until = layers.maps, layer + len(layers.layers)
        start, end, n_layers = self.ends[layer], self.ends[until], len(self.ends) - 1
        taken = maps[torch.arange(len(maps), device=maps.device)[:, None], :, places]  # [row, query, head, key]
        if layer == 0:
            self.examples += len(maps)
            self._kept = taken.new_empty(places.numel(), taken.shape[-1], self.ends[-1])  # [row x query, key, head]
            self._own = taken.new_empty(places.numel(), self.ends[-1])
            self._by_layer = taken.new_zeros(len(maps), n_layers, n_layers)
            self._member = sent(self._member, maps.device)
        self._kept[..., start:end] = taken.flatten(0, 1).transpose(1, 2).clamp_min(_TINY)
        together = self._together(layer, until)  # [row x query, head, head up to the last of these layers]
        self._own[:, start:end] = together[..., start:end].diagonal(dim1=1, dim2=2)
        bits = (self._own[:, start:end, None] + self._own[:, None, :end] - together.mul_(2)).div_(4).clamp_min_(0)
        apart = torch.einsum("rq,rqij->rij", share, bits.unflatten(0, tuple(places.shape)))
        self._sums.add(start, apart.sum(0))
        self._squares.add(start, apart.square().sum(0))
        of_layers = self._member[start:end, layer:until].T @ (apart @ self._member[:end])
        self._by_layer[:, layer:until] = of_layers.tril(layer)  # above, nothing was compared
        if until == n_layers:
            self._layers.add(layers.view.rows, kept(self._by_layer))
            del self._kept, self._own, self._by_layer

    def _together(self, layer: int, until: int) -> Tensor:
        """S of each head of some layers with each head of its own layer and of those below, a few queries at a time;
        0 with heads above."""
        first_head, last = self.ends[layer], self.ends[until]
        found = self._kept.new_zeros(len(self._kept), last - first_head, last)
        on_cpu = found.device.type == "cpu"
        cells = _CELLS if on_cpu else _GPU_CELLS
        for start, end in pairwise(self.ends[layer : until + 1]):
            shown = self._kept[..., :end]
            step = max(1, cells // max(1, shown.shape[1] * (end - start) * end))
            for first in range(0, len(shown), step):
                some = shown[first : first + step]
                mixtures = some[:, :, start:, None] + some[:, :, None, :]  # [row x query, key, head, head]
                of_heads = found[first : first + step, start - first_head : end - first_head, :end]
                torch.sum(times_log2(mixtures) if on_cpu else torch.special.entr(mixtures), 1, out=of_heads)
        return found if on_cpu else found.div_(-log(2))  # `entr` is -s ln s, and goes through its memory once

    def sums(self) -> Sums:
        found = Sums.of({"layers": self._layers.sums()}, examples=self.examples)
        return Sums({**found.arrays, "sums": self._sums.value, "squares": self._squares.value}, found.facts)

    def merge(self, other: Sums) -> None:
        self.examples += other.facts["examples"]
        self._sums.merge(other.arrays["sums"])
        self._squares.merge(other.arrays["squares"])
        self._layers.merge(other.part("layers"))

    @property
    def divergence(self) -> np.ndarray:
        """[head, head] in bits, the mean over examples: symmetric, 0 with itself."""
        return mirrored(self._sums.value / self.examples)

    @property
    def error(self) -> np.ndarray:
        """[head, head]: the divergence's standard error over examples."""
        variance = self._squares.value / self.examples - (self._sums.value / self.examples) ** 2
        return mirrored(np.sqrt(variance.clip(0) / max(1, self.examples - 1)))

    @property
    def draws(self) -> np.ndarray:
        """[1 + repeats, layer, layer]: the sum over pairs of their heads, a pair counting both ways."""
        below = self._layers.draws
        return below + np.tril(below, -1).swapaxes(1, 2)


class _LowerSum:
    """A sum over batches of [head, head], which comes some heads at a time, each with all up to the last of them."""

    def __init__(self, heads: int) -> None:
        self._sum = torch.from_numpy(memory_mapped([heads, heads], np.float64))

    def add(self, start: int, values: Tensor) -> None:
        """Take in heads from `start` on."""
        self._sum = sent(self._sum, values.device)
        self._sum[start : start + len(values), : values.shape[1]] += values

    def merge(self, values: np.ndarray) -> None:
        self._sum = self._sum + sent(values, self._sum.device)

    @property
    def value(self) -> np.ndarray:
        return self._sum.cpu().numpy()


def _chosen(hashes: np.ndarray, real: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` real tokens of each row (0: all), those with the smallest hashes, and their weights, which add up to 1.

    A row with fewer tokens has them all; what is missing has the weight 0.
    """
    places = np.argsort(np.where(real, hashes, NONE), axis=1, kind="stable")[:, : count or real.shape[1]]
    there = np.take_along_axis(real, places, 1).astype(np.float32)
    return places, there / there.sum(1, keepdims=True)
