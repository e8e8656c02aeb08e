"""What `relations` keeps of an encoder, and of the test half: in a form that can be stored, and added to.

Of the test half the hits themselves are kept, a bit for each pair, head and direction (36 bytes a word for 144 heads,
less than its annotation takes): which of them matter is known only when the validation half has chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.sums import Sums
from bertscope.core.units import every, heads_of_layers

ROUNDING = 1e-6
"""Less attention than this is none: where a head does the same in all pairs, tests would find the last digits."""


class HeadSums:
    """What is kept of one encoder: sums over pairs, the heads of all layers side by side.

    R relations; directions to target, to source.
    """

    def __init__(self, place: int, resampling: Resampling, head_counts: Sequence[int], n_compared: int) -> None:
        self.place, self.head_counts = place, list(head_counts)
        """Which of the encoders it is, and how many heads its layers have."""
        self.heads = every("head", head_counts)
        self.layers = heads_of_layers(head_counts)
        self.scores = RunningMean(resampling)
        """[(excess, the most attention between two pieces), head]: from frames' elements to what evokes them."""
        self.apart = memory_mapped([n_compared, 2, len(self.heads)], np.float32)
        """[pair that has a control, direction, head]: excess in the pair minus that in its control."""
        self.hits: np.ndarray | float = 0.0
        """[(test, validation), R, direction, head]: the most attended other word was the right one."""
        self.control: np.ndarray | float = 0.0
        """[R, direction, head]: the sum of the excess in the controls."""

    def differences(self, of: np.ndarray) -> np.ndarray:
        """[pair, direction, head] of some of the pairs that have a control."""
        apart = self.apart[of].astype(np.float64)
        return np.where(np.abs(apart) < ROUNDING, 0.0, apart)

    def sums(self, touched: np.ndarray) -> Sums:
        """Of differences, those that are known in part, or wholly: a pair or its control was read."""
        added = {"hits": np.asarray(self.hits), "control": np.asarray(self.control)}
        apart = {"touched": touched, "apart": self.apart[touched]}
        return Sums.of({"scores": self.scores.sums(), "added": Sums(added), "differences": Sums(apart)})

    def merge(self, other: Sums) -> None:
        added, differences = other.part("added").arrays, other.part("differences").arrays
        self.hits = self.hits + added["hits"]
        self.control = self.control + added["control"]
        self.apart[differences["touched"]] += differences["apart"]
        self.scores.merge(other.part("scores"))


@dataclass(frozen=True)
class TestHalf:
    """The pairs of the test half that were seen whole, sentence by sentence."""

    __test__ = False  # it isn't one of pytest's

    relation: np.ndarray
    """[pair]"""
    near: np.ndarray
    """[pair, 2]: see `Pairs.near`."""
    sizes: np.ndarray
    """[sentence]: how many pairs each has; at least one."""
    keys: np.ndarray
    """[sentence]: the numbers that decide which resamples it is in, uint64."""
    bits: tuple[np.ndarray, ...]
    """Of each encoder [pair, bits of direction x head]: whether the head found the pair."""

    @cached_property
    def sentence(self) -> np.ndarray:
        """[pair]: whose it is."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def hit(self, encoder: HeadSums, direction: int, head: int) -> np.ndarray:
        """Whether a head found each pair."""
        byte, bit = divmod(direction * len(encoder.heads) + head, 8)
        return self.bits[encoder.place][:, byte] >> (7 - bit) & 1

    @classmethod
    def joined(cls, parts: Sequence[TestHalf]) -> TestHalf:
        """Those of texts that come one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            relation=np.concatenate([one.relation for one in parts]),
            near=np.concatenate([one.near for one in parts]),
            sizes=np.concatenate([one.sizes for one in parts]),
            keys=np.concatenate([one.keys for one in parts]),
            bits=tuple(map(np.concatenate, zip(*(one.bits for one in parts), strict=True))),
        )

    def sums(self) -> Sums:
        named = {"relation": self.relation, "near": self.near, "sizes": self.sizes, "keys": self.keys.view(np.int64)}
        return Sums(named | {f"bits.{place}": one for place, one in enumerate(self.bits)})

    @classmethod
    def of(cls, sums: Sums) -> TestHalf:
        held = sums.arrays
        bits = tuple(held[f"bits.{place}"] for place in range(sum(name.startswith("bits.") for name in held)))
        return cls(held["relation"], held["near"], held["sizes"], held["keys"].view(np.uint64), bits)
