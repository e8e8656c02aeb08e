"""In which precision a training on a GPU runs its forward passes: what was measured decides (docs/gpu.md has how)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

SINGLE, HALF = "float32", "bfloat16"
LEAST = 1.3
"""How many times as fast half precision must be: less isn't worth another rounding."""


@dataclass(frozen=True)
class Measured:
    """Recorded steps of encoders of one width in both precisions, on an H200."""

    units: int
    faster: float
    """How many times as fast half precision is, from the second epoch on."""
    score: float | None = None
    """Its score on the test set minus single precision's, seed by seed; None where that wasn't compared."""
    error: float = 0.0
    """The standard error of that."""

    @property
    def worse(self) -> bool:
        return self.score is not None and self.score + 2 * self.error < 0


MEASURED = (
    Measured(128, 1.06),
    Measured(192, 1.26, -0.0038, 0.0018),
    Measured(384, 1.74, 0.0016, 0.0021),
    Measured(768, 2.95),
)


def half_is_better(units: int) -> bool:
    """Whether half precision is fast enough at this width, and isn't known to cost score: by the widest that was
    measured and isn't wider, of scores by the widest of which they were compared."""
    known = [one for one in MEASURED if one.units <= units]
    scored = [one for one in known if one.score is not None]
    return bool(scored) and known[-1].faster >= LEAST and not scored[-1].worse


def has_half(device: torch.device) -> bool:
    """Whether trainings can be in half precision there."""
    return device.type == "cuda" and torch.cuda.is_bf16_supported(False)
