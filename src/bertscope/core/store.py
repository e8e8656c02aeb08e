"""The store: a folder of finished steps, and the sequential runner that fills it.

    store/steps/<id>/   a finished step: step.json, result/, and model/ or hidden/ where the step made one
    store/work/<id>/    a step being made; renamed to steps/<id> when it is whole
    store/locks/        one file per step in progress: two processes never make the same step at once

A step that was killed leaves only its work folder, which the next run takes up (a training) or starts over.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.files import explained, settle, sync, write_text
from bertscope.core.inputs import KEPT, Inputs
from bertscope.core.result import Result, describe
from bertscope.core.step import FILE as MARKER
from bertscope.core.step import Step


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

    def perform(self, inputs: Mapping[str, Any]) -> None:
        """Answer the step's question for its opened inputs, and store the answer."""
        question = registry.find(self.step.name)
        config: Any = configs.from_json(question.config, self.step.config)
        if question.keeps:
            result = question(**inputs, config=config, out=self.work / question.keeps).result
        else:
            result = question(**inputs, config=config)
        self.keep(result)

    def keep(self, result: Result) -> None:
        """Store the finished step with this result: whole, or not at all."""
        result.save(self.work / "result")
        with explained(self.target):
            for half in self.work.glob(".*"):  # written by a process that was killed
                half.unlink() if half.is_file() else shutil.rmtree(half)
            settle(self.work)
            write_text(self.work / MARKER, json.dumps(self.step.to_json(), indent=1, ensure_ascii=False))
            shutil.rmtree(self.target, ignore_errors=True)  # what a deletion that was killed left
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
        return (self.path(step) / MARKER).exists()

    def result(self, step: Step) -> Result:
        """The stored result of a finished step."""
        return Result.load(self.path(step) / "result")

    def run(
        self,
        step: Step,
        *,
        announce: Callable[[Step, bool], None] | None = None,
        resume: bool = True,
        inputs: Inputs | None = None,
    ) -> Path:
        """The folder of the finished step; whatever it needs and isn't stored is made first.

        `announce` is told of each step as its turn comes, and whether it was stored already. `resume=False` starts
        what is unfinished over. `inputs` may have some of what the steps read open already.
        """
        stored, inputs = self.has(step), inputs or Inputs(self.path)
        if not stored:
            for needed in step.before():
                self.run(needed, announce=announce, resume=resume, inputs=inputs)
        if announce:
            announce(step, stored)
        if not stored:
            with self.claim(step, resume=resume) as claim:
                if claim is not None:
                    claim.perform(inputs.of(step))
                    inputs.forget(but=KEPT)
        return self.path(step)

    @contextmanager
    def claim(self, step: Step, *, resume: bool = True, wait: bool = True) -> Iterator[ClaimedStep | None]:
        """The step to make, while nobody else makes it; None if it is stored by now.

        While somebody else makes it, this waits, or raises `Busy`. A process that was killed claims nothing: the
        system drops its locks.
        """
        with self._locked(step, wait):
            if self.has(step):  # somebody else made it meanwhile
                yield None
                return
            work, target = self.folder / "work" / step.id, self.path(step)
            # What fills a folder of its own (a training, hidden states) goes on from what it left.
            if not (registry.find(step.name).keeps and resume):
                shutil.rmtree(work, ignore_errors=True)
            with explained(work):
                for folder in (work, target.parent):
                    folder.mkdir(parents=True, exist_ok=True)
            yield ClaimedStep(step, work, target)

    def is_running(self, step: Step) -> bool:
        """Whether some process is making the step now."""
        path = self._lock_of(step)
        return path.exists() and _is_held(path)

    def running(self) -> set[str]:
        """The ids of the steps that some process is making now."""
        return {path.stem for path in (self.folder / "locks").glob("*.lock") if _is_held(path)}

    def finished(self) -> Iterator[Stored]:
        """Every finished step, oldest first."""
        markers = sorted((self.folder / "steps").glob(f"*/{MARKER}"), key=lambda marker: marker.stat().st_mtime_ns)
        for marker in markers:
            try:
                step = Step.from_json(json.loads(marker.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{marker} is damaged ({error}); delete {marker.parent} and run again") from error
            yield Stored(step, marker.parent, describe(marker.parent / "result"))

    def delete(self, folder: Path) -> None:
        """Delete the folder of a step, finished or left by a run that was killed."""
        # Renamed first: a folder that is half deleted mustn't look like a finished step.
        dying = self.folder / "work" / f"{folder.name}.deleted"
        with explained(folder):
            dying.parent.mkdir(exist_ok=True)
            shutil.rmtree(dying, ignore_errors=True)
            folder.rename(dying)
            shutil.rmtree(dying)

    def _lock_of(self, step: Step) -> Path:
        return self.folder / "locks" / f"{step.id}.lock"

    @contextmanager
    def _locked(self, step: Step, wait: bool) -> Iterator[None]:
        from filelock import FileLock, Timeout

        path = self._lock_of(step)
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, timeout=-1 if wait else 0)
            try:
                lock.acquire()
            except Timeout:
                raise Busy(step.id) from None
        try:
            yield
        finally:
            lock.release()


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
