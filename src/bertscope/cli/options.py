"""Options that several commands share."""

from __future__ import annotations

import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core.progress import telling, verbosity
from bertscope.core.store import DEFAULT as STORE
from bertscope.core.store import Store


def tell_what_is_skipped(*stores: Store | Path, results: bool = False) -> None:
    """Say once, on standard error, how many steps of a store aren't read: another version wrote them, or they aren't
    as they were stored, as far as listing them, or reading their `results`, tells."""
    if verbosity() == "quiet":
        return
    for store in stores:
        store = store if isinstance(store, Store) else Store(store)
        if count := len(store.of_other_versions()):
            which = f"{count} steps" if count > 1 else "1 step"
            cure = f"'bertscope rm --other-versions{in_store(store.folder)} --yes' deletes them"
            print(f"skipped {which} of an earlier version in {store.folder}; {cure}", file=sys.stderr)
        if bad := store.damaged(results=results):
            which = f"{len(bad)} damaged steps" if len(bad) > 1 else "1 damaged step"
            first = f"{bad[0].folder.name}: {bad[0].reason}"
            cure = "a damaged step is made again when its question is asked again"
            print(f"skipped {which} in {store.folder} ({first}); {cure}", file=sys.stderr)


def in_store(store: Path) -> str:
    """The end of a command that is asked of this store, to be copied.

    >>> in_store(Path("bertscope-store")), in_store(Path("my store"))
    ('', " --store 'my store'")
    """
    return "" if store == STORE else f" --store {shlex.quote(str(store))}"


def quiet_beside_json(json: bool) -> AbstractContextManager[None]:
    """Who reads JSON wants no lines beside it, unless --verbose asks for them."""
    return telling("quiet") if json and verbosity() == "normal" else nullcontext()


def default_in_words(value: Any) -> str | None:
    """A default as help prints it; None where it is nothing, or off.

    >>> [default_in_words(value) for value in (("head", "mlp"), 0.1, 0, True, False, (), "", None)]
    ['head mlp', '0.1', '0', 'on', None, None, None, None]
    """
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    return None if value in (None, "") or value is False else "on" if value is True else str(value)


@dataclass(frozen=True)
class ModelOptions:
    """How models are read."""

    base: str | None = None
    """What a model was fine-tuned from, if its own files don't say: a folder, or a hub id."""


@dataclass(frozen=True)
class RunOptions:
    """Where results go."""

    store: Path = STORE
    """The folder where results are kept and found again."""
    out: Path | None = None
    """Also write the result here (finetune, pretrain, shrink: the model; states: the states)."""
    resume: bool = True
    """Continue what was killed where it last saved (a training: its last finished epoch); --no-resume starts over."""
    json: bool = False
    """Print the answer as JSON: its numbers and models by key, its notes, and where it came from."""


@dataclass(frozen=True)
class ShardOptions:
    """How many share the work."""

    shards: str | None = None
    """Split the texts into this many parts (64), or into parts of this size (64MB). Each is a step of its own, and
    the results are added up: for a corpus of any size."""
    workers: int = 0
    """Run these steps in this many processes on this machine; 0 runs them one after the other in this process."""
