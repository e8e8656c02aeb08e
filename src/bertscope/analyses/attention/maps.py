"""What the questions about attention share: one pass over the examples, and what several need of a map.

A map lives until its layer has been read. A question brings a reader, which takes from each layer's maps what it
needs; readers that are brought together share the pass, and what two of them need of a map is computed once. A GPU
takes longer to be told what to do with a layer's maps than to do it: there readers are shown several layers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import log
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.between_words import between_words, received
from bertscope.analyses.attention.joined import by_head
from bertscope.analyses.attention.rising_rows import nth_of_both
from bertscope.analyses.attention.uniform import Uniform
from bertscope.analyses.attention.view import View
from bertscope.core.examples import Examples
from bertscope.models.batches import WINDOW, Batch
from bertscope.models.encoder import Encoder
from bertscope.models.in_turns import Turn, observe_in_turns
from bertscope.models.observe import Passed, Seen, observe_layers
from bertscope.models.stage import Stage

_TINY = torch.finfo(torch.float32).tiny
_CELLS = 2**17
_QUICK = 32  # numbers in a row that a GPU sorts quickly
_BYTES = 256  # of a GPU's memory for each cell of maps that are read together: two fifths of that should be needed
# NumPy's logarithm to base 2 takes a fifth of the time of torch's, but only where it is vectorised.
_QUICK_LOG2 = torch.backends.cpu.get_cpu_capability() == "AVX512"


class LayerMaps:
    """The attention of one layer, or of several that follow each other, on one batch: maps [row, head, query, key],
    all zero for padded queries and keys. Heads of several layers stand side by side."""

    def __init__(
        self,
        maps: Tensor,
        view: View,
        contexts: Sequence[Tensor] = (),
        uniform: Uniform | None = None,
        head_counts: Sequence[int] | None = None,
        *,
        whole: LayerMaps | None = None,
        first: int = 0,
    ) -> None:
        self.maps, self.view = maps, view
        self.whole, self.first = whole, first
        """The maps of all encoders, where they are in one tensor, and where these heads begin there: see `joined`."""
        self.contexts = contexts
        """Of each layer its heads' outputs [row, query, head, d], if a reader needs them."""
        self.uniform = uniform
        """What a head gives that attends to all keys alike, if a reader needs it."""
        self.head_counts = list(head_counts) if head_counts is not None else [maps.shape[1]]
        """How many heads each of the layers has."""

    @property
    def layers(self) -> list[slice]:
        """Where each layer's heads are."""
        return [slice(*ends) for ends in pairwise([0, *accumulate(self.head_counts)])]

    @property
    def each(self) -> list[LayerMaps]:
        """Each layer by itself."""
        contexts = [[one] for one in self.contexts] or [[] for _ in self.layers]
        return [
            LayerMaps(self.maps[:, heads], self.view, of_layer)
            for heads, of_layer in zip(self.layers, contexts, strict=True)
        ]

    @cached_property
    def flat(self) -> Tensor:
        """[row, head, query x key]."""
        return self.maps.flatten(2)

    @by_head(1)
    def received(self) -> Tensor:
        """[row, head, key]: the attention each token gets, averaged over the queries."""
        return received(self.view, self.maps)

    @by_head(1)
    def squares(self) -> Tensor:
        """[row, head]: the sum of the map's squares."""
        return inner(self.flat, self.flat)

    @by_head(1)
    def entropy(self) -> Tensor:
        """[row, head]: the entropy of a query's attention in bits, averaged over the queries."""
        return entropy(self.view, self.flat)

    @by_head(1)
    def distance(self) -> Tensor:
        """[row, head]: how many tokens away attention goes on average."""
        return self.flat @ self.view.distances / self.view.lengths[:, None]

    @by_head(-1)
    def between_words(self) -> Tensor:
        """[row, to, from, head]: see `between_words`."""
        return between_words(self.view, self.maps)


def norm_weighted(maps: Tensor, norms: Tensor) -> Tensor:
    """Maps [row, head, query, key] times the lengths [row, head, key] of what each key's value adds, each query's
    summing to 1 again."""
    moved = maps * norms[:, :, None]
    return moved.div_(moved.sum(-1, keepdim=True).clamp_min(_TINY))


def read_notes(passed: Passed) -> list[str]:
    """What became of texts that are longer than the model reads."""
    counts = {"cut": passed.truncated, "left out": passed.left_out}
    return [f"{n} texts are longer than the model reads and were {fate}" for fate, n in counts.items() if n]


def entropy(view: View, *maps: Tensor) -> Tensor:
    """The entropy in bits of maps [row, head, query x key], or of the mean of two, averaged over the queries."""
    if not _on_cpu(maps[0]):  # in as few goes through its memory as can be
        mean = maps[0].lerp(maps[1], 0.5) if len(maps) > 1 else maps[0]
        return torch.special.entr(mean).sum(-1) / (view.lengths[:, None] * log(2))
    # A few maps at a time: what is computed on the way stays in the cache, and its memory serves again and again.
    few = max(1, _CELLS // maps[0].shape[-1])
    parts = zip(*(one.flatten(0, 1).split(few) for one in maps), strict=True)
    mixed = (part[0].lerp(part[1], 0.5) if len(part) > 1 else part[0] for part in parts)
    bits = [times_log2(some.clamp_min(_TINY)).sum(-1) for some in mixed]
    return torch.cat(bits).view(maps[0].shape[:2]) / -view.lengths[:, None]


def times_log2(values: Tensor) -> Tensor:
    """x log2 x of every number x; none may be 0."""
    logs = torch.from_numpy(np.log2(values.numpy())) if _QUICK_LOG2 and _on_cpu(values) else values.log2()
    return logs.mul_(values)


def inner(left: Tensor, right: Tensor) -> Tensor:
    """The inner products along the last dimension. On a CPU by NumPy: torch writes all the products down first."""
    if _on_cpu(left):
        return torch.from_numpy(np.einsum("...i,...i", left.numpy(), right.numpy()))
    return torch.linalg.vecdot(left, right)


def _on_cpu(values: Tensor) -> bool:
    return values.device.type == "cpu"


def ascending(values: Tensor) -> Tensor:
    """Sorted along the last dimension. On a CPU by NumPy: it takes a tenth of the time of torch."""
    return torch.from_numpy(np.sort(values.numpy())) if _on_cpu(values) else values.sort().values


def nth_lowest(values: Tensor, n: Tensor) -> Tensor:
    """[...] of values [..., place]: the one that has `n` others before it in ascending order. `n` spreads to [...],
    and is less than a third of the places.

    A GPU sorts up to 32 numbers several times as fast as more. The lowest third of 96 are 32: those of a rising row
    and a falling one are, place by place, the smaller of the two. The last part needn't be sorted in with them."""
    if _on_cpu(values) or not _QUICK < values.shape[-1] <= 3 * _QUICK:
        return ascending(values).gather(-1, n.expand(values.shape[:-1])[..., None])[..., 0]
    first, *others, last = values.split(_QUICK, -1)
    lowest = ascending(first)
    for other in others:
        lowest = ascending(torch.minimum(lowest, other.sort(descending=True).values))
    return nth_of_both(lowest, ascending(last), n, 1 + (values.shape[-1] - 1) // 3)


class MapReader(Protocol):
    """A question's part in the pass."""

    needs: frozenset[str]
    """What it asks of `observe` beside the maps."""

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Take what is needed of the layers from `layer` (0-based) on, one or several, for each encoder in turn."""


def read_maps(
    encoders: Sequence[Encoder],
    examples: Examples,
    readers: Sequence[MapReader],
    *,
    weighted: bool = False,
    tokens: int | None = None,
    window: int = WINDOW,
    long: Literal["truncated", "left_out"] = "truncated",
) -> Passed:
    """Run the encoders over the examples once and let every reader read every layer's maps.

    weighted   attention times the length of the vector that it moves (Kobayashi et al. 2020), each query's normalised
               to sum to 1 again: a head that looks at [SEP] and takes nothing from it doesn't count as looking there
    """
    from threadpoolctl import threadpool_limits

    # torch's threads spin while they wait for work, and NumPy's products would wait for them: measured, a pass with
    # all questions takes three times as long when both have two threads.
    with threadpool_limits(1, user_api="blas"):
        return observe_layers(
            encoders, examples, _Pass(readers, encoders[0].n_layers, weighted),
            tokens=tokens, window=window, long=long, label="reading attention",
        )  # fmt: skip


def read_maps_in_turns(
    turns: Sequence[tuple[Sequence[Encoder], Sequence[MapReader]]],
    examples: Examples,
    stage: Stage,
    *,
    weighted: bool = False,
    long: Literal["truncated", "left_out"] = "truncated",
) -> Passed:
    """The same for many encoders, some and their readers at a time: see `observe_in_turns`."""
    from threadpoolctl import threadpool_limits

    passes = [Turn(encoders, _Pass(readers, encoders[0].n_layers, weighted)) for encoders, readers in turns]
    with threadpool_limits(1, user_api="blas"):
        return observe_in_turns(passes, examples, stage, long=long, label="reading attention")


class _Pass:
    """The observer that hands layers to the readers."""

    def __init__(self, readers: Sequence[MapReader], n_layers: int, weighted: bool) -> None:
        self._readers, self._n_layers, self._weighted = readers, n_layers, weighted
        self.needs = frozenset({"maps", *({"norms"} if weighted else ())}).union(*(one.needs for one in readers))

    def update(self, batch: Batch, layer: int, seen: Sequence[Seen]) -> None:
        if layer == 0:
            self._view = View.of(batch, self._n_layers)
            self._room, self._cells = _room(self._view.real.device), 0
            self._waiting: list[Sequence[Seen]] = []
            self._uniforms: list[Uniform] = []
        cells = sum(one.maps[0].numel() for one in seen)
        if self._waiting and not (self._cells + cells <= self._room and self._looks_alike(seen)):
            self._show(layer)
        self._waiting.append(seen)
        self._cells += cells
        if layer + 1 == self._n_layers:
            self._show(layer + 1)
            del self._view, self._waiting, self._uniforms

    def _looks_alike(self, seen: Sequence[Seen]) -> bool:
        """Whether the layer may look at the same keys as those that wait."""
        pairs = zip(self._waiting[0], seen, strict=True)
        return all(a is b for one, other in pairs for a, b in zip(one.allowed, other.allowed, strict=True))

    def _show(self, end: int) -> None:
        """Let the readers read the layers that wait, which end before `end`."""
        maps = self._together(list(zip(*self._waiting, strict=True)))
        first, self._waiting, self._cells = end - len(self._waiting), [], 0
        for reader in self._readers:
            reader.read(first, self._view, maps)

    def _together(self, shown: Sequence[Sequence[Seen]]) -> list[LayerMaps]:
        """What each encoder showed in some layers; where several layers are read at once, encoders are `joined`."""
        found = [[self._maps(one) for one in layers] for layers in shown]
        counts = [[one.shape[1] for one in layers] for layers in found]
        whole = None
        if self._room and len(found) > 1:
            whole = LayerMaps(self._one(list(chain(*found))), self._view, head_counts=list(chain(*counts)))
        heads = [sum(layers) for layers in counts]
        maps = [self._one(layers) for layers in found] if whole is None else whole.maps.split(heads, 1)
        return [
            LayerMaps(
                one, self._view, [each.contexts[0] for each in layers if each.contexts],
                self._uniform(layers) if layers[0].allowed else None, of_layers, whole=whole, first=first,
            )
            for one, layers, of_layers, first in zip(maps, shown, counts, accumulate([0, *heads[:-1]]), strict=True)
        ]  # fmt: skip

    def _maps(self, seen: Seen) -> Tensor:
        return norm_weighted(seen.maps[0], seen.norms[0]) if self._weighted else seen.maps[0]

    def _one(self, layers: Sequence[Tensor]) -> Tensor:
        """Heads of some layers side by side, 0 for padded queries."""
        maps = layers[0] if len(layers) == 1 else torch.cat([*layers], 1)
        row, query = self._view.padding
        maps[row, :, query] = maps.new_zeros(())  # a plain 0 would be copied to a GPU, and waited for
        return maps

    def _uniform(self, layers: Sequence[Seen]) -> Uniform:
        """Most layers of most models may look at the same keys: then it is the same for all."""
        (allowed,) = layers[0].allowed
        if self._weighted:
            return Uniform(self._view, allowed * torch.cat([one.norms[0] for one in layers], 1)[:, :, None])
        for known in self._uniforms:
            if known.allowed is allowed or (_on_cpu(allowed) and torch.equal(known.allowed, allowed)):
                return known
        self._uniforms.append(Uniform(self._view, allowed))
        return self._uniforms[-1]


def _room(device: torch.device) -> int:
    """How many cells of maps are read together: on a CPU those of a layer, which are in the cache."""
    return torch.cuda.get_device_properties(device).total_memory // _BYTES if device.type == "cuda" else 0
