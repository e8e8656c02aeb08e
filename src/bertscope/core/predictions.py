"""What a model says of examples, and what it calls that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Predictions:
    ids: tuple[str, ...]
    """The examples'."""
    logits: np.ndarray
    """The model's outputs, as its kind has them (`core/output.py`). A classifier's [example, class], or [example, 1]
    for a score; float32. Of a task head for spans, where the answer begins and ends, in characters of the second
    text: [example, 2]. Of a parser, each word's governor and relation: [example, word, 2]. Of a tagger, [example,
    word, tag], with `SILENT` where it says nothing. Of one model with several changes: [change, example, ...]."""
    labels: tuple[str, ...]
    """What the model calls its classes (a parser its relations, a tagger its tags), in the order of its outputs;
    empty for scores and spans. A task's labels may stand in another order: `Task.score` matches them by name."""
    truncated: int
    """Texts of which something wasn't read: they are longer than the model allows."""

    def __repr__(self) -> str:
        return f"<Predictions: logits {list(self.logits.shape)}, {self.truncated:,} texts cut>"

    def of_change(self, place: int) -> Predictions:
        """Those with one of several changes."""
        return replace(self, logits=self.logits[place])


@dataclass(frozen=True, eq=False)
class Judged:
    """What comes of a model and of changed forms of it on the same examples; the first form is what the others are
    compared with. Nothing of it is as large as what the models put out."""

    moments: np.ndarray
    """[change, example, k]: of the task's primary metric."""
    losses: np.ndarray
    """[change, example]"""
    divergence: np.ndarray
    """[change, example]: how far it says something else than the first form, whatever is right."""
    flips: np.ndarray
    """[change, example]: whether it predicts something else than the first form, 1 or 0; NaN where nothing can
    flip. Of a change with several draws the share of them in which it does."""
    predicted: np.ndarray
    """[change, example, ...]: what is predicted; of a change with several draws, in the first."""
    truncated: int
    """Texts of which something wasn't read: they are longer than the model allows."""

    def mean_of(self, draws: Sequence[int]) -> Judged:
        """The mean over draws, where so many changes that follow each other are draws of one."""
        first = np.cumsum([0, *draws[:-1]])

        def mean(values: np.ndarray) -> np.ndarray:
            count = np.reshape(draws, (-1, *[1] * (values.ndim - 1)))
            return np.add.reduceat(values, first, axis=0) / count

        return Judged(
            moments=mean(self.moments),
            losses=mean(self.losses),
            divergence=mean(self.divergence),
            flips=mean(self.flips),
            predicted=self.predicted[first],
            truncated=self.truncated,
        )
