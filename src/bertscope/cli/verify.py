"""`bertscope verify`: whether stores, and folders that bertscope wrote, are as they were written. Loads no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from bertscope.cli.answer import print_json
from bertscope.cli.options import STORE
from bertscope.core import seal
from bertscope.core.errors import EXIT_FAILED, UserError
from bertscope.core.owned import strangers_in
from bertscope.core.progress import progress
from bertscope.core.store import Damaged, Store, size_of


@dataclass
class Found:
    """What verifying a store, or a folder that bertscope wrote, found."""

    folder: str
    checked: int | None
    """How many steps, of a store."""
    bytes: int
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong, by step."""
    unfinished: list[str] = field(default_factory=list)
    of_other_versions: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """What bertscope didn't write, and never deletes."""
    marked: bool = True
    """Whether a store has its `store.json`."""


def verify(*folders: Path, store: Path = STORE, json: bool = False) -> None:
    """Check bit by bit that what is stored still matches its seals. Changes nothing.

    Lists what is damaged, what was left unfinished and what isn't bertscope's. A damaged step is never read, and is
    computed again when its question is asked again. Exit code 3 if anything is damaged.

    Parameters
    ----------
    folders
        Stores, or models, results and exports that bertscope wrote; by default the store.
    store
        The folder where results are kept.
    json
        Print what was found as JSON.
    """
    found = [_verified(folder) for folder in folders or (store,)]
    if json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            _tell(one)
    if any(one.damaged for one in found):
        raise SystemExit(EXIT_FAILED)


def _verified(folder: Path) -> Found:
    shelf = Store(folder)
    if shelf.is_marked or shelf.current() or shelf.of_other_versions():
        return _store(shelf)
    if not (folder / seal.FILE).is_file():
        raise UserError(f"{folder} is neither a store nor a folder that bertscope sealed; name one of these")
    wrong = seal.flaw(folder)
    return Found(str(folder), None, size_of(folder), {".": wrong} if wrong else {}, strangers=seal.strangers(folder))


def _store(shelf: Store) -> Found:
    total, strangers = 0, shelf.strangers()
    with progress("steps", len(shelf.current())) as bar:
        damaged = {}
        for one in shelf.verified():
            total += size_of(one.folder)
            if isinstance(one, Damaged):
                damaged[one.folder.name] = one.reason
            strangers += [one.folder / name for name in strangers_in(one.folder)]
            bar.advance(1)
    running = shelf.running()
    return Found(
        str(shelf.folder),
        len(shelf.current()),
        total,
        damaged,
        unfinished=[path.name for path in shelf.unfinished() if path.name not in running],
        of_other_versions=[path.name for path in shelf.of_other_versions()],
        marked=shelf.is_marked,
        strangers=[str(path.relative_to(shelf.folder)) for path in strangers],
    )


def _tell(found: Found) -> None:
    for name, reason in found.damaged.items():
        print(f"damaged     {name}: {reason}")
    for title, names in {
        "unfinished": found.unfinished,
        "other form": found.of_other_versions,
        "not ours": found.strangers,
    }.items():
        for name in names:
            print(f"{title:10}  {name}")
    steps = "" if found.checked is None else "1 step, " if found.checked == 1 else f"{found.checked:,} steps, "
    how = f"{len(found.damaged)} damaged" if found.damaged else "all as it was written"
    unmarked = "" if found.marked else "; store.json is missing, the next run writes it anew"
    print(f"{found.folder}: {steps}{found.bytes / 1e6:,.1f} MB: {how}{unmarked}")
