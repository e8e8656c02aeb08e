"""What must be so for a stored number to be evidence of a claim. `study/claims/measure.py` asks each, in one place;
what reads a number off a result asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core import null_panel
from bertscope.core.equivalence import allowing_for_few
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.study.claims.records.claim import HOLDS, Bound, Claim, Evidence, Unmet
from bertscope.study.claims.records.evidence import (
    fine_tuned_from,
    first_model,
    held_still,
    studied,
    task_corpus,
    taught,
)

if TYPE_CHECKING:
    from bertscope.core.result import Result

_ELSEWHERE = Unmet("", bears=False)


class _Always:
    """Asked of every number."""

    to_hold: ClassVar[bool] = False


class _ToHold:
    """Asked only where the claim would hold."""

    to_hold: ClassVar[bool] = True


@dataclass(frozen=True)
class PanelPasses(_Always):
    """The result's own null panel, where there is one, finds no more than chance would. Every claim needs it."""

    says: ClassVar[str] = "the null panel doesn't fail"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        return Unmet(f"its {null_panel.in_words(result)}", tested=False) if null_panel.fails(result) else None


@dataclass(frozen=True)
class TunedFromFirst(_Always):
    """It is about what fine-tuning did: the model was fine-tuned from the first one, and that is recorded."""

    says: ClassVar[str] = "the model was fine-tuned from the first one"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        first, model = first_model(result), evidence.model
        tuned = None if model is None else fine_tuned_from(model, first)
        if tuned is False:
            return _ELSEWHERE
        if model is None or tuned is None:
            base = model.origin.base if model and model.origin else None
            if base:
                return Unmet(f"it is said to come from {base.name}, which isn't known to be this {first.name}")
            return Unmet("what it was fine-tuned from isn't recorded; say it with --base")
        return (
            Unmet("layers were frozen or left out: what could move was chosen") if held_still(model, first) else None
        )


@dataclass(frozen=True)
class NotTaught(_Always):
    """The model was not trained on what it is asked for."""

    what: str

    @property
    def says(self) -> str:
        return f"the model was not trained on {self.what}"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        return _ELSEWHERE if evidence.model and taught(evidence.model) == self.what else None


@dataclass(frozen=True)
class OneIsItsTask(_Always):
    """Of two corpora exactly one is what the model was fine-tuned on."""

    says: ClassVar[str] = "exactly one of the two corpora is the task's"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        known = evidence.model and task_corpus(result, evidence.model)
        return None if known else Unmet("which of the two corpora it was fine-tuned on isn't recorded")


@dataclass(frozen=True)
class Studied(_Always):
    """The model is one that the papers speak of: pretrained, perhaps fine-tuned; not random, not trained otherwise
    than on a task."""

    says: ClassVar[str] = "the model is pretrained, perhaps fine-tuned"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        return None if evidence.model is None or studied(evidence.model) else _ELSEWHERE


@dataclass(frozen=True)
class PlainAttention(_Always):
    """It is about attention itself, not weighted by what it carries."""

    says: ClassVar[str] = "attention isn't weighted"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        return _ELSEWHERE if is_weighted(result) else None


@dataclass(frozen=True)
class AboveChance(_Always):
    """The whole model does its task: what one at chance can do without shows nothing, and where that isn't known,
    nothing is known."""

    says: ClassVar[str] = "the whole model is clearly above chance"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        skill = evidence.skill
        if skill is None:
            return Unmet("what the whole model has above chance isn't stored; ask ablate of the same model and task")
        lowest = skill.value if skill.low is None else skill.low
        if lowest > 0:
            return None
        return Unmet("the whole model is not clearly above chance: what it can lose or do without shows nothing")


@dataclass(frozen=True)
class EnoughSeeds(_Always):
    """It is about training, and rests on enough of them for an interval."""

    says: ClassVar[str] = f"there are {ENOUGH_RUNS} trainings or more"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        runs = evidence.runs or 0
        if runs >= ENOUGH_RUNS:
            return None
        trainings = "1 training" if runs == 1 else f"{runs} trainings"
        return Unmet(f"{trainings}; an interval over trainings needs {ENOUGH_RUNS} seeds")


@dataclass(frozen=True)
class Counted(_Always):
    """It rests on at least so many of something."""

    least: int
    what: str
    parts: bool = False
    """Whether those are the things that the largest was looked for among, and not what was resampled."""

    @property
    def says(self) -> str:
        return f"there are {self.least} {self.what} or more"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        found = evidence.parts if self.parts else evidence.n or 0
        return None if found >= self.least else Unmet(f"{found} {self.what}; at least {self.least} are needed")


@dataclass(frozen=True)
class Power(_ToHold):
    """There are enough texts for a loss as large as the margin to be seen: the claim holds as well with the least
    width that an interval over so many texts can have. Where no answer changes, a bootstrap's is a point, and so is
    one over trainings."""

    says: ClassVar[str] = "there are enough texts to see a loss as large as the margin"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        if not evidence.n:
            return Unmet("how many texts it rests on isn't stored")
        wider = allowing_for_few(evidence.effect, evidence.n, evidence.parts)
        if claim.bound(evidence).verdict(wider, evidence.skill) == HOLDS:
            return None
        furthest = wider.high if claim.asks.side in ("<", "<=") else wider.low
        return Unmet(f"{evidence.n} texts are so few that an effect of {furthest:.3g} is possible")


@dataclass(frozen=True)
class BeyondRandomWeights(_ToHold):
    """It is about what training made: where the same number of random weights is stored, it is beyond that one."""

    says: ClassVar[str] = "random weights, where they were measured, don't show as much"

    def unmet(self, claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Unmet | None:
        reference = evidence.reference
        if reference is None:
            return None
        if not reference.sure:  # a number without its error is taken as it is
            reference = Estimate(reference.value, reference.value, reference.value)
        beyond = Bound(">" if claim.asks.side in (">", ">=") else "<", 0.0)  # as much isn't more
        if beyond.verdict(evidence.effect - reference) == HOLDS:
            return None
        return Unmet(f"the effect isn't clearly beyond that of random weights: {reference.value:.3g}")
