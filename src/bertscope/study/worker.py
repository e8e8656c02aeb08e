"""What a worker does, on this machine or another: it makes the steps whose JSON it is given, in the store that it is
told of. Steps come in and outcomes go out as plain values, never a tensor: everyone sees the same folder."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from bertscope.core.inputs import Inputs
from bertscope.core.progress import no_bars
from bertscope.core.room import shared
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.execute import Outcome, make

_opened: dict[str, Inputs] = {}
"""What this worker has open, by the store's path: it serves from job to job."""


def work(
    records: list[dict[str, Any]],
    folder: str,
    token: str,
    resume: bool,
    run: str = "",
    tell: Callable[[list[dict[str, Any]]], None] = lambda records: None,
) -> list[dict[str, Any]]:
    """Make these steps in the store at `folder`, if that is the one with this token and, where it is told, in which
    this run goes on. Outcomes that aren't their end are for `tell`."""
    steps = [Step.from_json(record) for record in records]
    store = Store(folder)
    if store.token == token and (not run or store.sees_run(run)):

        def say(why: str) -> None:
            tell([asdict(Outcome(steps[0].id, "waits", reason=why))])

        with no_bars(), shared(store.folder / "locks" / "room", say):
            inputs = _opened.setdefault(folder, Inputs(store.path))
            outcomes = make(steps, store, inputs, resume=resume)
            _give_back_memory()
    else:
        outcomes = failed(
            steps,
            f"the worker on {socket.gethostname()} sees another folder at {folder} than the one who runs this; "
            "mount the same store there",
        )
    return [asdict(outcome) for outcome in outcomes]


def _give_back_memory() -> None:
    """Let others have what this process has of a GPU's memory and doesn't use."""
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()


def failed(job: Sequence[Step], reason: str) -> list[Outcome]:
    """Of a job that nobody could make."""
    return [Outcome(step.id, "failed", reason=" ".join(reason.split())) for step in job]
