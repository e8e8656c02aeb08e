"""Sources of words with tags: files, and rows in memory.

`tagged.py` reads one file, or one object; here they become train, validation and test.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.step import Root
from bertscope.data.accept import Rows
from bertscope.data.bad_rows import BadRows
from bertscope.data.packed_files import files_of
from bertscope.data.plain_files import digest_plain
from bertscope.data.row_columns import by_split
from bertscope.data.source_kinds import TaskSource
from bertscope.data.splits import Own, Splits, make_splits
from bertscope.data.structured import SAYS_ITSELF, structured_files
from bertscope.data.table import Table, unpacked_suffix
from bertscope.data.table_files import read_table
from bertscope.data.tagged import TABLES, make_tokens, read_tagged
from bertscope.data.task import Task


@dataclass(frozen=True)
class Tagged(TaskSource):
    """Words with tags, in splits."""

    @property
    def labelled(self) -> bool:
        return False

    def _task(self) -> Task:
        splits, notes = self._splits
        return make_tokens(self._called, splits, notes)

    @cached_property
    def _splits(self) -> tuple[Splits, tuple[str, ...]]:
        """Train, validation and test, and what must be said of how they were made."""
        self.options.refuse(self._called, "text_pair", "several", "choices")
        bad = self._bad_rows()
        own, notes = self._own(bad)
        groups = np.arange(len(own.train))
        order = np.random.default_rng(self.options.seed).permutation(len(groups))
        splits = make_splits(own, groups, order, self._called, self._called)
        told = dict.fromkeys(note for one in own.there for note in one.notes)
        train, validation, test = (replace(one, notes=()) for one in splits)
        return (train, validation, test), (*notes, *bad.notes(), *told)

    def _of_table(self, table: Table, bad: BadRows) -> tuple[Own[Examples], tuple[str, ...]]:
        """What one table has of each split, where a column says it."""
        options = self.options
        own, notes = by_split(table, (options.text, options.label, options.id))
        return own.each(lambda tables: read_tagged(tables[0], options, bad)), notes

    @property
    @abstractmethod
    def _called(self) -> str:
        """For reports and messages."""

    @abstractmethod
    def _own(self, bad: BadRows) -> tuple[Own[Examples], tuple[str, ...]]:
        """What there is of each split, and what must be said of that."""


class TaggedFiles(Tagged):
    """A file, or a folder's train, dev and test files."""

    @property
    def _called(self) -> str:
        path = Path(self.name)
        return path.absolute().name if path.is_dir() else path.name.partition(".")[0]

    def _own(self, bad: BadRows) -> tuple[Own[Examples], tuple[str, ...]]:
        files = structured_files(Path(self.name), "tokens")
        notes = list[str]()
        if unpacked_suffix(files.train) not in TABLES:
            self.options.refuse(str(self.name), *SAYS_ITSELF)
        if files.validation and files.test:
            notes += [f"validation is {files.validation.name}, test is {files.test.name}"]
        elif files.test:
            notes += [f"test is {files.test.name}, and {files.train.name} gives train and validation"]
        if len(files.there) == 1 and unpacked_suffix(files.train) in TABLES:
            return self._of_table(read_table(files.train, bad), bad)
        return files.each(lambda file: read_tagged(file, self.options, bad)), tuple(notes)

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        path = Path(self.name).absolute()
        files = [file for place in structured_files(path, "tokens").there for file in files_of(place)]
        return Root(kind, str(path), digest_plain(files), self._options_without_place() | {"kind": "tokens"})


@dataclass(frozen=True)
class TaggedRows(Tagged):
    """Rows in memory that have lists of words and tags."""

    parts: dict[str, Rows]
    """By split; what has no splits is all `train`."""
    given: Any

    @property
    def _called(self) -> str:
        return str(self.name)

    def _own(self, bad: BadRows) -> tuple[Own[Examples], tuple[str, ...]]:
        if len(self.parts) == 1:
            return self._of_table(self.parts["train"].table, bad)
        found = {split: read_tagged(rows.table, self.options, bad) for split, rows in self.parts.items()}
        train, validation, test = (found.get(split) for split in ("train", "validation", "test"))
        assert train is not None
        if validation is not None and test is None:
            return Own(train, None, validation), ("no split test: test is the split validation",)
        return Own(train, validation, test), ()

    def _root(self, kind: Literal["task", "examples"]) -> Root:
        """Of what they are read as: which object held the rows makes no difference."""
        splits, _ = self._splits
        digest = digest_text(canonical_json([split.fingerprint for split in splits]))
        return Root(kind, self._called, digest, self.options.given(), held=self.given)
