"""What a model says of examples, and what it calls that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Predictions:
    ids: tuple[str, ...]
    """The examples'."""
    logits: np.ndarray
    """A classifier's [example, class], or [example, 1] for a score; float32. Of a task head for spans, where the
    answer begins and ends, in characters of the second text: [example, 2]. Of a parser, each word's governor and
    relation: [example, word, 2]; see `Task`. Of one model with several changes: [change, example, class]."""
    labels: tuple[str, ...]
    """What the model calls its classes (a parser its relations), in the order of its outputs; empty for scores and
    spans. A task's labels may stand in another order: `Task.score` matches them by name."""
    truncated: int
    """Texts of which something wasn't read: they are longer than the model allows."""

    def __repr__(self) -> str:
        return f"<Predictions: logits {list(self.logits.shape)}, {self.truncated:,} texts cut>"

    def of_change(self, place: int) -> Predictions:
        """Those with one of several changes."""
        return replace(self, logits=self.logits[place])
