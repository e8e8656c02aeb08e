"""Texts in order, with their labels: what data hands to models, and the only type the two share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Examples:
    """`text[i]` (with `pair[i]`, if the task has pairs) is example `ids[i]` with label `label[i]`."""

    ids: tuple[str, ...]
    text: tuple[str, ...]
    pair: tuple[str, ...] | None = None
    label: np.ndarray | None = None
    """int64 class indices, or float64 scores; None where nothing is labelled."""
    words: tuple[tuple[str, ...], ...] | None = None
    """The words of each text, where an annotation gives them."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | np.ndarray) -> Examples:
        """The examples at these positions, in this order."""
        rows = [int(row) for row in rows]

        def pick(values: tuple | None) -> tuple | None:
            return None if values is None else tuple(values[row] for row in rows)

        return Examples(
            ids=pick(self.ids) or (),
            text=pick(self.text) or (),
            pair=pick(self.pair),
            label=None if self.label is None else self.label[rows],
            words=pick(self.words),
        )
