"""The kinds of sources, and what each knows: whether it can train, its labels, its identity, how it is read.

`source.source_of` tells which one a name or a path is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.step import Root
from bertscope.data import demo
from bertscope.data.as_asked import few, with_metric, with_threshold, with_windows
from bertscope.data.assemble import Material, make_task, noting_repeats
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import find_columns
from bertscope.data.known import Known
from bertscope.data.locate import plain_files
from bertscope.data.options import COLUMNS, TaskOptions
from bertscope.data.packed_files import files_of
from bertscope.data.plain_files import digest_plain, explained
from bertscope.data.relabelled import held_out_fold, with_flipped_labels
from bertscope.data.relations import read_relations
from bertscope.data.row_columns import by_split
from bertscope.data.structured import StructuredKind, make_spans, read_structured, structured_files
from bertscope.data.subsets import without_words
from bertscope.data.table import stem_of
from bertscope.data.table_files import read_table
from bertscope.data.task import Kind, Task
from bertscope.data.tasks import SplitName
from bertscope.data.text import read_text

Part = Literal["train", "validation", "test", "published-train", "published-dev", "published-test"]
_PUBLISHED: Mapping[Part, SplitName] = {
    "published-train": "train", "published-dev": "dev", "published-test": "test",
}  # fmt: skip
CORPUS_OPTIONS = ("limit", "seed", "skip_bad")
"""What may be said of texts that have their own annotation; the rest is about a task's columns and labels."""


@dataclass(frozen=True)
class Source(ABC):
    """Something that can be read, as the user named it."""

    name: str | Path
    options: TaskOptions

    @abstractmethod
    def examples(self, split: Part) -> Examples:
        """Its texts: one split of it, where it has any."""

    @abstractmethod
    def examples_root(self, split: Part) -> Root:
        """The identity of these."""


@dataclass(frozen=True)
class TaskSource(Source):
    """One that has rows to learn from, or to be scored on."""

    @property
    def can_train(self) -> bool:
        """Whether it is a task to train on; otherwise its splits can only be read."""
        return True

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, where they are declared."""
        return ()

    def task(self) -> Task:
        """The task, with everything that the options ask for."""
        options = self.options
        with explained(self.name):
            task = with_windows(with_threshold(with_metric(self._task(), options), options), options)
            if missing := [name for name in options.slice if name not in task.test.columns]:
                raise UserError(f"{self.name} has no column {missing[0]!r} beside its texts; leave out --slice")
        train, validation, test = (
            few(part, task.kind, options) for part in (task.train, task.validation, task.test)
        )  # fmt: skip
        fewer = train is not task.train or validation is not task.validation
        if fewer and not options.changes_training:
            task = replace(task, taken_from=task.fingerprint)
        task = replace(task, train=train, validation=validation, test=test)
        if options.without:
            task = without_words(task, options.without, options.at_random)
        if options.flip:
            task = with_flipped_labels(task, options.flip, options.flip_seed)
        return noting_repeats(held_out_fold(task, *options.fold) if options.fold else task)

    def task_root(self) -> Root:
        with explained(self.name):
            return self._root("task")

    def examples(self, split: Part) -> Examples:
        if split not in get_args(Part):
            raise UserError(f"no split {split!r}; {did_you_mean(split, get_args(Part))}")
        found = self._examples(split)
        if not len(found):
            raise UserError(f"{self.name} has no row to read in {split}: all were left out; mend some of them")
        return found

    def examples_root(self, split: Part) -> Root:
        with explained(self.name):
            root = self._root("examples")
        return root if split == "test" else replace(root, options={**root.options, "split": split})

    @abstractmethod
    def _task(self) -> Task:
        """The task as the files have it."""

    @abstractmethod
    def _root(self, kind: Literal["task", "examples"]) -> Root: ...

    def _examples(self, split: Part) -> Examples:
        if split in _PUBLISHED:
            published = _PUBLISHED[split]
            raise UserError(f"{self.name} has no published {published} split; ask for train, validation or test")
        task = self.task()
        return replace(getattr(task, split), name=task.name, notes=task.notes, task=task.fingerprint)

    def _bad_rows(self, expected: Collection[str] = ()) -> BadRows:
        return BadRows(skip=self.options.skip_bad, expected=expected, few=self.options.limit is not None)

    def _options_without_place(self) -> dict[str, object]:
        """What was asked for, but not where the files lie: a place is no identity."""
        return replace(self.options, root=None).given()


class Demo(TaskSource):
    """Made on the spot."""

    @property
    def can_train(self) -> bool:
        return demo.can_train(str(self.name), self.options.kind)

    def _task(self) -> Task:
        self._refuse_columns()
        return demo.make(str(self.name), self.options.seed, self.options.kind)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        self._refuse_columns()
        return Root(kind, str(self.name), demo.identity(str(self.name)), self.options.given())

    def _examples(self, split: Part) -> Examples:
        name, options = str(self.name), self.options
        if self.can_train:
            return super()._examples(split)
        options.refuse(name, *COLUMNS, "root", "metric", "several", "choices", "label_threshold", "windows")
        return replace(few(demo.examples(name, split, options.seed), "regression", options), name=name)

    def _refuse_columns(self) -> None:
        """There are no columns to name; that trees are meant may be said of those that have any."""
        trees = self.options.kind == "trees"
        self.options.refuse(
            str(self.name),
            *(name for name in COLUMNS if not (name == "kind" and trees)),
            "root",
            "several",
            "choices",
        )


@dataclass(frozen=True)
class Named(TaskSource):
    """A task known by name, wherever it lies."""

    known: Known

    @property
    def can_train(self) -> bool:
        return not self.known.task.evaluation_only

    @property
    def labels(self) -> tuple[str, ...]:
        return self.known.task.labels

    def _task(self) -> Task:
        known, bad = self.known, self._bad_rows(self.known.task.drops)
        if self.options.several not in (None, known.task.several):
            self.options.refuse(known.task.name, "several")
        if known.task.kind == "answers":
            own = known.roles().each(lambda split: known.answers(split, bad))
            return make_spans(known.task.name, own, self.options, bad, tuple(known.notes()))
        return make_task(known.material(bad), self.options, bad)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        if kind == "task":
            self.known.refuse_untrainable()
        return Root(kind, self.known.source, self.known.identity(), self._options_without_place())

    def _examples(self, split: Part) -> Examples:
        known = self.known
        published = _PUBLISHED.get(split)
        if split == "test" and (not self.can_train or known.task.kind == "answers"):
            published = known.scored  # as it is: SQuAD's questions without an answer too
        if published is None:
            return super()._examples(split)
        bad = self._bad_rows(known.task.drops)
        kind: Kind = "classification" if known.task.kind == "answers" else known.task.kind
        found = few(known.examples(published, bad), kind, self.options)
        return replace(found, name=known.task.name, notes=bad.notes())


@dataclass(frozen=True)
class Structured(TaskSource):
    """Files whose answers are no labels."""

    kind: StructuredKind

    def _task(self) -> Task:
        return read_structured(Path(self.name), self.kind, self.options)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        path = Path(self.name).absolute()
        files = [file for place in structured_files(path, self.kind).there for file in files_of(place)]
        # The kind is said outright, so that whoever looks at the texts reads the same splits.
        return Root(kind, str(path), digest_plain(files), self._options_without_place() | {"kind": self.kind})


class Tables(TaskSource):
    """A file, or a folder's files, of which nothing is known beforehand."""

    def _task(self) -> Task:
        path, options, bad = Path(self.name), self.options, self._bad_rows()
        files = plain_files(path)
        third = files.test if files.validation else None
        own = files._replace(test=None if third else files.test).each(lambda file: [read_table(file, bad)])
        columns = find_columns(own.train[0], options.text, options.text_pair, options.label, id=options.id)
        name = path.absolute().name if path.is_dir() else stem_of(path)
        notes = tuple[str, ...]()
        if not (files.validation or files.test):
            own, notes = by_split(own.train[0], (columns.text, columns.pair, columns.label, columns.id))
        return make_task(Material(name, str(path), columns, own, notes=notes, third=third), options, bad)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        path = Path(self.name).absolute()
        return Root(kind, str(path), digest_plain(plain_files(path).there), self._options_without_place())


@dataclass(frozen=True)
class Corpus(Source):
    """Texts to look at, which have no splits."""

    plain: bool
    """Whether it is text alone, without annotation."""

    def examples(self, split: Part) -> Examples:
        self._refuse_others(split)
        path, options, notes = Path(self.name), self.options, list[str]()
        few = options.limit is not None
        with explained(path):
            if self.plain:
                found = read_text(path, few=few, notes=notes)
            else:
                found = read_relations(path, skip_bad=options.skip_bad, few=few, notes=notes)
        if options.limit is not None and options.limit < len(found):
            order = np.random.default_rng(options.seed).permutation(len(found))
            found = found.take(np.sort(order[: options.limit]))
        return replace(found, name=path.name, notes=tuple(notes))

    def examples_root(self, split: Part) -> Root:
        self._refuse_others(split)
        path = Path(self.name).absolute()
        with explained(path):
            return Root("examples", str(path), digest_plain(files_of(path)), self.options.given())

    def _refuse_others(self, split: Part) -> None:
        if split != "test":
            raise UserError(f"{self.name} has no splits; leave out --split {split}")
        for name in self.options.given():
            if name not in CORPUS_OPTIONS:
                flag = name.replace("_", "-")
                raise UserError(f"{self.name} is no task with columns and labels; leave out --{flag}")
