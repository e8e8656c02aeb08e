"""What the questions about attention share: one pass over the examples, and what several need of a map.

A map lives until its layer has been read. A question brings a reader, which takes from each layer's maps what it
needs; readers that are brought together share the pass, and what two of them need of a map is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.between_words import between_words, received
from bertscope.analyses.attention.uniform import Uniform
from bertscope.core.examples import Examples
from bertscope.models.batches import WINDOW, Batch
from bertscope.models.encoder import Encoder
from bertscope.models.in_turns import Turn, observe_in_turns
from bertscope.models.observe import Passed, Seen, observe_layers
from bertscope.models.stage import Stage

_TINY = torch.finfo(torch.float32).tiny
_CELLS, _GPU_CELLS = 2**17, 2**25
# NumPy's logarithm to base 2 takes a fifth of the time of torch's, but only where it is vectorised.
_QUICK_LOG2 = torch.backends.cpu.get_cpu_capability() == "AVX512"
Computed = TypeVar("Computed")


@dataclass(frozen=True)
class View:
    """A batch as the readers see it."""

    rows: np.ndarray
    """The examples' positions in the corpus."""
    real: Tensor
    """[row, token]: not padding."""
    added: Tensor
    """[row, token]: a special token that the tokenizer added, [CLS] or [SEP]."""
    words: Tensor
    """[row, token]: the token's word, -1 where it belongs to none."""
    segments: Tensor
    """[row, token]: which text of a pair the token is in, 0 or 1; 0 for special tokens and padding."""
    n_layers: int = 1
    """How many layers are shown."""
    _computed: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, batch: Batch, n_layers: int) -> View:
        real = batch.inputs["attention_mask"].bool()
        return cls(batch.rows, real, batch.added, batch.words, batch.segments, n_layers)

    def once(self, compute: Callable[..., Computed], *more: Any) -> Computed:
        """What `compute` computes of this batch: for all layers and encoders once."""
        if (compute, *more) not in self._computed:
            self._computed[compute, *more] = compute(self, *more)
        return self._computed[compute, *more]

    @cached_property
    def lengths(self) -> Tensor:
        """[row]: real tokens, as a number to divide by."""
        return self.real.sum(1).float()

    @cached_property
    def cls(self) -> Tensor:
        """[row, token]: the token that opens the input, [CLS] or what the family calls it."""
        return self.added & (self._place == 0)

    @cached_property
    def sep(self) -> Tensor:
        """[row, token]: the special tokens that close a text, [SEP] or what the family calls them."""
        return self.added & (self._place > 0)

    @cached_property
    def _place(self) -> Tensor:
        return torch.arange(self.real.shape[1], device=self.real.device)

    @cached_property
    def distances(self) -> Tensor:
        """[query x key]: how many tokens lie between."""
        place = self._place.float()
        return (place[:, None] - place).abs().flatten()

    @cached_property
    def padding(self) -> tuple[Tensor, ...]:
        """The rows and places of padded tokens."""
        return torch.nonzero(~self.real, as_tuple=True)

    @cached_property
    def word_count(self) -> int:
        """One more than the highest number of a word in the batch; at least one, also where no text has a word."""
        return max(1, int(self.words.max()) + 1)

    @cached_property
    def in_word(self) -> Tensor:
        """[row, token, word]: 1 where the token is a piece of the word, else 0."""
        number = torch.arange(self.word_count, device=self.words.device)
        return (self.words[..., None] == number).float()

    @cached_property
    def pieces(self) -> Tensor:
        """[row, word]: how many tokens the word has; 0 where the example has no such word, or no token shows it."""
        return self.in_word.sum(1)


class LayerMaps:
    """One layer's attention on one batch: maps [row, head, query, key], all zero for padded queries and keys."""

    def __init__(
        self, maps: Tensor, view: View, context: Tensor | None = None, uniform: Uniform | None = None
    ) -> None:
        self.maps, self.view = maps, view
        self.context = context
        """The heads' outputs [row, query, head, d], if a reader needs them."""
        self.uniform = uniform
        """What a head gives that attends to all keys alike, if a reader needs it."""

    @cached_property
    def flat(self) -> Tensor:
        """[row, head, query x key]."""
        return self.maps.flatten(2)

    @cached_property
    def received(self) -> Tensor:
        """[row, head, key]: the attention each token gets, averaged over the queries."""
        return received(self.view, self.maps)

    @cached_property
    def squares(self) -> Tensor:
        """[row, head]: the sum of the map's squares."""
        return inner(self.flat, self.flat)

    @cached_property
    def entropy(self) -> Tensor:
        """[row, head]: the entropy of a query's attention in bits, averaged over the queries."""
        return entropy(self.view, self.flat)

    @cached_property
    def distance(self) -> Tensor:
        """[row, head]: how many tokens away attention goes on average."""
        return self.flat @ self.view.distances / self.view.lengths[:, None]

    @cached_property
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
    # A few maps at a time: what is computed on the way stays in the cache, and its memory serves again and again.
    few = max(1, (_CELLS if _on_cpu(maps[0]) else _GPU_CELLS) // maps[0].shape[-1])
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


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A product of matrices by torch, whose threads would be in the way of NumPy's (see `read_maps`)."""
    return (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()


def ascending(values: Tensor) -> Tensor:
    """Sorted along the last dimension. On a CPU by NumPy: it takes a tenth of the time of torch."""
    return torch.from_numpy(np.sort(values.numpy())) if _on_cpu(values) else values.sort().values


class MapReader(Protocol):
    """A question's part in the pass."""

    needs: frozenset[str]
    """What it asks of `observe` beside the maps."""

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Take what is needed of one layer (0-based), for each encoder in turn."""


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
    """The observer that hands each layer to the readers."""

    def __init__(self, readers: Sequence[MapReader], n_layers: int, weighted: bool) -> None:
        self._readers, self._n_layers, self._weighted = readers, n_layers, weighted
        self.needs = frozenset({"maps", *({"norms"} if weighted else ())}).union(*(one.needs for one in readers))

    def update(self, batch: Batch, layer: int, seen: Sequence[Seen]) -> None:
        if layer == 0:
            self._view = View.of(batch, self._n_layers)
            self._uniforms: list[Uniform] = []
        maps = [self._layer(one) for one in seen]
        for reader in self._readers:
            reader.read(layer, self._view, maps)
        if layer + 1 == self._n_layers:
            del self._view, self._uniforms

    def _layer(self, seen: Seen) -> LayerMaps:
        (maps,) = seen.maps
        uniform = self._uniform(seen) if seen.allowed else None
        if self._weighted:
            maps = norm_weighted(maps, seen.norms[0])
        row, query = self._view.padding
        maps[row, :, query] = 0
        return LayerMaps(maps, self._view, seen.contexts[0] if seen.contexts else None, uniform)

    def _uniform(self, seen: Seen) -> Uniform:
        """Most layers of most models may look at the same keys: then it is the same for all."""
        (allowed,) = seen.allowed
        if self._weighted:
            return Uniform(self._view, allowed * seen.norms[0][:, :, None])
        known = [one for one in self._uniforms if torch.equal(one.allowed, allowed)]
        if not known:
            known = [Uniform(self._view, allowed)]
            self._uniforms += known
        return known[0]
