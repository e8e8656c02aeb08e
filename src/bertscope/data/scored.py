"""How good some predictions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertscope.core.number import Number


@dataclass(frozen=True)
class Scores:
    """How good some predictions are: the task's metric with its bootstrap interval, and what stands beside it."""

    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float
    """The same metric without looking at the texts; see `Task.blind_outputs`."""
    secondary: Mapping[str, float]
    notes: tuple[str, ...] = ()
    """What a reader must know about how the model's labels were matched with the task's."""
    draws: np.ndarray | None = field(default=None, compare=False, repr=False)
    """The metric in the sample itself and in each resample behind the interval."""

    @property
    def number(self) -> Number:
        """The primary metric as a headline number."""
        return Number(self.metric, self.value, self.low, self.high, self.n)

    def keyed(self, key: str, **of: str) -> Number:
        """The primary metric as a headline number of a result."""
        return Number(key, self.value, self.low, self.high, self.n, self.metric, of=of, draws=self.draws)

    @property
    def row(self) -> dict[str, Any]:
        """The primary metric as tables have it."""
        return {"metric": self.metric, "score": self.value, "low": self.low, "high": self.high, "n": self.n}
