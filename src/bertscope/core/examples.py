"""Texts in order, with their labels: what data hands to models, and the only type the two share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Examples:
    """Some texts, or pairs of texts, with or without labels. All columns have the same length."""

    ids: tuple[str, ...]
    text: tuple[str, ...]
    pair: tuple[str, ...] | None = None
    """The second text of each example, where the task is about two."""
    label: np.ndarray | None = None
    """int64 class indices for classification, float64 scores for regression."""
    words: tuple[tuple[str, ...], ...] | None = None
    """Each text's words, where the source marks them itself (a treebank)."""

    def __post_init__(self) -> None:
        for name in ("text", "pair", "label", "words"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.ids):
                raise ValueError(f"{len(self.ids)} ids, but {len(column)} entries in {name}")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices: Sequence[int] | np.ndarray) -> Examples:
        """The examples at these positions, in this order."""
        at = [int(i) for i in indices]
        return Examples(
            ids=tuple(self.ids[i] for i in at),
            text=tuple(self.text[i] for i in at),
            pair=None if self.pair is None else tuple(self.pair[i] for i in at),
            label=None if self.label is None else self.label[at],
            words=None if self.words is None else tuple(self.words[i] for i in at),
        )
