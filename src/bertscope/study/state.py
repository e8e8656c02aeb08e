"""What of a study is done, what is running, and what failed. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from bertscope.core.files import write_text
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.runner import Outcome

State = Literal["done", "running", "failed", "waiting"]


def states(steps: Mapping[str, Step], store: Store) -> dict[str, State]:
    """Where each step stands, by its id."""
    now, found = store.running(), dict[str, State]()
    for name, step in steps.items():
        if store.has(step):
            found[name] = "done"
        else:
            found[name] = "running" if name in now else "failed" if _failure(store, name).exists() else "waiting"
    return found


def remember(store: Store, outcome: Outcome) -> None:
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
