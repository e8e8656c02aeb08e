"""Where a corpus is divided: what has to be known of the whole to read any part of it alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.sums import Sums

KIND = "division"


@dataclass(frozen=True)
class Division:
    """Where the windows of a corpus begin, 24 bytes for each, and what is known of the whole."""

    texts: int
    window: int
    """Texts in each window but the last."""
    places: np.ndarray
    """[window, (file, where its first row begins there, the number of its line)]."""
    name: str
    notes: tuple[str, ...]
    annotated: bool
    """Whether any text has words, or speaks of some."""
    marks: tuple[str, ...]
    """What is said of words anywhere, by kind."""
    linked: bool
    answered: bool

    def save(self, folder: Path) -> None:
        facts = asdict(self)
        Sums({"places": facts.pop("places")}, facts).save(folder, KIND)

    @classmethod
    def load(cls, folder: str | Path) -> Division:
        found = Sums.load(folder)
        facts: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in found.facts.items()
        }
        return cls(places=found.arrays["places"], **facts)

    def windows(self, shard: int, of: int) -> range:
        """The windows of a shard, counted from 1, of so many: as equal as whole windows can be."""
        return range((shard - 1) * len(self.places) // of, shard * len(self.places) // of)

    def of_windows(self, windows: range) -> range:
        """The texts of some windows, by their places in the corpus."""
        return range(min(windows.start * self.window, self.texts), min(windows.stop * self.window, self.texts))
