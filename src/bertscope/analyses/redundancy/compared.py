"""What was found of one checkpoint's heads: what `measure` finds and `result` tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.redundancy.question import RANDOM, SIMILAR
from bertscope.core.units import Unit, every

if TYPE_CHECKING:
    from bertscope.analyses.redundancy.clusters import Clusters
    from bertscope.analyses.redundancy.interactions import Interactions, Pair, Together
    from bertscope.core.model_record import ModelRecord


@dataclass(frozen=True)
class Compared:
    """One checkpoint and what was found of its heads."""

    key: str
    """What tables call it: its id."""
    model: ModelRecord
    head_counts: Sequence[int]
    head_size: int
    divergence: np.ndarray
    """[head, head], of their maps, in bits."""
    error: np.ndarray
    """[head, head]: its standard error."""
    draws: np.ndarray
    """[1 + repeats, layer, layer]: the divergence, summed over pairs of their heads."""
    alike: np.ndarray
    """CKA of the heads' outputs [head, head]."""
    tokens: int
    """How many tokens that rests on."""
    groups: Clusters
    places: np.ndarray
    """[head, 2]: where each head lies in a plane."""
    stress: float
    """How much the plane distorts."""
    similar: Sequence[Pair]
    """The pairs that diverge least."""
    random: Sequence[Pair]
    """Random pairs of the same layers."""
    interactions: Interactions | None
    """Of the similar pairs, then the random ones, where they were switched off."""
    together: Together | None
    """Of the named heads, where some were named."""
    notes: Sequence[str]

    @cached_property
    def units(self) -> list[Unit]:
        return every("head", self.head_counts)

    @property
    def kinds(self) -> list[str]:
        """Of each pair."""
        return [SIMILAR] * len(self.similar) + [RANDOM] * len(self.random)

    @cached_property
    def heads(self) -> np.ndarray:
        """[head, layer]: 1 where the head is the layer's."""
        return np.repeat(np.eye(len(self.head_counts)), self.head_counts, axis=0)

    def by_layer(self, values: np.ndarray) -> np.ndarray:
        """[layer, layer]: the mean of values [head, head] over pairs of different heads; NaN where there are none."""
        known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
        sums = self.heads.T @ np.where(known, values, 0.0) @ self.heads
        counts = self.heads.T @ known.astype(float) @ self.heads
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    @cached_property
    def pair_counts(self) -> np.ndarray:
        """[layer, layer]: pairs of different heads, the order counting."""
        counts = np.array(self.head_counts, dtype=float)
        return np.outer(counts, counts) - np.diag(counts)
