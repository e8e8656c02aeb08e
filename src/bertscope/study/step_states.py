"""What of a study is done, what is running, and what failed. Loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from bertscope.core.files import write_text
from bertscope.core.step import Step, graph
from bertscope.core.store import Store
from bertscope.study.runner import RunOutcome

State = Literal["done", "running", "failed", "waiting", "not_needed"]
IN_WORDS: dict[State, str] = {state: state.replace("_", " ") for state in get_args(State)}


def states(steps: Sequence[Step], store: Store) -> dict[str, State]:
    """Where each of these steps, and of those they rest on, stands, by its id. One that isn't stored, while all that
    was made of it is, isn't needed."""
    now, needed = store.running(), graph(steps, store.has)

    def state(name: str, step: Step) -> State:
        if store.has(step):
            return "done"
        if name in now:
            return "running"
        if name not in needed:
            return "not_needed"
        return "failed" if _failure(store, name).exists() else "waiting"

    return {name: state(name, step) for name, step in graph(steps).items()}


def remember(store: Store, outcome: RunOutcome) -> None:
    """Keep why steps failed, until they are done."""
    for name, reason in outcome.failed.items():
        write_text(_failure(store, name), reason + "\n")
    for name in (*outcome.done, *outcome.stored):
        _failure(store, name).unlink(missing_ok=True)


def failures(store: Store) -> dict[str, str]:
    """Why steps failed, by their ids."""
    return {path.stem: path.read_text(encoding="utf-8").strip() for path in (store.folder / "failed").glob("*.txt")}


def _failure(store: Store, name: str) -> Path:
    return store.folder / "failed" / f"{name}.txt"
