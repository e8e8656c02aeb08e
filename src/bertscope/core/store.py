"""The store: a folder of finished steps.

    store/steps/<id>/   a finished step: step.json, result/, and model/ or states/ where the step made one
    store/work/<id>/    a step being made; renamed to steps/<id> when it is whole
    store/locks/        one file per step in progress: two processes never make the same step at once

A step that was killed leaves only its work folder, which the next run takes up (a training) or starts over.

What another version stored in another form is never read: step.json says the form (`format`), and a step that says
another, or none, isn't there for anybody but who deletes it.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core import registry
from bertscope.core.files import explained, settle, sync, write_text
from bertscope.core.result import Result, describe
from bertscope.core.step import FILE as MARKER
from bertscope.core.step import FORMAT, Step, damaged, is_current

DEFAULT = Path("bertscope-store")
"""Where answers are kept if nothing else is said."""
_BEGUN = ".format"
"""In a work folder: the format of what is being made. Gone when it is whole."""


@dataclass(frozen=True)
class Stored:
    """A finished step as `bertscope ls` shows it: no table is read for it."""

    step: Step
    folder: Path
    result: dict[str, Any]
    """The result's description: headline, notes, subject, provenance."""


class Busy(Exception):
    """Another process is making the step."""


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
            for half in set(self.work.glob(".*")) - {self.work / _BEGUN}:  # written by a process that was killed
                half.unlink() if half.is_file() else shutil.rmtree(half)
            settle(self.work)
            marker = {"format": FORMAT} | self.step.to_json()
            write_text(self.work / MARKER, json.dumps(marker, indent=1, ensure_ascii=False))
            # What a deletion that was killed left, or another version made.
            shutil.rmtree(self.target, ignore_errors=True)
            (self.work / _BEGUN).unlink(missing_ok=True)
            self.work.rename(self.target)
            sync(self.target.parent)


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def path(self, step: Step) -> Path:
        return self.folder / "steps" / step.id

    def has(self, step: Step) -> bool:
        """Whether the step is stored, finished and in a form that can be read."""
        return is_current(self.path(step) / MARKER)

    def result(self, step: Step) -> Result:
        """The stored result of a finished step."""
        return Result.load(self.path(step) / "result")

    @contextmanager
    def claim(self, step: Step, *, resume: bool = True) -> Iterator[ClaimedStep | None]:
        """The step to make, while nobody else makes it; None if it is stored by now.

        While somebody else makes it, this raises `Busy`. A process that was killed claims nothing: the system drops
        its locks.
        """
        with self._locked(step):
            if self.has(step):  # somebody else made it meanwhile
                yield None
                return
            work, target = self.folder / "work" / step.id, self.path(step)
            # What fills a folder of its own (a training, hidden states) goes on from what it left.
            if not (registry.find(step.name).keeps and resume and _begun_here(work)):
                shutil.rmtree(work, ignore_errors=True)
            with explained(work):
                for folder in (work, target.parent):
                    folder.mkdir(parents=True, exist_ok=True)
                write_text(work / _BEGUN, str(FORMAT))
            yield ClaimedStep(step, work, target)

    def is_running(self, step: Step) -> bool:
        """Whether some process is making the step now."""
        path = self._lock_of(step)
        return path.exists() and _is_held(path)

    def running(self) -> set[str]:
        """The ids of the steps that some process is making now."""
        return {path.stem for path in (self.folder / "locks").glob("*.lock") if _is_held(path)}

    def finished(self) -> Iterator[Stored]:
        """Every finished step, oldest first. Those of another version's form are left out: `of_other_versions`."""
        for marker in filter(is_current, self._markers()):
            try:
                step = Step.from_json(json.loads(marker.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError) as error:
                raise damaged(marker, error) from error
            yield Stored(step, marker.parent, describe(marker.parent / "result"))

    def of_other_versions(self) -> list[Path]:
        """The folders of finished steps that another version of bertscope stored in another form. They aren't read,
        and can be deleted."""
        return [marker.parent for marker in self._markers() if not is_current(marker)]

    def delete(self, folder: Path) -> None:
        """Delete the folder of a step, finished or left by a run that was killed."""
        # Renamed first: a folder that is half deleted mustn't look like a finished step.
        dying = self.folder / "work" / f"{folder.name}.deleted"
        with explained(folder):
            dying.parent.mkdir(exist_ok=True)
            shutil.rmtree(dying, ignore_errors=True)
            folder.rename(dying)
            shutil.rmtree(dying)

    def _markers(self) -> list[Path]:
        """One for each finished step, the oldest first."""
        return sorted((self.folder / "steps").glob(f"*/{MARKER}"), key=lambda marker: marker.stat().st_mtime_ns)

    def _lock_of(self, step: Step) -> Path:
        return self.folder / "locks" / f"{step.id}.lock"

    @contextmanager
    def _locked(self, step: Step) -> Iterator[None]:
        from filelock import FileLock, Timeout

        path = self._lock_of(step)
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, timeout=0)
            try:
                lock.acquire()
            except Timeout:
                raise Busy(step.id) from None
        try:
            yield
        finally:
            lock.release()


def _begun_here(work: Path) -> bool:
    """Whether what a work folder holds was begun in this version's form, and can be gone on with."""
    begun = work / _BEGUN
    return begun.is_file() and begun.read_text(encoding="utf-8") == str(FORMAT)


def _is_held(lock: Path) -> bool:
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
        return _is_held_by_others(lock)


def _is_held_by_others(lock: Path) -> bool:
    """The same of a lock that we may read alone: a store can be looked at that isn't ours."""
    import fcntl

    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
