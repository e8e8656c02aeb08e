"""What of a store no study needs any more, and its deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.step import Step, graph
from bertscope.core.store import Store, size_of
from bertscope.study.claims.question import claims
from bertscope.study.file import Study


@dataclass(frozen=True)
class Waste:
    """A step's folder that no study needs: finished, or left by a run that was killed."""

    folder: Path
    size: int
    """In bytes."""


def unneeded(store: Store, studies: Iterable[Study]) -> list[Waste]:
    """The steps in the store that none of these studies rests on, the largest first."""
    needed = _needed(studies)
    needed |= {one.step.id for one in store.finished() if one.step.name == claims.name and _over(one.step) <= needed}
    others = store.of_other_versions()
    needed -= {folder.name for folder in others}
    folders = [*others, *(one.folder for one in store.look()), *store.unfinished()]
    waste = [Waste(path, size_of(path)) for path in folders if path.name not in needed]
    return sorted(waste, key=lambda one: (-one.size, one.folder.name))


def delete_unneeded(store: Store, studies: Sequence[Study]) -> list[Waste]:
    """Delete them; refused while one of them is being made, since it may need others of them."""
    if now := sorted(store.running() - _needed(studies)):
        raise UserError(
            f"{now[0]} is running, and none of these studies needs it; wait for it, or name its study too"
        )
    waste = unneeded(store, studies)
    store.refuse_deleting(one.folder for one in waste)
    for one in waste:
        store.delete(one.folder)
    return waste


def _needed(studies: Iterable[Study]) -> set[str]:
    return {name for study in studies for name in graph(study.steps)}


def _over(ledger: Step) -> set[str]:
    """What a ledger of claims rests on: it is needed as long as all of that is."""
    return {value.id for value in ledger.inputs.values()}
