"""How long steps may take, from how long others took: for a plan, and for a run that goes on. Loads no torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from bertscope.core.errors import UserError
from bertscope.core.lineage import roots
from bertscope.core.step import Step
from bertscope.core.store import Store

Here = Literal["same_models_and_data", "same_models", "other_models"]
Like = Here | Literal["demo"]
IN_WORDS: dict[Like, str] = {
    "same_models_and_data": "of the same models and data",
    "same_models": "of the same models",
    "other_models": "of other models",
    "demo": "of the demo, on another machine",
}
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
        self._demos: dict[str, bool] = {}  # by a step's id
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
        """The median of the steps of the same question that are most like this one; of `pocket` on demo data, where
        there is none, of the demo that we made. None otherwise."""
        for like, kind in zip(get_args(Here), self._kinds_of(step), strict=True):
            if kind in self._took:
                return Guess(self._median(kind), like)
        if step.name in _DEMO and self._is_demo(step):
            longer = _AUTO if step.config.get("recipe") == "auto" and step.config["epochs"] is None else 1.0
            return Guess(longer * _DEMO[step.name], "demo")
        return None

    def left(
        self, waiting: Iterable[Step], running: Iterable[tuple[Step, float]] = (), *, slots: int = 1
    ) -> float | None:
        """Seconds until these are made, `slots` at a time; of those running it is given how long they have. Where a
        question was never answered, it takes what the others do; None if none was."""
        whole = [(self.guess(step), passed) for step, passed in (*((step, 0.0) for step in waiting), *running)]
        if () not in self._took and any(found is None for found, _ in whole):
            return None
        median_of_all = self._median(()) if () in self._took else 0.0
        return sum(max(0.0, (found.seconds if found else median_of_all) - passed) for found, passed in whole) / max(
            1, slots
        )

    def _is_demo(self, step: Step) -> bool:
        """Whether all that a step rests on comes with the package."""
        if step.id not in self._demos:
            sources = [root.source for root in roots(step)]
            self._demos[step.id] = all(name == "pocket" or name.startswith("demo/") for name in sources)
        return self._demos[step.id]

    def _median(self, kind: Kind) -> float:
        if kind not in self._medians:
            self._medians[kind] = median(self._took[kind])
        return self._medians[kind]

    def _kinds_of(self, step: Step) -> list[Kind]:
        """What a step is one of, from the narrowest kind to its question."""
        if step.id not in self._kinds:
            everything = frozenset(root.id for root in roots(step))
            models = frozenset(root.id for root in roots(step, "model"))
            self._kinds[step.id] = [(step.name, everything, models), (step.name, models), (step.name,)]
        return self._kinds[step.id]


_DEMO = {
    "ablate": 42.0, "change": 0.6, "check": 1.5, "claims": 0.1, "contrast": 0.4, "contrastive": 14.0, "errors": 2.4,
    "explain": 4.0, "features": 2.0, "finetune": 22.0, "freeze": 0.9, "geometry": 4.0, "graft": 12.0, "importance":
    38.0, "lottery": 0.1, "minimal-pairs": 2.0, "overlap": 0.1, "patch": 9.0, "patterns": 0.7, "probe": 12.0,
    "project": 0.1, "prune": 10.0, "readout": 6.0, "redundancy": 8.0, "relations": 2.0, "scratch": 0.1, "sentences":
    2.1, "similarity": 5.5, "states": 0.9, "structure": 14.0, "ticket": 20.0, "truncate": 3.5, "untuned": 0.9,
    "versus": 2.4,
}  # fmt: skip
"""The median seconds of the demo's steps, by question, on two cores: better than nothing in a new store."""
_AUTO = 2.0
"""`auto` takes 300 steps or a few more, of whatever demo task; the demo's own trainings, of 1,200 rows, take 152."""
