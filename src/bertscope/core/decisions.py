"""What a model decides in examples, one decision after the other, each with the probabilities it was made by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Decisions:
    """One for each example, or several: a tag for each word, yes or no for each label.

    What is compared example by example (rows, resamples, exchanges) is added up by `example`.
    """

    example: np.ndarray
    """[m]: which example it is made in, in order."""
    shares: np.ndarray
    """[m, labels]: the probabilities."""
    predicted: np.ndarray
    """[m]: what is decided; mostly, but not always, what is likeliest."""
    gold: np.ndarray
    """[m]: what is right."""
    names: tuple[str, ...]
    """What is decided between, where that is the same in all of them; otherwise empty, as of candidate texts."""

    def __len__(self) -> int:
        return len(self.example)

    @property
    def right(self) -> np.ndarray:
        """[m]: whether it is right."""
        return self.predicted == self.gold

    @property
    def confidence(self) -> np.ndarray:
        """[m]: the probability of what is decided."""
        return np.take_along_axis(self.shares, self.predicted[:, None], 1)[:, 0]

    def lowest(self, values: np.ndarray, n: int) -> np.ndarray:
        """[n]: of each of so many examples the lowest value of its decisions [m]; NaN where it has none.

        >>> two = Decisions(np.array([0, 0, 2]), np.eye(3), np.arange(3), np.arange(3), ("a", "b", "c"))
        >>> two.lowest(np.array([0.9, 0.6, 0.7]), 3).tolist()
        [0.6, nan, 0.7]
        """
        found = np.full(n, np.inf)
        inside = self.example < n
        np.minimum.at(found, self.example[inside], values[inside])
        return np.where(np.isinf(found), np.nan, found)

    @property
    def of_gold(self) -> np.ndarray:
        """[m]: the probability of what is right."""
        return np.take_along_axis(self.shares, self.gold[:, None], 1)[:, 0]
