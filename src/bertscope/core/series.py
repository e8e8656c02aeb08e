"""Checkpoints of one training as an axis: what a series is, and how a question is asked of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bertscope.core import registry

End = Literal["first", "last"]


@dataclass(frozen=True)
class Series:
    """Checkpoints of one training, in the order of their steps, or of several trainings at the same steps. It is
    given wherever a model is."""

    steps: tuple[int, ...]
    """After how many steps of the training each was kept."""
    checkpoints: tuple[Any, ...]
    """A model each, as users name or hold it; in a plan, a root each. Of several trainings, one after the other."""
    name: str = ""
    """What the user called it."""
    trainings: tuple[str, ...] = ()
    """What the trainings are called, where there are several."""

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.checkpoints)

    def __repr__(self) -> str:
        each = f" of each of {len(self.trainings)} trainings" if self.trainings else ""
        return f"<Series {self.name}: {len(self)} checkpoints{each}, steps {self.steps[0]:,} to {self.steps[-1]:,}>"

    def each(self) -> list[Series]:
        """The trainings, a series each."""
        n = len(self.steps)
        parts = [self.checkpoints[start : start + n] for start in range(0, len(self.checkpoints), n)]
        return [replace(self, checkpoints=some, trainings=()) for some in parts]

    def map(self, change: Callable[[Any], Any]) -> Series:
        """The same steps, with something else made of each checkpoint."""
        return replace(self, checkpoints=tuple(map(change, self.checkpoints)))

    def rooted(self, root: Callable[[Any], Any]) -> Series:
        """The series of a plan: the identity of each checkpoint. Those that can't be of one training are refused."""
        found = self.map(root)
        registry.resolve(registry.SERVICES["refuse_unlike"])(found)
        return found


@dataclass(frozen=True)
class Followed:
    """A column of an answer's table that is followed over the steps, beside the headline numbers."""

    table: str
    value: str
    label: str
    """What it is, for figures."""
    low: str = "low"
    high: str = "high"
    by: tuple[str, ...] = ("layer",)
    """The columns that tell its rows apart; `layer` alone, or `layer` and something else, is drawn as lines, `layer`
    and `head` as a small map for each step."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Only the rows with these values."""
    key: str = ""
    """What the series' table and figure are called, where two would be called alike."""


@dataclass(frozen=True)
class OverSteps:
    """How a question is asked of a series."""

    against: tuple[End, ...] = ()
    """Of a question that compares two models: with which end of the series each checkpoint is. Empty: a question of
    one model, which is asked of each."""
    same: Mapping[str, float] = field(default_factory=dict)
    """Of one that compares: what its headline numbers are of a model and itself, by their keys. That isn't asked."""
    followed: tuple[Followed, ...] = ()
    at_once: bool = False
    """Whether it takes all checkpoints at once and follows them itself, behind what the training began with; its
    config has their `steps`."""
