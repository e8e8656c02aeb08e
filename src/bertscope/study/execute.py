"""Making steps: one alone, or several questions about attention by one pass. Nothing here raises but Ctrl-C."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.errors import UserError, is_full, refused_by_system
from bertscope.core.inputs import KEPT, Inputs
from bertscope.core.locks import Busy
from bertscope.core.provenance import capture
from bertscope.core.step import Root, Step
from bertscope.core.store import ClaimedStep, Store

if TYPE_CHECKING:
    from bertscope.models.stage import Stage


@dataclass(frozen=True)
class Outcome:
    """What came of a step. Plain values: it travels between machines."""

    id: str
    how: Literal["done", "stored", "busy", "failed", "full_disk", "waits"]
    """`waits`: it is being made, and waits for something; the others end it."""
    seconds: float = 0.0
    reason: str = ""
    """Of a failure, or of why it waits, in one line."""
    trace: str = ""
    """Of a bug."""


def make(steps: Sequence[Step], store: Store, inputs: Inputs, *, resume: bool = True) -> list[Outcome]:
    """Make these steps, whose inputs are stored: one, or some that may share a pass."""
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as held:
        claims = []
        for step in steps:
            try:
                claim = held.enter_context(store.claim(step, resume=resume))
            except Busy:
                outcomes[step.id] = Outcome(step.id, "busy")
            except Exception as error:
                outcomes[step.id] = _failure(step, error)
            else:
                outcomes[step.id] = Outcome(step.id, "stored")
                claims += [claim] if claim else []
        tried = _share(claims, inputs) if len(claims) > 1 else [_alone(claim, inputs) for claim in claims]
        outcomes |= {one.id: one for one in tried}
    # What failed half-way may have left a model changed.
    inputs.forget(but=0 if any(one.reason for one in outcomes.values()) else KEPT)
    return list(outcomes.values())


def perform(claim: ClaimedStep, inputs: Mapping[str, Any]) -> None:
    """Answer a claimed step's question for its opened inputs, and store the answer."""
    question = registry.find(claim.step.name)
    config: Any = configs.from_json(question.config, claim.step.config)
    if question.keeps:
        result = question.compute(**inputs, config=config, out=claim.work / question.keeps).result
    else:
        result = question.compute(**inputs, config=config)
    claim.keep(result)


def _alone(claim: ClaimedStep, inputs: Inputs) -> Outcome:
    return _attempt(claim.step, lambda: perform(claim, inputs.of(claim.step)))


def _share(claims: Sequence[ClaimedStep], inputs: Inputs) -> list[Outcome]:
    """Questions about attention, with a pass for all those that read the same."""
    from bertscope.analyses.attention.pass_part import sharing
    from bertscope.models.stage import Stage

    outcomes, parts, rests = [], [], _are_many(claims)
    stage = Stage(claims[0].work.parent, rests=rests)
    for claim in claims:
        part = _Part(claim, stage)
        prepared = _attempt(claim.step, part.prepare, inputs)
        if prepared.how == "done":
            parts.append(part)
        else:
            outcomes.append(prepared)
    try:
        groups = sharing([part.pass_part for part in parts])
    except Exception:  # what is wrong with a question's texts, its own pass says
        groups = [[place] for place in range(len(parts))]
    for group in groups:
        outcomes += _read([parts[place] for place in group], stage, inputs)
    if rests:
        inputs.forget()  # models that rest are of no use to others
    return outcomes


class _Part:
    """A question on its way through a pass."""

    def __init__(self, claim: ClaimedStep, stage: Stage) -> None:
        self.claim, self.seconds, self._stage = claim, 0.0, stage

    def prepare(self, inputs: Inputs) -> None:
        started = time.perf_counter()
        question = registry.find(self.claim.step.name)
        config: Any = configs.from_json(question.config, self.claim.step.config)
        opened = inputs.of(self.claim.step)
        with self._stage.on(_models(opened)):
            self.pass_part = question.part(**opened, config=config)
        held = {id(value.held) for value in self.claim.step.inputs.values() if isinstance(value, Root)}
        self._stage.rest([one for one in self.pass_part.encoders if id(one) not in held])  # users keep theirs
        self.seconds = time.perf_counter() - started

    def finish(self, passed: Any, seconds: float, others: list[str]) -> None:
        started = time.perf_counter()
        with self._stage.on(self.pass_part.encoders):
            result = self.pass_part.finish(passed)
        del self.pass_part  # and all that was kept for it
        self.seconds += seconds + time.perf_counter() - started
        result.provenance = capture(self.seconds) | {"one_pass_with": others} | result.provenance
        self.claim.keep(result)


def _are_many(claims: Sequence[ClaimedStep]) -> bool:
    """Whether they are about so many models that those whose turn it isn't are let go of."""
    from bertscope.analyses.attention.pass_part import TOGETHER

    read = {
        value.id for claim in claims for name, value in claim.step.inputs.items()
        if registry.is_model(registry.find(claim.step.name).input(name).kind)
    }  # fmt: skip
    return len(read) > TOGETHER


def _models(opened: Mapping[str, Any]) -> list[Any]:
    """The models among a step's opened inputs."""
    each = [one for value in opened.values() for one in (value if isinstance(value, list) else [value])]
    return [one for one in each if hasattr(one, "record")]


def _read(parts: Sequence[_Part], stage: Stage, inputs: Inputs) -> list[Outcome]:
    """Parts that agree, by one pass. If that fails, by a pass each: one question's trouble isn't the others'."""
    from bertscope.analyses.attention.pass_part import read_together

    started = time.perf_counter()
    try:
        passed = read_together([part.pass_part for part in parts], stage)
    except Exception:
        return [_after_a_break(part.claim, inputs) for part in parts]
    share = (time.perf_counter() - started) / len(parts)
    outcomes = []
    for part in parts:
        others = [other.claim.step.id for other in parts if other is not part]
        one = _attempt(part.claim.step, part.finish, passed, share, others)
        outcomes.append(replace(one, seconds=part.seconds))
    return outcomes


def _after_a_break(claim: ClaimedStep, inputs: Inputs) -> Outcome:
    """By itself, with models that nobody else has used."""
    inputs.forget()
    return _alone(claim, inputs)


def _attempt(step: Step, work: Callable[..., None], *args: Any) -> Outcome:
    started = time.perf_counter()
    try:
        work(*args)
    except Exception as error:
        return _failure(step, error)
    return Outcome(step.id, "done", time.perf_counter() - started)


def _failure(step: Step, error: Exception) -> Outcome:
    """A user's mistake is its line; of a bug the log keeps the traceback."""
    if isinstance(error, UserError):
        return Outcome(step.id, "full_disk" if is_full(error) else "failed", reason=str(error))
    if refused := refused_by_system(error):
        return Outcome(step.id, "full_disk" if is_full(error) else "failed", reason=refused)
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return Outcome(step.id, "failed", reason=reason, trace=traceback.format_exc())
