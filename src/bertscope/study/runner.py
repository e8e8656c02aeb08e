"""Runs steps one after the other. To be replaced by the runner with workers, which is called in the same way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bertscope.core.errors import UserError
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.graph import graph


@dataclass
class Outcome:
    """What became of each step, by its id."""

    done: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        return 3 if self.failed else 0


def run_steps(
    steps: Sequence[Step],
    store: Store,
    *,
    workers: int = 0,
    cluster: str | None = None,
    resume: bool = True,
    page: Callable[[], None] | None = None,
) -> Outcome:
    """Make what isn't stored. A step that fails takes only those with it that need its answer."""
    if workers or cluster:
        raise UserError("--workers and --cluster aren't there yet; leave them out")
    outcome = Outcome()
    for name, step in graph(steps).items():
        missing = next((one.id for one in step.before() if one.id in outcome.failed | outcome.skipped), None)
        if store.has(step):
            outcome.stored[name] = ""
        elif missing:
            outcome.skipped[name] = f"{missing} failed"
        else:
            print(f"running  {name}", file=sys.stderr)
            try:
                store.run(step, resume=resume)
                outcome.done[name] = ""
            except Exception as error:
                outcome.failed[name] = " ".join(str(error).split()) or type(error).__name__
                print(f"failed   {name}: {outcome.failed[name]}", file=sys.stderr)
    if page and outcome.done:
        page()
    return outcome
