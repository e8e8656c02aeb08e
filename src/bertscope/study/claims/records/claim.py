"""A claim as a hypothesis about one number, and the rule that says whether stored results bear it out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from bertscope.core.estimate import Estimate
from bertscope.core.model_record import ModelRecord

if TYPE_CHECKING:
    from bertscope.core.result import Result

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
    of_skill: bool = False
    """Whether that value is a share of the skill at hand: of what the whole model has above chance. 3 points are
    little on one task and all there is on another."""

    def place(self, skill: Estimate | None) -> float | None:
        """Where the bound lies; None where no skill is known that it is a share of."""
        if not self.of_skill:
            return self.at
        return None if skill is None else self.at * skill.value

    def verdict(self, effect: Estimate, skill: Estimate | None = None) -> str:
        """`holds` if the whole interval is on the claimed side, `fails` if none of it is, else `underpowered`. A
        share of a skill is known no better than that skill: it must be so at both ends of the skill's interval. Of
        a strict bound, an interval that is a point on it is on neither side: nothing was seen at all."""
        if effect.low is None or effect.high is None or (self.of_skill and skill is None):
            return UNDERPOWERED
        places = [self.at]
        if skill is not None and self.of_skill:
            places = [self.at * (skill.value if end is None else end) for end in (skill.low, skill.high)]
        strictly = self.side in (">", "<")
        if strictly and effect.low == effect.high and effect.low in places:  # nothing changed in any text
            return UNDERPOWERED
        found = {_MEETS[self.side](end, place) for end in (effect.low, effect.high) for place in places}
        return UNDERPOWERED if len(found) == 2 else HOLDS if found == {True} else FAILS


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
    """The bound's value here, where it follows from the model."""
    skill: Estimate | None = None
    """What the whole model has above chance, where the bound is a share of that."""
    reference: Estimate | None = None
    """The same number of random weights, where that is stored."""
    corrected: bool = False
    """Whether a person's labels correct what a classifier says: it then counts before what the classifier says."""
    parts: int = 1
    """Of how many things it is the largest or smallest."""
    why: str = ""
    """Why there is no interval."""
    note: str = ""
    """What exactly was read: which targets, which tokens."""
    tested: bool = True
    """Whether it counts as a test at all: not, if its own null panel says that findings are none."""

    def void(self, why: str, *, tested: bool = True) -> Evidence:
        """The same number as no evidence: without its interval."""
        return replace(self, effect=self.effect.without_interval(), why=why, tested=tested)


@dataclass(frozen=True)
class Unmet:
    """That a precondition isn't met, and what follows from it."""

    why: str
    tested: bool = True
    """False: the claim is not tested; True: it is, and nothing is decided."""
    bears: bool = True
    """False: the number has nothing to do with the claim, and gets no row."""


class Precondition(Protocol):
    """What must be so for a number to count as evidence. `preconditions.py` has them all."""

    @property
    def says(self) -> str:
        """What must be so, in words."""
        ...

    @property
    def to_hold(self) -> bool:
        """Whether it is asked only where the claim would hold: what isn't there proves nothing by itself."""
        ...

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        """Why it is not so for what was read off a result; None if it is so. `results` are all that are stored."""
        ...


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
    needs: tuple[Precondition, ...] = ()
    """What must be so for a number to be evidence, beside what every claim needs."""

    def bound(self, evidence: Evidence) -> Bound:
        """What is claimed of this number."""
        return self.asks if evidence.at is None else Bound(self.asks.side, evidence.at)

    def verdict(self, evidence: Evidence) -> str:
        if not evidence.tested:
            return NOT_TESTED
        verdict = self.bound(evidence).verdict(evidence.effect, evidence.skill)
        return OF_ONE_TRAINING.get(verdict, verdict) if evidence.runs == 1 else verdict
