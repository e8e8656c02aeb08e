"""The store: a folder of finished steps.

    store/store.json    marks the folder as a store of ours, and tells it from every other one
    store/steps/<id>/   a finished step: step.json, result/, and model/ or states/ where the step made one; seal.json
    store/work/<id>/    a step being made; sealed and renamed to steps/<id> when it is whole
    store/locks/        one file per step in progress: two processes never make the same step at once; in room/, what
                        each worker needs of a GPU

A step that was killed leaves only its work folder, which the next run takes up (a training) or starts over.

A stored step is what its seal says, or it is damaged: listed with what is wrong, never read, and made again when it
is asked for. What another version stored in another form is never read either: step.json says the form (`format`).
Whatever else lies in the folder isn't ours, and is never deleted.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core import folders, owned, registry, seal
from bertscope.core.errors import UserError
from bertscope.core.files import explained, settle, sync, write_text
from bertscope.core.locks import held, is_held
from bertscope.core.owned import BEGUN, is_step, is_work, step_in
from bertscope.core.result import MARKER as RESULT
from bertscope.core.result import Result, describe
from bertscope.core.scratch import is_scratch
from bertscope.core.step import FILE as MARKER
from bertscope.core.step import FORMAT, Step, format_of, is_current
from bertscope.core.threads import allowed_threads

DEFAULT = Path("bertscope-store")
"""Where answers are kept if nothing else is said."""
_LISTED, _RESULT = (MARKER, f"result/{RESULT}"), (MARKER, "result")
"""Of a stored step, what is read to list it, and to show it."""


@dataclass(frozen=True)
class Stored:
    """A finished step as `bertscope ls` shows it: no table is read for it."""

    step: Step
    folder: Path
    result: dict[str, Any]
    """The result's description: headline, notes, subject, provenance."""


@dataclass(frozen=True)
class Damaged:
    """A stored step that isn't as it was stored."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class ClaimedStep:
    """A step that this process alone is making."""

    step: Step
    work: Path
    """Where it is made."""
    target: Path
    """Where it will be stored."""

    def keep(self, result: Result) -> None:
        """Store the finished step with this result: whole, or not at all."""
        result.save(self.work / "result")
        with explained(self.target):
            for half in [*self.work.rglob(".*")]:  # written by a process that was killed
                if half != self.work / BEGUN and (half.parent == self.work or is_scratch(half)):
                    shutil.rmtree(half) if half.is_dir() else half.unlink(missing_ok=True)
            marker = {"format": FORMAT} | self.step.to_json()
            write_text(self.work / MARKER, json.dumps(marker, indent=1, ensure_ascii=False))
            settle(self.work)
            seal.write(self.work, self.step.id)
            self.put_in_place()

    def put_in_place(self) -> None:
        """Make what is whole in the work folder the stored step."""
        with explained(self.target):
            owned.remove(self.target)  # damaged, or another version's
            (self.work / BEGUN).unlink(missing_ok=True)
            folders.move(self.work, self.target)
            sync(self.target.parent)


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def path(self, step: Step) -> Path:
        return self.folder / "steps" / step.id

    @property
    def is_marked(self) -> bool:
        """Whether the folder is a store that we made."""
        return bool(self.token)

    @property
    def token(self) -> str:
        """What tells this store from every other one, wherever it is seen from; nothing where there is no store."""
        return folders.store_token(self.folder)

    def mark(self) -> None:
        """Make the folder a store, if it isn't one yet."""
        if not self.is_marked:
            # Of several processes that begin at once the first one's token stays; one that can't be read is replaced.
            unreadable = (self.folder / folders.STORE).exists()
            write_text(
                self.folder / folders.STORE, json.dumps({"store": secrets.token_hex(16)}) + "\n", replace=unreadable
            )

    @contextmanager
    def marked_run(self) -> Iterator[str]:
        """A name that only this store knows, as long as the block lasts: a copy of it has the same token."""
        self.mark()
        run = secrets.token_hex(8)
        write_text(self.folder / "runs" / run, "")
        try:
            yield run
        finally:
            (self.folder / "runs" / run).unlink(missing_ok=True)

    def sees_run(self, run: str) -> bool:
        return (self.folder / "runs" / run).is_file()

    def has(self, step: Step) -> bool:
        """Whether the step is stored, finished, in a form that can be read, and as far as sizes tell as it was."""
        folder = self.path(step)
        return is_current(folder / MARKER) and not seal.flaw(folder, step.id, within=())

    def is_whole(self, step: Step) -> bool:
        """Whether a stored step is as it was stored, to the last bit. What isn't isn't there from then on."""
        return not seal.flaw(self.path(step), step.id)

    def result(self, step: Step) -> Result:
        """The stored result of a finished step."""
        return Result.load(self.path(step) / "result")

    @contextmanager
    def claim(self, step: Step, *, resume: bool = True) -> Iterator[ClaimedStep | None]:
        """The step to make, while nobody else makes it; None if it is stored by now.

        While somebody else makes it, this raises `Busy`. A process that was killed claims nothing: the system drops
        its locks.
        """
        with held(self._lock_of(step)):
            if self.has(step) and self.is_whole(step):  # somebody else made it meanwhile
                yield None
                return
            work, target = self.folder / "work" / step.id, self.path(step)
            for folder in (work, target):
                owned.refuse_strangers(folder)  # before hours are spent on what couldn't be put there
            claimed = ClaimedStep(step, work, target)
            if not seal.flaw(work, step.id):  # whole, of a process that couldn't put it in place any more
                claimed.put_in_place()
                yield None
                return
            # What fills a folder of its own (a training, hidden states) goes on from what it left.
            if not (registry.find(step.name).keeps and resume and _begun_here(work)):
                owned.remove(work)
            with explained(work):
                for folder in (work.parent, target.parent):
                    folder.mkdir(parents=True, exist_ok=True)
                self.mark()
                owned.begin(work, str(FORMAT))
            yield claimed

    def is_running(self, step: Step) -> bool:
        """Whether some process is making the step now."""
        path = self._lock_of(step)
        return path.exists() and is_held(path)

    def running(self) -> set[str]:
        """The ids of the steps that some process is making now."""
        return {path.stem for path in (self.folder / "locks").glob("*.lock") if is_held(path)}

    def finished(self, *, results: bool = False) -> Iterator[Stored]:
        """Every finished step, oldest first. Those that are `damaged` are left out, and those `of_other_versions`.
        What is read to list a step is compared with its seal; for who reads them, whole `results`."""
        return (one for one in self.look(_RESULT if results else _LISTED) if isinstance(one, Stored))

    def damaged(self, *, results: bool = False) -> list[Damaged]:
        """The stored steps that aren't as they were stored, as far as listing them, or reading their `results`,
        tells."""
        return [one for one in self.look(_RESULT if results else _LISTED) if isinstance(one, Damaged)]

    def verified(self) -> Iterator[Stored | Damaged]:
        """Every stored step of this version's form, compared with its seal to the last bit."""
        with ThreadPoolExecutor(allowed_threads()) as pool:  # digests let other threads run
            found = pool.map(lambda folder: _looked_at(folder, None), self.current())
            yield from (one for one in found if one.folder.exists())

    def look(self, within: tuple[str, ...] = _LISTED) -> Iterator[Stored | Damaged]:
        """Every stored step of this version's form, oldest first, with these of its files compared with its seal."""
        found = (_looked_at(folder, within) for folder in self.current())
        return (one for one in found if one.folder.exists())  # another process may have deleted it meanwhile

    def current(self) -> list[Path]:
        """The folders of stored steps of this version's form, whole or damaged, the oldest first."""
        return [folder for folder in self._steps() if not _of_other_version(folder)]

    def of_other_versions(self) -> list[Path]:
        """The folders of finished steps that another version of bertscope stored in another form. They aren't read,
        and can be deleted."""
        return [folder for folder in self._steps() if _of_other_version(folder)]

    def unfinished(self) -> list[Path]:
        """The work folders of steps, being made or left by a run that was killed."""
        return [path for path in self._within("work") if is_work(path)]

    def strangers(self) -> list[Path]:
        """What lies where steps do and isn't ours: it is never deleted. A folder without any file is nobody's."""
        ours = {*self._steps(), *self.unfinished()}
        return [
            path for place in ("steps", "work") for path in self._within(place)
            if path not in ours and not is_scratch(path) and (path.is_file() or seal.files_in(path, empty=True))
        ]  # fmt: skip

    def refuse_deleting(self, steps: Iterable[Path]) -> None:
        """Refuse, before any is deleted, to delete folders of which one isn't ours, or holds anything else."""
        for folder in steps:
            if not self.is_marked and step_in(folder) is None:
                raise UserError(
                    f"{self.folder} is no store of bertscope (no {folders.STORE} in it), and {folder.name} no step; "
                    "nothing was deleted"
                )
            owned.refuse_strangers(folder)

    def delete(self, folder: Path) -> None:
        """Delete the folder of a step, finished or left by a run that was killed; one that holds anything else is
        refused."""
        self.refuse_deleting([folder])
        with explained(folder):
            owned.delete(folder, self.folder / "work")

    def _steps(self) -> list[Path]:
        """The folders of stored steps, whole or damaged, of whatever version, the oldest first."""
        found = [path for path in self._within("steps") if is_step(path)]
        return sorted(found, key=lambda path: (_written(path), path.name))

    def _within(self, place: str) -> list[Path]:
        try:
            return sorted((self.folder / place).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _lock_of(self, step: Step) -> Path:
        return self.folder / "locks" / f"{step.id}.lock"


def _of_other_version(folder: Path) -> bool:
    """Whether a step is whole as far as can be told, and of a form that this version can't read."""
    if (folder / seal.FILE).is_file() and seal.flaw(folder, within=(MARKER,)):
        return False  # damaged, whatever step.json says now
    found = format_of(folder / MARKER)
    return found is not None and found != FORMAT


def _looked_at(folder: Path, within: tuple[str, ...] | None) -> Stored | Damaged:
    reason = seal.flaw(folder, folder.name, within=within)
    step = None if reason else step_in(folder)
    if step is None:
        return Damaged(folder, reason or f"{MARKER} is of another step")
    try:
        return Stored(step, folder, describe(folder / "result"))
    except UserError as error:  # it was deleted or changed while we looked
        return Damaged(folder, str(error))


def size_of(folder: Path) -> int:
    """How many bytes a folder holds."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _written(folder: Path) -> int:
    """When a step was stored."""
    try:
        return (folder / MARKER).stat().st_mtime_ns
    except OSError:
        return 0


def _begun_here(work: Path) -> bool:
    """Whether what a work folder holds was begun in this version's form, and can be gone on with."""
    begun = work / BEGUN
    return begun.is_file() and begun.read_text(encoding="utf-8") == str(FORMAT)
