"""What is going on in a model, and what to do about it: the questions that fit, the most telling first, in a time.

Nothing is trained unless that is allowed. What is asked is stored like every answer, so that more minutes go on where
fewer stopped.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bertscope.core import registry
from bertscope.core.consequence import HEADINGS, Consequence, named_data, next_command, ranked
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.core.store import DEFAULT, Store
from bertscope.models.known_base import found_base
from bertscope.study.runner import run_steps

MINUTES = 10.0
_ROWS = (1000, 400, 200)
"""How many rows of each split a question is asked of that would take too long of all."""
_SLOWEST = 3.0
"""How much longer than foretold the others may take, at most, where some did."""
_ENOUGH_TO_TELL = 5.0
"""Seconds of answers after which that is known."""


@dataclass(frozen=True)
class _Sized:
    """How large what is asked is, as `check` found it."""

    rows: int
    validation: int
    train: int
    layers: int
    heads: int
    """Of all layers."""
    second_per_row: float


@dataclass(frozen=True)
class Asked:
    """A question, with which settings it is asked, and what that costs."""

    question: str
    cost: Callable[[_Sized], float]
    """In rows that a model reads forwards, about."""
    config: Mapping[str, Any] = field(default_factory=dict)
    of: tuple[str, ...] = ("model",)
    """What it is asked of, in order: `base`, `model`."""
    trains: bool = False
    called: str = ""
    """What tells it from the same question with other settings."""

    @property
    def name(self) -> str:
        return f"{self.question} ({self.called})" if self.called else self.question


QUESTIONS = (
    Asked("errors", lambda of: 1.2 * (of.rows + of.validation), {"neighbours": 0}),
    Asked("ablate", lambda of: (of.layers / 2 + 1) * of.rows, {"units": ("layer",)}, called="layers"),
    Asked("patterns", lambda of: 4.0 * of.rows),
    Asked("graft", lambda of: (2 * of.layers + 8) * of.rows, {"units": ("layer",), "steps": 3}, ("base", "model")),
    Asked(
        "shrink", lambda of: 60.0 * of.validation + 20.0 * of.rows + 4000.0,
        {"target": "50%", "retrain": False, "force": True, "batch": 8}, called="without training",
    ),
    Asked("explain", lambda of: 20 * 100.0, {"sample": 20}),
    Asked("readout", lambda of: 4.0 * of.rows + 4.0 * min(1000, of.train), {"fit": 1000}),
    Asked("change", lambda of: 6.0 * of.rows, of=("base", "model")),
    Asked("ablate", lambda of: (of.heads / 2 + 1) * of.rows, {"units": ("head",)}, called="heads"),
    Asked("importance", lambda of: (of.heads / 2 + of.layers) * of.validation + 40.0 * of.rows, {"steps": 5}),
    Asked("shrink", lambda of: 400.0 * of.rows, {"target": "50%"}, trains=True, called="trained again"),
    Asked("truncate", lambda of: 600.0 * of.rows, {"remove": ("1",)}, ("base",), trains=True),
)  # fmt: skip
"""After `check`, in this order: the cheapest and most telling first."""


@dataclass
class Inspection:
    """What was asked, and what follows."""

    model: str
    data: str
    results: dict[str, Result] = field(default_factory=dict)
    """By what was asked: `errors`, `ablate (layers)`."""
    steps: list[Step] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """Of how many rows of the test set it was asked, where there was no time for all."""
    left: dict[str, float] = field(default_factory=dict)
    """What there was no time for, and the seconds that it may take."""
    failed: dict[str, str] = field(default_factory=dict)
    """What can't be asked here, and why."""
    seconds: float = 0.0
    given: dict[str, str] = field(default_factory=dict)
    """What the user named: `model`, `data`, `base`; that also as the model's files name it."""
    reading: dict[str, Any] = field(default_factory=dict)
    """How the data is read."""

    @property
    def consequences(self) -> list[Consequence]:
        """The most telling of each theme."""
        found = []
        for result in self.results.values():
            question = registry.still_declared(result.question)
            found += question.consequences(result) if question else []
        return ranked(found)

    @property
    def about(self) -> str:
        """The model and the data; once, where the model is called after that data already."""
        on = f" on {self.data}"
        return f"{self.model.removesuffix(on)}{on}"

    def __repr__(self) -> str:
        lines = [self.about, *(f"{heading}\n  {text}" for heading, text in self.told())]
        return "\n".join([*lines, *self.notes()])

    def told(self) -> list[tuple[str, str]]:
        """What a user asks, and the answer."""
        return [
            (f"{HEADINGS[one.theme]}{' (open)' if one.is_open else ''}", one.text) for one in self.consequences
        ]  # fmt: skip

    def next(self) -> str:
        """What to do next, as a command to copy, as the page says it. Empty where there is none, and where the model
        or the data has no name."""
        asked = {result.question for result in self.results.values()}
        command = next_command(self.consequences, asked, "base" in self.given)
        if not command or not {"model", "data"} <= {*self.given}:
            return ""
        named = {name: shlex.quote(name_of) for name, name_of in self.given.items()}
        return command.format(**named | {"data": named_data(self.given["data"], self.reading)})

    def notes(self) -> list[str]:
        """What a reader must know of how it was asked."""
        fewer = [f"{name} ({rows} rows)" for name, rows in self.rows.items()]
        notes = [f"asked of fewer rows, for want of time: {', '.join(fewer)}"] if fewer else []
        if self.left:
            notes.append(f"not asked, for want of time: {', '.join(self.left)}; {self.enough:.0f} minutes would do")
        return [*notes, *(f"{name} can't be asked here: {why}" for name, why in self.failed.items())]

    @property
    def enough(self) -> float:
        """Minutes in which all of it can be asked."""
        return (self.seconds + sum(self.left.values())) / 60 + 1


def inspect(
    model: Any,
    data: Any,
    *,
    base: Any = None,
    minutes: float = MINUTES,
    train: bool = False,
    store: Store | str | Path | None = None,
    told: Callable[[Inspection], None] | None = None,
    **reading: Any,
) -> Inspection:
    """What is going on in a model, and what to do: as many questions as fit into the time.

    base      what the model was fine-tuned from; what its own files say, otherwise
    train     whether models may be trained for it, too: a smaller one, one without its top layer
    store     where answers are kept and found again
    told      called with what is known so far, after each answer
    reading   how the data is read: `label=`, `text=`, `limit=` ... (as `read_task` takes them)
    """
    if not minutes > 0:
        raise UserError(f"minutes is {minutes:g}; give more than 0")
    shelf = store if isinstance(store, Store) else Store(DEFAULT if store is None else store)
    asking = _Asking(model, data, base, reading, shelf, 60 * minutes, told)
    asking.begin()
    for one in QUESTIONS:
        if train or not one.trains:
            asking.ask(one)
    return asking.inspection


def _names_in(given: Mapping[str, Any]) -> dict[str, str]:
    """Of what was given, what can be named in a command."""
    return {name: str(value) for name, value in given.items() if isinstance(value, str | Path)}


class _Asking:
    """One question after the other, while there is time."""

    def __init__(
        self, model: Any, data: Any, base: Any, reading: Mapping[str, Any], store: Store, seconds: float,
        told: Callable[[Inspection], None] | None,
    ) -> None:  # fmt: skip
        self._named = {"model": model, "base": base}
        self._data, self._reading, self._store, self._told = data, dict(reading), store, told
        self._seconds, self._began = seconds, time.perf_counter()
        self._foretold_so_far = self._took_so_far = 0.0
        self._size = _Sized(0, 0, 0, 0, 0, 0.0)
        given = _names_in({**self._named, "data": data})
        self.inspection = Inspection(str(model), str(data), given=given, reading=dict(reading))

    def begin(self) -> None:
        """Look at model and data; what is wrong with them is the user's to mend."""
        step = self._step("check", {}, ("model",), None)
        run_steps([step], self._store)
        result = self._store.result(step)
        (record,) = result.models.values()
        self.inspection.model, self.inspection.data = record.name, result.subject["task"]
        rows = result.tables["splits"].set_index("split")["rows"]
        shape = result.provenance["shape"]
        second = result.provenance["pass_seconds"] / max(1, int(rows["test"]))
        test, validation, train = (int(rows[split]) for split in ("test", "validation", "train"))
        self._size = _Sized(test, validation, train, len(shape), sum(shape), second)
        if self._named["base"] is None:
            self._named["base"] = found_base(record)
            self.inspection.given |= _names_in({"base": self._named["base"]})
        self._take("check", step, result)

    def ask(self, one: Asked) -> None:
        """Ask it of all rows, or of as many as there is time for; or leave it."""
        if any(self._named[name] is None for name in one.of):
            return
        seconds = float("inf")
        for limit in (self._reading.get("limit"), *_ROWS):
            size = self._limited(limit)
            if limit is not None and limit != self._reading.get("limit") and size == self._size:
                continue
            try:
                step = self._step(one.question, one.config, one.of, limit)
                seconds = min(seconds, self._foretold(one, size))
                if not (self._store.has(step) or seconds <= self._left):
                    continue
                self._make(one, step, seconds)
            except UserError as error:  # refused before it began: fewer rows would be, too
                self.inspection.failed[one.name] = str(error)
                return
            if size.rows < self._size.rows and one.name in self.inspection.results:
                self.inspection.rows[one.name] = size.rows
            return
        if seconds < float("inf"):
            self.inspection.left[one.name] = seconds

    def _make(self, one: Asked, step: Step, foretold: float) -> None:
        stored, began = self._store.has(step), time.perf_counter()
        outcome = run_steps([step], self._store, keep_going=True)
        if step.id in outcome.failed:
            self.inspection.failed[one.name] = outcome.failed[step.id]
            return
        if not stored:
            self._foretold_so_far += foretold / self._slower
            self._took_so_far += time.perf_counter() - began
        self._take(one.name, step, self._store.result(step))

    def _take(self, name: str, step: Step, result: Result) -> None:
        self.inspection.results[name] = result
        self.inspection.steps.append(step)
        self.inspection.seconds = time.perf_counter() - self._began
        if self._told:
            self._told(self.inspection)

    @property
    def _left(self) -> float:
        return self._seconds - (time.perf_counter() - self._began)

    @property
    def _slower(self) -> float:
        """How much longer than foretold all that was asked took together: a machine may be busy. One question that
        was foretold wrongly counts as one."""
        if self._took_so_far < _ENOUGH_TO_TELL:
            return 1.0
        return min(_SLOWEST, max(1.0, self._took_so_far / max(self._foretold_so_far, 1e-9)))

    def _foretold(self, one: Asked, size: _Sized) -> float:
        return self._slower * one.cost(size) * size.second_per_row

    def _limited(self, limit: int | None) -> _Sized:
        size = self._size
        if limit is None:
            return size
        fewer = {name: min(getattr(size, name), limit) for name in ("rows", "validation", "train")}
        return replace(size, **fewer)

    def _step(self, name: str, config: Mapping[str, Any], of: tuple[str, ...], limit: int | None) -> Step:
        question = registry.find(name)
        reading = self._reading if limit is None else self._reading | {"limit": limit}
        base = self._named["base"]
        named = [self._named[each] for each in of]
        told = str(base) if base is not None and "base" not in of else None
        return planned(question, named, self._data, question.config(**config), reading, {}, told)
