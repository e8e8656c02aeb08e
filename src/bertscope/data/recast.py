"""Tasks made of what another source holds: masked words of any texts, vectors of scored pairs.

Plain texts (a .txt file, demo/corpus, FrameNet, a list) are tasks of masked words by themselves: there is nothing
else in them to learn. Of whatever has labels, spans or trees, `kind="masked"` makes one; and so it does of a table,
where a label that lacks may have been forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.masking import word_counts
from bertscope.core.step import Root
from bertscope.data import demo
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import find_columns
from bertscope.data.held import HeldRows, HeldTask, HeldTexts, HubRows
from bertscope.data.locate import plain_files
from bertscope.data.metrics import METRICS
from bertscope.data.options import TaskOptions
from bertscope.data.row_columns import by_split
from bertscope.data.sheet import clean
from bertscope.data.source_kinds import Corpus, Demo, Source, Tables, TaskSource
from bertscope.data.splits import Own, make_splits
from bertscope.data.table import Table
from bertscope.data.table_files import read_table
from bertscope.data.task import SPLITS, Task

_ROOM = 13
"""Of as many texts as this for each that is kept, the smallest split, validation, still has enough: it gets 8%."""


def plainly(options: TaskOptions) -> TaskOptions:
    """How what a task is made of is read: all of it, as whatever it is by itself."""
    return replace(options, kind=None, label=None, metric=None, limit=None, without=(), at_random=None,
                   flip=0.0, flip_seed=0, fold=())  # fmt: skip


@dataclass(frozen=True)
class _Recast(TaskSource):
    """A task that another source's content makes."""

    inner: Source
    _kind: ClassVar[str]

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        inner = self.inner
        if isinstance(inner, HeldTask | HeldRows | HeldTexts):
            return HeldTask(self.name, TaskOptions(), self.task())._root(kind)
        root = inner._root(kind) if isinstance(inner, TaskSource) else inner.examples_root("test")
        # The kind is said outright, so that whoever looks at the texts reads the same splits.
        return replace(root, kind=kind, options=self._options_without_place() | {"kind": self._kind})


class MaskedTexts(_Recast):
    """Any texts, of which words are masked; whatever else is said of them isn't learnt."""

    _kind = "masked"

    def _task(self) -> Task:
        if self.options.label is not None:
            one = "is texts alone" if self.options.kind is None else "is read for masked words, which have no label"
            raise UserError(f"{self.name} {one}; leave out --label")
        bad = self._bad_rows()
        name, own, notes = self._texts(bad)
        own = own.each(lambda texts: _with_words(name, texts, bad))
        rows = np.arange(len(own.train))
        order = np.random.default_rng(self.options.seed).permutation(len(rows))
        return Task(
            name, "masked", (), *make_splits(own, rows, order, name, name), METRICS["masked"][0],
            (*notes, *bad.notes()),
        )  # fmt: skip

    def _texts(self, bad: BadRows) -> tuple[str, Own[Examples], tuple[str, ...]]:
        """What the source is called, its texts, and what it says of how they were read."""
        inner, options = self.inner, self.options
        if isinstance(inner, Demo):
            inner._refuse_columns()
            name = str(self.name)
            return name, Own(*(demo.examples(name, split, options.seed) for split in SPLITS)), ()
        if isinstance(inner, HubRows):
            inner = inner.rows
        if isinstance(inner, Tables):
            files = plain_files(Path(inner.name)).each(lambda file: read_table(file, bad))
            path = Path(inner.name).absolute()
            return (path.name if path.is_dir() else path.stem, *_of_tables(files, options, bad))
        if isinstance(inner, HeldRows):
            parts = {split: rows.table for split, rows in inner.parts.items()}
            validation, test = parts.get("validation"), parts.get("test")
            both = (validation, test) if validation and test else (None, validation or test)
            return (str(inner.name), *_of_tables(Own(parts["train"], *both), options, bad))
        if isinstance(inner, TaskSource):
            task = inner.task()
            return task.name, Own(task.train, task.validation, task.test), task.notes
        limit = None if options.limit is None else _ROOM * options.limit
        texts = replace(inner, options=replace(inner.options, limit=limit)).examples("test")
        name = Path(self.name).name.partition(".")[0] if isinstance(inner, Corpus) else str(self.name)
        return name, Own(texts), texts.notes


class PairVectors(_Recast):
    """Scored pairs of texts, for models that make a vector of each."""

    _kind = "vectors"

    def _task(self) -> Task:
        assert isinstance(self.inner, TaskSource)
        return self.inner.task().by_vectors()


def _of_tables(own: Own[Table], options: TaskOptions, bad: BadRows) -> tuple[Own[Examples], tuple[str, ...]]:
    """The texts of tables, whatever else they hold."""
    options.refuse(str(own.train.path), "several", "choices")
    columns = find_columns(own.train, options.text, options.text_pair, None, id=options.id, labelled=False)
    columns = replace(columns, further=options.slice)
    notes: tuple[str, ...] = (columns.note,) if columns.note else ()
    if len(own.there) == 1:
        parts, told = by_split(own.train, (columns.text, columns.pair, columns.id))
        own, notes = parts.each(lambda tables: tables[0]), told + notes
    return own.each(lambda table: clean(table, columns, bad).examples()), notes


def _with_words(name: str, examples: Examples, bad: BadRows) -> Examples:
    """The texts without anything but themselves; those that have no word can't be asked for one."""
    has = word_counts(examples) > 0
    if not has.all():
        first = examples.ids[int(np.flatnonzero(~has)[0])]
        bad.refuse("text without a word", f"{name}, {first}: there is no word to mask; remove it", int((~has).sum()))
    return replace(examples.take(np.flatnonzero(has)), label=None, notes=(), name="")
