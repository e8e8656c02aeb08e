"""What of a study is done, what is running, and what failed. Loads no torch."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from bertscope.core.errors import UserError
from bertscope.core.files import write_text
from bertscope.core.step import Step, graph
from bertscope.core.store import Store

State = Literal["done", "running", "failed", "waiting", "not_needed"]
IN_WORDS: dict[State, str] = {state: state.replace("_", " ") for state in get_args(State)}
_FAILED = "failed"
"""The folder in a store with why steps failed."""


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


def keep_failure(store: Store, name: str, reason: str) -> None:
    """Keep why a step failed, until it is done. A note that can't be written is no reason to stop."""
    with suppress(UserError, OSError):
        write_text(_failure(store, name), reason + "\n")


def forget_failures(store: Store, done: Container[str]) -> None:
    """Of steps that are done by now."""
    with suppress(OSError):
        for path in (store.folder / _FAILED).glob("*.txt"):
            if path.stem in done:
                path.unlink(missing_ok=True)


def failures(store: Store) -> dict[str, str]:
    """Why steps failed, by their ids."""
    found = {}
    for path in (store.folder / _FAILED).glob("*.txt"):
        with suppress(FileNotFoundError):  # another process has made it meanwhile
            found[path.stem] = path.read_text(encoding="utf-8").strip()
    return found


def _failure(store: Store, name: str) -> Path:
    return store.folder / _FAILED / f"{name}.txt"
