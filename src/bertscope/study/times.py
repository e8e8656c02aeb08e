"""How long steps may take, from how long others took: for a plan, and for a run that goes on. Loads no torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from bertscope.core.errors import UserError
from bertscope.core.step import Root, Step
from bertscope.core.store import Store

Like = Literal["of the same models and data", "of the same models", "of other models"]
Kind = tuple[str | frozenset[str], ...]
"""A question's name, and what its steps rest on; of every step: ()."""


@dataclass(frozen=True)
class Guess:
    """How long a step may take."""

    seconds: float
    like: Like
    """Of which steps of its question it is the median."""


class Times:
    """Seconds that steps took."""

    def __init__(self) -> None:
        self._took: defaultdict[Kind, list[float]] = defaultdict(list)
        self._kinds: dict[str, list[Kind]] = {}  # by a step's id
        self._medians: dict[Kind, float] = {}  # asked for every waiting step, several times a second

    @classmethod
    def of_store(cls, store: Store) -> Times:
        """What all that is stored took when it was made. A damaged store is no reason to know nothing."""
        times = cls()
        with suppress(UserError):
            for one in store.finished():
                if (seconds := one.result["provenance"].get("seconds")) is not None:
                    times.add(one.step, seconds)
        return times

    def add(self, step: Step, seconds: float) -> None:
        for kind in (*self._kinds_of(step), ()):
            self._took[kind].append(seconds)
            self._medians.pop(kind, None)

    def guess(self, step: Step) -> Guess | None:
        """The median of the steps of the same question that are most like this one; None if there is none."""
        for like, kind in zip(get_args(Like), self._kinds_of(step), strict=True):
            if kind in self._took:
                return Guess(self._median(kind), like)
        return None

    def left(
        self, waiting: Iterable[Step], running: Iterable[tuple[Step, float]] = (), *, slots: int = 1
    ) -> float | None:
        """Seconds until these are made, `slots` at a time; of those running it is given how long they have. Where a
        question was never answered, it takes what the others do; None if none was."""
        if () not in self._took:
            return None
        whole = ((self.guess(step), passed) for step, passed in (*((step, 0.0) for step in waiting), *running))
        usual = self._median(())
        return sum(max(0.0, (found.seconds if found else usual) - passed) for found, passed in whole) / max(1, slots)

    def _median(self, kind: Kind) -> float:
        if kind not in self._medians:
            self._medians[kind] = median(self._took[kind])
        return self._medians[kind]

    def _kinds_of(self, step: Step) -> list[Kind]:
        """What a step is one of, from the narrowest kind to its question."""
        if step.id not in self._kinds:
            everything, models = _roots(step), _roots(step, "model")
            self._kinds[step.id] = [(step.name, everything, models), (step.name, models), (step.name,)]
        return self._kinds[step.id]


def _roots(step: Step, kind: str | None = None) -> frozenset[str]:
    """What a step rests on in the end: the ids of its models and data, or of those of one kind."""
    found = set[str]()
    for value in step.inputs.values():
        if isinstance(value, Root):
            found |= {value.id} if kind in (None, value.kind) else set()
        else:
            found |= _roots(value, kind)
    return frozenset(found)
