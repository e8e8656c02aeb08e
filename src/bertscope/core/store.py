"""The store: a folder of finished steps, and the sequential runner that fills it.

    store/steps/<id>/   a finished step: step.json, result/, and model/ or hidden/ where the step made one
    store/work/<id>/    a step being made; renamed to steps/<id> when it is whole
    store/locks/        one file per step in progress: two processes never make the same step at once

A step that was killed leaves only its work folder, which the next run takes up (a training) or starts over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core import config as configs
from bertscope.core.catalogue import INPUT_KINDS, OPENERS, ROOTS, entry, resolve
from bertscope.core.errors import UserError
from bertscope.core.files import explained, write_text
from bertscope.core.result import Result, describe
from bertscope.core.step import Root, Step

MARKER = "step.json"


@dataclass(frozen=True)
class Stored:
    """A finished step as `bertscope ls` shows it: no table is read for it."""

    step: Step
    folder: Path
    result: dict[str, Any]
    """The result's description: headline, notes, subject, provenance."""


class Store:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, step: Step) -> Path:
        return self.folder / "steps" / step.id

    def has(self, step: Step) -> bool:
        return (self.path(step) / MARKER).exists()

    def result(self, step: Step) -> Result:
        """The stored result of a finished step."""
        return Result.load(self.path(step) / "result")

    def run(self, step: Step, *, announce: Callable[[Step, bool], None] | None = None, resume: bool = True) -> Path:
        """The folder of the finished step; whatever it needs and isn't stored is made first.

        `announce` is told of each step as its turn comes, and whether it was stored already. `resume=False` starts
        what is unfinished over.
        """
        stored = self.has(step)
        if not stored:
            for needed in step.before():
                self.run(needed, announce=announce, resume=resume)
        if announce:
            announce(step, stored)
        if not stored:
            self._make(step, resume)
        return self.path(step)

    def finished(self) -> Iterator[Stored]:
        """Every finished step, oldest first."""
        markers = sorted((self.folder / "steps").glob(f"*/{MARKER}"), key=lambda marker: marker.stat().st_mtime_ns)
        for marker in markers:
            try:
                step = Step.from_json(json.loads(marker.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{marker} is damaged ({error}); delete {marker.parent} and run again") from error
            yield Stored(step, marker.parent, describe(marker.parent / "result"))

    def _make(self, step: Step, resume: bool) -> None:
        from filelock import FileLock

        work, target, locks = self.folder / "work" / step.id, self.path(step), self.folder / "locks"
        with explained(self.folder):
            for folder in (work.parent, target.parent, locks):
                folder.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{step.id}.lock"):
            if self.has(step):  # another process made it while this one waited
                return
            function = resolve(entry(step.name).target)
            # What fills a folder of its own (a training, hidden states) goes on from what it left.
            if not (function.spec.keeps and resume):
                shutil.rmtree(work, ignore_errors=True)
            work.mkdir(exist_ok=True)
            self._perform(function, step, work)
            write_text(work / MARKER, json.dumps(step.to_json(), indent=1, ensure_ascii=False))
            with explained(target):
                work.rename(target)

    def _perform(self, function: Callable[..., Any], step: Step, work: Path) -> None:
        opened: dict[str, Any] = {}
        for name, value in step.inputs.items():
            name, dot, _ = name.partition(".")
            if dot:
                opened.setdefault(name, []).append(self._open(name, value))
            else:
                opened[name] = self._open(name, value)
        config = configs.from_json(function.spec.config_class, step.config)  # type: ignore[attr-defined]
        if keeps := function.spec.keeps:  # type: ignore[attr-defined]
            result = function(**opened, config=config, out=work / keeps).result
        else:
            result = function(**opened, config=config)
        result.save(work / "result")

    def _open(self, name: str, value: Step | Root) -> Any:
        kind = INPUT_KINDS[name]
        if isinstance(value, Root):
            if kind in ROOTS and resolve(ROOTS[kind])(value.source, **value.options).digest != value.digest:
                raise UserError(f"{value.source} has changed since this run was planned; run the command again")
            return resolve(OPENERS[kind])(value.source, **value.options)
        if kind == "result":
            return self.result(value)
        return resolve(OPENERS[kind])(str(self.path(value) / kind))
