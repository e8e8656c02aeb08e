"""What of a study is done, what is running, and how long the rest may take. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from bertscope.core.files import write_text
from bertscope.core.step import Root, Step
from bertscope.core.store import Store
from bertscope.study.runner import Outcome

State = Literal["done", "running", "failed", "waiting"]


@dataclass(frozen=True)
class Estimate:
    """How long a step may take."""

    seconds: float
    steps: int
    """How many stored steps of the same question it is the median of."""
    like: Literal["of the same models and data", "of the same models", "of other models"]
    """Which of them."""


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


def estimates(steps: Iterable[Step], store: Store) -> dict[str, Estimate]:
    """How long each step may take, by its id: the median of the stored steps of the same question that are most like
    it. Steps of a question that was never answered in this store have none."""
    past: dict[str, list[tuple[Step, float]]] = {}
    for stored in store.finished():
        seconds = stored.result["provenance"].get("seconds")
        if seconds is not None:
            past.setdefault(stored.step.name, []).append((stored.step, seconds))
    found = {}
    for step in steps:
        alike = past.get(step.name, [])
        models, everything = _roots(step, "model"), _roots(step)
        for like, some in (
            ("of the same models and data", [took for other, took in alike if _roots(other) == everything]),
            ("of the same models", [took for other, took in alike if _roots(other, "model") == models]),
            ("of other models", [took for _, took in alike]),
        ):
            if some:
                found[step.id] = Estimate(median(some), len(some), like)  # type: ignore[arg-type]
                break
    return found


def _roots(step: Step, kind: str | None = None) -> frozenset[str]:
    """What a step rests on in the end: the ids of its models and data, or of those of one kind."""
    found = set[str]()
    for value in step.inputs.values():
        if isinstance(value, Root):
            found |= {value.id} if kind in (None, value.kind) else set()
        else:
            found |= _roots(value, kind)
    return frozenset(found)
