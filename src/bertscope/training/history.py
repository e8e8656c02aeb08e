"""What happened in a training, and what a question that trains gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from bertscope.core.result import Result
from bertscope.models.encoder import Encoder


@dataclass
class History:
    """What happened so far: a row per epoch, a row per point of the loss curve."""

    chance: float
    epochs: list[dict[str, float]] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    best: int = 0
    """The epoch with the highest score on validation, of equals the first; 0, which is before any training, where
    there is none yet."""
    activations: int = 0
    """Bytes that the largest step keeps for its backward pass, weights apart."""
    peak: int = 0
    """Bytes that were in use at once on a GPU, at most; 0 elsewhere."""
    kept: list[int] = field(default_factory=list)
    """After how many steps a checkpoint was kept."""
    precision: str = "float32"
    """In which its forward passes ran: one that goes on after it was killed keeps it."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know of how it was done."""

    @property
    def checkpoints(self) -> list[dict[str, float | str]]:
        """A row for each checkpoint that was kept: the last one is the end."""
        a_step = (len(self.epochs) - 1) / max(self.kept, default=1)
        return [{"step": step, "epoch": step * a_step, "folder": f"checkpoint-{step}"} for step in self.kept]


@dataclass(frozen=True)
class Trained:
    """What a question that trains gives back."""

    encoder: Encoder
    result: Result
