"""What `features` keeps of an encoder: means over the examples, and their sums for those who add them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.kept import RunningSum
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.sums import Sums
from bertscope.core.units import heads_of_layers
from bertscope.models.sending import sent


@dataclass(frozen=True)
class LayerMeans:
    """What was found of one layer of one encoder; F features, the special tokens last, W of words, `ANY` last.

    [1 + repeats, ...]: the mean in the sample itself, then in each resample.
    """

    attention: np.ndarray
    """[by, F, (strongest, strongest beyond uniform, the same of random words), head]."""
    special: np.ndarray
    """[([CLS], [SEP] together, [SEP] each), head]: attention of all tokens."""
    pairs: np.ndarray
    """[from W, to W, (attention, beyond uniform, the same of any two words)]: the mean over heads."""
    pairs_of_heads: np.ndarray
    """[from W, to W, (attention, beyond uniform, the same of any two words), head], of the sample only."""


class Means:
    """What is kept of one encoder: the heads of all its layers side by side."""

    def __init__(self, resampling: Resampling, head_counts: Sequence[int]) -> None:
        self.attention, self.special, self.pairs = (RunningMean(resampling) for _ in range(3))
        self.pairs_of_heads = RunningSum()  # over as many texts as `pairs` has
        self._head_counts, self._layers = list(head_counts), heads_of_layers(head_counts)
        mean = np.repeat(np.eye(len(head_counts), dtype=np.float32), head_counts, axis=0)
        self._mean = torch.from_numpy(mean / np.maximum(mean.sum(0), 1))

    def mean_on(self, device: torch.device) -> Tensor:
        """[head, layer]: by which heads' values become their layers' means."""
        self._mean = sent(self._mean, device)
        return self._mean

    def sums(self) -> Sums:
        running = {"attention": self.attention, "special": self.special, "pairs": self.pairs}
        found = Sums.of({name: one.sums() for name, one in running.items()}, heads=self._head_counts)
        return Sums({**found.arrays, "pairs_of_heads": self.pairs_of_heads.value}, found.facts)

    def merge(self, other: Sums) -> None:
        for name, mean in (("attention", self.attention), ("special", self.special), ("pairs", self.pairs)):
            mean.merge(other.part(name))
        self.pairs_of_heads.merge(other.arrays["pairs_of_heads"])

    def layers(self) -> dict[int, LayerMeans]:
        attention, special, pairs = self.attention.draws, self.special.draws, self.pairs.draws
        with np.errstate(invalid="ignore"):  # no text has such a pair: 0 of 0
            pairs_of_heads = self.pairs_of_heads.value / self.pairs.count[..., None, None]
        return {
            layer: LayerMeans(attention[..., at], special[..., at], pairs[..., layer - 1], pairs_of_heads[..., at])
            for layer, at in self._layers.items()
        }
