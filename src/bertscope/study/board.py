"""Where every step of a run stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bertscope.core.errors import EXIT_FAILED
from bertscope.core.step import Step


@dataclass
class RunOutcome:
    """How a run ended: what became of each step, by id, and why."""

    done: dict[str, str] = field(default_factory=dict)
    """Made by this run."""
    stored: dict[str, str] = field(default_factory=dict)
    """Stored already, or made by another process meanwhile."""
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Not tried: something that they need failed."""

    @property
    def exit_code(self) -> int:
        return EXIT_FAILED if self.failed else 0


class Board:
    """The steps that are still to be made, and what became of the others."""

    def __init__(self, steps: Mapping[str, Step], stored: Iterable[str]) -> None:
        self.steps = dict(steps)
        self.outcome = RunOutcome(stored=dict.fromkeys(stored, "stored"))
        self._running: set[str] = set()
        self.slots = 1
        """How many jobs are made at a time."""
        self._waiting = self.steps.keys() - self.outcome.stored.keys()

    @property
    def waiting(self) -> list[Step]:
        """The steps that wait, in the order of the plan."""
        return [step for at, step in self.steps.items() if at in self._waiting]

    @property
    def running(self) -> list[Step]:
        """The steps that this run is making."""
        return [step for at, step in self.steps.items() if at in self._running]

    def ready(self) -> list[Step]:
        """The waiting steps that can be made now."""
        there = self.outcome.done.keys() | self.outcome.stored.keys()
        return [step for step in self.waiting if all(needed.id in there for needed in step.before())]

    def start(self, step: Step) -> None:
        self._waiting.remove(step.id)
        self._running.add(step.id)

    def put_back(self, step: Step) -> None:
        """Another process is making it: it waits on."""
        self._running.remove(step.id)
        self._waiting.add(step.id)

    def finish(self, step: Step, seconds: float) -> None:
        self._running.remove(step.id)
        self.outcome.done[step.id] = f"made in {seconds:.1f} s"

    def find(self, step: Step) -> None:
        """Another process made it."""
        self._waiting.discard(step.id)
        self._running.discard(step.id)
        self.outcome.stored[step.id] = "made by another process"

    def fail(self, step: Step, reason: str) -> list[Step]:
        """Mark the step as failed, and everything that needs it as skipped. Gives those that are skipped."""
        self._running.remove(step.id)
        self.outcome.failed[step.id] = reason
        lost, skipped = {step.id}, []
        for one in self.waiting:  # what a step needs comes before it
            if lost & {needed.id for needed in one.before()}:
                lost.add(one.id)
                skipped.append(one)
                self.outcome.skipped[one.id] = f"needs {step.id}, which failed"
        self._waiting -= lost
        return skipped
