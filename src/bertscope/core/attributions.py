"""How much each word of a text did for what a model says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

NO_PLACE = -1
"""What stands for a word or a label where the kind of output has none to choose."""


@dataclass(frozen=True)
class Wanted:
    """Which of the things that a model says of an example are explained; by default what it predicts."""

    label: int | None = None
    """This label, tag, candidate or piece, by its place, whether it is predicted or not."""
    word: int | None = None
    """Where something is said of each word: of this one alone, from 0."""
    every_word: bool = False
    """Where something is said of each word: of all of them, also of those that are no part of an entity."""


@dataclass(frozen=True, eq=False)
class Targets:
    """What is explained: a quantity that a model computes of an example. One after the other; an example may have
    several."""

    example: np.ndarray
    """[t]: the example's position."""
    place: np.ndarray
    """[t]: where in it: the word of a tag, which of the masked pieces; `NO_PLACE` where it is of all of it."""
    label: np.ndarray
    """[t]: of which of the task's labels (candidates, tags, pieces); `NO_PLACE` of a score or a cosine."""
    end: np.ndarray | None = None
    """[t]: of spans, the token at which the answer ends; `label` is then where it begins. Both count tokens of the
    row `place`."""

    def __len__(self) -> int:
        return len(self.example)

    def take(self, at: np.ndarray) -> Targets:
        end = None if self.end is None else self.end[at]
        return Targets(self.example[at], self.place[at], self.label[at], end)

    def moved(self, example: np.ndarray) -> Targets:
        """The same of examples that stand elsewhere."""
        return Targets(example, self.place, self.label, self.end)

    @classmethod
    def joined(cls, parts: Sequence[Targets]) -> Targets:
        """All of several, one after the other."""
        example, place, label = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("example", "place", "label")
        )
        ends = [part.end for part in parts if part.end is not None]
        return cls(example, place, label, np.concatenate(ends) if ends else None)


@dataclass(frozen=True, eq=False)
class Attributions:
    """The attributions of targets' words, end to end: those of target `t` are [starts[t], starts[t + 1])."""

    method: str
    targets: Targets
    starts: np.ndarray
    """[t + 1]"""
    values: np.ndarray
    """[word]: float64; pieces are added up. In the unit of what is explained."""
    word: np.ndarray
    """[word]: which word of its example it is, counted through an example as `Examples` does."""
    text: tuple[str, ...]
    """[word]: as the text has it."""
    whole: np.ndarray
    """[t]: what is explained, of the text as it is."""
    baseline: np.ndarray
    """[t]: the same with every word masked."""
    gap: np.ndarray
    """[t]: |sum of the attributions - (whole - baseline)|; NaN where the method promises nothing about it."""
    missed: np.ndarray
    """[t]: whether that is more than it may be, with as many nodes as are allowed."""
    nodes: np.ndarray
    """[t]: how many were used; 0 where the method has none."""
    probability: np.ndarray
    """[t]: how likely the model holds what is explained to be; NaN of what has no probability."""
    explained: tuple[str, ...] = ()
    """[t]: what is explained, in words."""
    unread: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """[example]: how many of its words aren't read, and have no attribution, of all examples that were given."""

    def __len__(self) -> int:
        return len(self.targets)

    def of(self, target: int) -> np.ndarray:
        """Those of one target's words."""
        return self.values[self.starts[target] : self.starts[target + 1]]

    def words_of(self, target: int) -> tuple[str, ...]:
        return self.text[self.starts[target] : self.starts[target + 1]]

    @property
    def owner(self) -> np.ndarray:
        """[word]: which target it is of."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def with_values(self, values: np.ndarray, method: str) -> Attributions:
        """The same words with other values."""
        return replace(self, values=values, method=method)
