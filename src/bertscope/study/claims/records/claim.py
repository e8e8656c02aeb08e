"""A claim as a hypothesis about one number, and the rule that says whether stored results bear it out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from bertscope.core.estimate import Estimate
from bertscope.core.model_record import ModelRecord

HOLDS, FAILS, UNDERPOWERED, NOT_TESTED = "holds", "fails", "underpowered", "not_tested"
OF_ONE_TRAINING = {HOLDS: "holds_this_training", FAILS: "fails_this_training"}
"""What is decided of one fine-tuned checkpoint by an interval over texts: another training is not in it."""
VERDICTS = (HOLDS, OF_ONE_TRAINING[HOLDS], FAILS, OF_ONE_TRAINING[FAILS], UNDERPOWERED, NOT_TESTED)
"""Keys; `claims` declares their words."""
Side = Literal[">", ">=", "<", "<="]
_MEETS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True)
class Bound:
    """What is claimed of the effect: on which side of which value it lies."""

    side: Side
    at: float

    def met(self, value: float) -> bool:
        return _MEETS[self.side](value, self.at)

    def verdict(self, effect: Estimate) -> str:
        """`holds` if the whole interval is on the claimed side, `fails` if none of it is, else `underpowered`."""
        if effect.low is None or effect.high is None:
            return UNDERPOWERED
        ends = {self.met(effect.low), self.met(effect.high)}
        return UNDERPOWERED if len(ends) == 2 else HOLDS if ends == {True} else FAILS


@dataclass(frozen=True)
class Evidence:
    """What one stored result says about a claim, for one model and one task."""

    effect: Estimate
    model: ModelRecord | None
    """None: it is about no model in particular."""
    task: str
    n: int | None
    """How many texts, words or parts it rests on."""
    over: str
    """What was resampled for the interval."""
    runs: int | None = None
    """How many trainings it rests on; None where nothing was trained here: the model is as it was published."""
    at: float | None = None
    """The bound's value here, where it follows from the model's own score."""
    why: str = ""
    """Why there is no interval."""
    note: str = ""
    """What exactly was read: which targets, which tokens."""

    def void(self, why: str) -> Evidence:
        """The same number as no evidence: without its interval."""
        return replace(self, effect=self.effect.without_interval(), why=why)


@dataclass(frozen=True)
class Source:
    name: str
    cite: str


@dataclass(frozen=True)
class Published:
    """What the source reports, for the eye; no verdict rests on it."""

    says: str
    values: Mapping[str, float] = field(default_factory=dict)
    """The same effect in the source, by the task's own name (`glue/sst2`); under an empty one the only number that it
    gives."""

    def value(self, task: str) -> float | None:
        """Beside a result on that task; none where it is called otherwise, as a folder of somebody's own is."""
        return self.values.get(task, self.values.get(""))


@dataclass(frozen=True)
class Claim:
    """One sentence of a source work as a hypothesis."""

    id: str
    says: str
    source: Source
    where: str
    """The section or table of the source."""
    question: str
    """The question whose stored results are read."""
    effect: str
    """What number is looked at."""
    unit: str
    asks: Bound
    read: Callable[..., Iterable[Evidence]]
    """From a result to what it says; from a result and all others of its question if the claim `compares` results."""
    published: Published
    command: str
    """What would test it."""
    margin: str = ""
    """Where the bound's value comes from, unless it is the claim's own."""
    compares: bool = False
    needs_skill: bool = False
    """Whether it says something only of a model that does its task: one that is clearly above chance."""
