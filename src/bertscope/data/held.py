"""Data that Python users hold, as sources like any other: told once from what the object is.

HeldTask    a Task
HeldRows    rows with labels: a list of dicts, a DataFrame, a Dataset, a DatasetDict with its own splits
TaggedRows  rows with lists of words and tags: see tagged_source.py
HeldTexts   texts: Examples, a list, a Series, a Column, rows among which no column looks like the label
HubRows     hub:owner/name, or hub:owner/name:config: any data set of the hub, which is a DatasetDict there

They are identified by what they hold, so that the same content is found again, in another process too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.step import Root
from bertscope.data.accept import Rows, refuse_no_texts, refuse_other, rows_of, splits_of, texts_of
from bertscope.data.assemble import Material, make_task
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import find_columns, has_labels
from bertscope.data.hub import loaded, revision_of
from bertscope.data.options import TaskOptions
from bertscope.data.row_columns import by_split
from bertscope.data.sheet import clean
from bertscope.data.source_kinds import CORPUS_OPTIONS, Part, Source, TaskSource
from bertscope.data.splits import Own
from bertscope.data.tagged import table_is_tagged
from bertscope.data.tagged_source import TaggedRows
from bertscope.data.task import Task

HUB = "hub:"


def held_source(given: Any, options: TaskOptions) -> Source:
    """What an object stands for, to whoever looks at its texts."""
    if isinstance(given, Examples):
        return HeldTexts(given.name or "texts", options, given)
    if isinstance(given, Task):
        return HeldTask(given.name, options, given)
    if (texts := texts_of(given)) is not None:
        refuse_no_texts(texts, _called(given))
        name = _name(given)
        ids = tuple(map(str, range(1, len(texts) + 1)))
        return HeldTexts(name, options, Examples(ids, tuple(texts), name=name if name != "list" else ""))
    source = held_rows(given, options)
    if isinstance(source, TaggedRows) or source.has_labels:
        return source
    return HeldTexts(source.name, replace(options, text=None, text_pair=None, id=None), source.texts())


def held_task(given: Any, options: TaskOptions) -> TaskSource:
    """What it stands for to whoever trains on it."""
    if isinstance(given, Task):
        return HeldTask(given.name, options, given)
    return held_rows(given, options)


def holds_texts(given: Any) -> bool:
    """Whether it is texts and nothing else."""
    return isinstance(given, Examples) or texts_of(given) is not None


def held_rows(given: Any, options: TaskOptions) -> HeldRows | TaggedRows:
    if options.kind in ("spans", "trees"):
        raise UserError(f"{options.kind} are read from files; write it to one, or leave out kind")
    called = _called(given)
    if (splits := splits_of(given, called)) is not None:
        parts = {split: rows_of(one, called, split) for split, one in splits.items()}
    else:
        parts = {"train": rows_of(given, called)}
    found = {split: rows for split, rows in parts.items() if rows is not None}
    if len(found) < len(parts):
        raise refuse_other(given)
    name = _name(splits["train"] if splits else given)
    if table_is_tagged(found["train"].table, options):
        return TaggedRows(name, options, found, given)
    return HeldRows(name, options, found, called)


def _called(given: Any) -> str:
    """What messages call it."""
    return f"the {type(given).__name__}"


def _name(given: Any) -> str:
    """What reports call it: a column's or a data set's own name, otherwise what it is."""
    own = getattr(getattr(given, "info", None), "dataset_name", None) or getattr(given, "name", None)
    return own if isinstance(own, str) and own else type(given).__name__


class _Held:
    """What may be said of how an object is read that has no columns to name."""

    name: str | Path
    options: TaskOptions

    def refuse_others(self, *allowed: str) -> None:
        for name in self.options.given():
            if name not in allowed:
                raise UserError(f"{self.name} is read already; leave out {name}")


@dataclass(frozen=True)
class HeldTask(_Held, TaskSource):
    given: Task

    def __post_init__(self) -> None:
        self.refuse_others(*CORPUS_OPTIONS, "metric", "label_threshold", "windows", "without", "at_random",
                           "flip", "flip_seed", "fold")  # fmt: skip

    @property
    def labels(self) -> tuple[str, ...]:
        return self.given.labels

    def task(self) -> Task:
        return super().task() if self.options.given() else self.given

    def _task(self) -> Task:
        return self.given

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        return Root(kind, str(self.name), task_digest(self.given), self.options.given(), held=self.given)


@dataclass(frozen=True)
class HeldRows(TaskSource):
    parts: dict[str, Rows]
    """By split; what has no splits is all `train`."""
    called: str
    """For messages."""

    @property
    def has_labels(self) -> bool:
        options = self.options
        named = options.label is not None or options.kind is not None or options.choices is not None
        return named or has_labels(self.parts["train"].table, options.text, options.text_pair)

    def texts(self) -> Examples:
        """The test split's rows, where it has splits, of which only the texts are read."""
        options, bad = self.options, BadRows(skip=self.options.skip_bad)
        table = self.parts["test" if "test" in self.parts else "train"].table
        columns = find_columns(table, options.text, options.text_pair, None, id=options.id, labelled=False)
        found = clean(table, columns, bad).examples()
        if not len(found):
            raise UserError(f"{table.path} has no row that can be used; mend it or give another")
        unlabelled = f"no column looks like the label: {len(found):,} rows are read as texts"
        guessed = (columns.note,) if columns.note else ()
        return replace(found, name=str(self.name), notes=(unlabelled, *bad.notes(), *guessed))

    def _task(self) -> Task:
        options, bad, parts = self.options, BadRows(skip=self.options.skip_bad), self.parts
        if options.root is not None:
            raise UserError(f"root is for tasks known by name, and {self.name} is none; leave it out")
        train = parts["train"]
        validation, test = parts.get("validation"), parts.get("test")
        columns = find_columns(train.table, options.text, options.text_pair, options.label, id=options.id)
        third, notes = None, tuple[str, ...]()
        if validation and test:
            own = Own([train.table], [validation.table])
            third = test.table
        elif validation or test:
            own = Own([train.table], None, [(test or validation).table])  # type: ignore[union-attr]
            notes = () if test else ("no split test: test is the split validation, and train gives validation",)
        else:
            own, notes = by_split(train.table, (columns.text, columns.pair, columns.label, columns.id))
        labels = train.labels(columns.label)
        material = Material(str(self.name), self.called, columns, own, notes=notes, third=third, labels=labels)
        return make_task(material, options, bad)

    @cached_property
    def _read(self) -> HeldTask:
        return HeldTask(self.name, TaskOptions(), self.task())

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        """Of the task that they are read as: which object held the rows makes no difference."""
        return self._read._root(kind)


@dataclass(frozen=True)
class HubRows(TaskSource):
    """Identified by its revision; read as the DatasetDict that it is."""

    def _task(self) -> Task:
        return self.rows._task()

    @cached_property
    def rows(self) -> HeldRows | TaggedRows:
        """What is there."""
        id, config = self._place
        self._revision()  # where the hub can't be reached, `datasets` would go on trying for a long time
        try:
            splits = loaded(id, config)
        except Exception as error:  # whatever the network, the hub or the library can do
            raise self._unreachable(error) from error
        return replace(held_rows(splits, self.options), name=f"{id}/{config}" if config else id)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        digest = digest_text(canonical_json([*self._place, self._revision()]))
        return Root(kind, str(self.name), digest, self._options_without_place())

    @property
    def _place(self) -> tuple[str, str | None]:
        id, _, config = str(self.name).removeprefix(HUB).partition(":")
        if not id:
            raise UserError(f"{self.name} names no data set; write {HUB}owner/name, or {HUB}owner/name:config")
        return id, config or None

    def _revision(self) -> str:
        id, _ = self._place
        try:
            return revision_of(id)
        except Exception as error:  # whatever the network can do
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> UserError:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        return UserError(f"{self.name} can't be had from the hub ({why}): is there a network, and is that its name?")


@dataclass(frozen=True)
class HeldTexts(_Held, Source):
    given: Examples

    def __post_init__(self) -> None:
        self.refuse_others(*CORPUS_OPTIONS)

    def examples(self, split: Part) -> Examples:
        self._refuse_split(split)
        options, found = self.options, self.given
        if options.limit is None or options.limit >= len(found):
            return found
        order = np.random.default_rng(options.seed).permutation(len(found))
        return found.take(np.sort(order[: options.limit]))

    def examples_root(self, split: Part) -> Root:
        self._refuse_split(split)
        return Root("examples", str(self.name), self.given.fingerprint, self.options.given(), held=self.given)

    def _refuse_split(self, split: Part) -> None:
        if split != "test":
            raise UserError(f"{self.name} has no splits; leave out split={split!r}")


def task_digest(task: Task) -> str:
    """What a task holds, but for its name and its notes."""
    plain = {one.name: getattr(task, one.name) for one in fields(task) if one.name not in ("name", "notes")}
    if task.threshold is None:  # what is left unsaid is no part of an identity
        del plain["threshold"]
    said = {name: value.fingerprint if isinstance(value, Examples) else value for name, value in plain.items()}
    return digest_text(canonical_json([type(task).__name__, said]))
