"""What `structure` found: the probes, which of them are the best, and how every prediction does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bertscope.analyses.structure.metrics import Scored
    from bertscope.analyses.structure.probes import Kind, Stack

PROBE, CONTROL, CHAIN = "probe", "control", "linear_chain"


@dataclass(frozen=True)
class Arm:
    """One prediction that is scored."""

    name: str
    """`probe`, `control` or `linear_chain`."""
    checkpoint: str | None = None
    layer: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Probe:
    """A trained probe, and how it does on the validation sentences."""

    stack: Stack
    place: int
    """Its place in the stack."""
    score: float
    """UUAS or root accuracy."""

    @property
    def layer(self) -> int:
        return self.stack.layers[self.place]

    @property
    def epochs(self) -> int:
        return self.stack.epochs[self.place]

    @property
    def loss(self) -> float:
        return self.stack.schedules[self.place].least


@dataclass(frozen=True)
class Drawn:
    """A sentence's tree, and the one that a checkpoint's best probes predict."""

    checkpoint: str
    layer: int
    id: str
    words: tuple[str, ...]
    outside: np.ndarray
    """bool [N]: punctuation."""
    gold: np.ndarray
    predicted: np.ndarray
    """Governors [N]: the spanning tree of the distances, hung from the word of the least depth."""


@dataclass(frozen=True)
class Findings:
    probes: list[Probe]
    chosen: dict[tuple[str, Kind], Probe]
    """Each checkpoint's best of each kind, by validation."""
    arms: dict[Kind, list[Arm]]
    scored: dict[Kind, Scored]
    """How each arm does on each test sentence."""
    draws: dict[str, np.ndarray]
    """By metric, [1 + repeats, arm of its kind]."""
    drawn: list[Drawn]

    @property
    def checkpoints(self) -> list[str]:
        return list(dict.fromkeys(checkpoint for checkpoint, _ in self.chosen))
