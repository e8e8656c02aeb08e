"""A task known by name, wherever it lies: which of its splits are there, and what each is for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.assemble import Material, joined, labelled
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import Columns
from bertscope.data.sheet import clean
from bertscope.data.table import Table
from bertscope.data.tasks import Declared, SplitName


@dataclass(frozen=True)
class Known(ABC):
    """`locate.OnDisk` and `hub.OnHub` are such."""

    task: Declared

    @property
    @abstractmethod
    def source(self) -> str:
        """What `read_task` opens it again by."""

    @property
    @abstractmethod
    def there(self) -> Sequence[SplitName]:
        """The splits with labels, in the order train, dev, test."""

    @property
    @abstractmethod
    def columns(self) -> Columns: ...

    @abstractmethod
    def identity(self) -> str:
        """What tells its content from any other."""

    @abstractmethod
    def tables(self, split: SplitName, bad: BadRows) -> list[Table]: ...

    @abstractmethod
    def answers(self, split: SplitName, bad: BadRows) -> Examples:
        """A split of a task whose answers are spans of text."""

    @abstractmethod
    def called(self, split: SplitName) -> str:
        """The split for a note."""

    @property
    def scored(self) -> SplitName:
        """The split that the task is usually scored on."""
        return next(split for split in (*self.task.test, "train") if split in self.there)

    def roles(self) -> tuple[SplitName, SplitName | None]:
        """The split that gives train and validation, and the one that is scored; None where one has to do for
        both."""
        if len(self.there) == 1:
            return self.there[0], None
        return ("train", self.scored) if "train" in self.there else ("dev", "test")

    def refuse_untrainable(self) -> None:
        """Refuse a task that nothing can be trained on."""
        if why := self.task.evaluation_only:
            raise UserError(
                f"{self.task.name} has nothing to train: {why}; give another task, or read it with read_examples"
            )

    def material(self, bad: BadRows) -> Material:
        """What a task is made of."""
        self.refuse_untrainable()
        training, test = self.roles()
        scored = self.tables(test, bad) if test else []
        return Material(
            self.task.name,
            self.source,
            self.tables(training, bad),
            scored,
            self.columns,
            self.task,
            tuple(self.notes()),
        )

    def examples(self, split: SplitName, bad: BadRows) -> Examples:
        """One split as it is."""
        if split not in self.there:
            raise UserError(f"{self.task.name} has no {split} split with labels here, only {', '.join(self.there)}")
        if self.task.kind == "answers":
            return self.answers(split, bad)
        sheets = [clean(table, self.columns, bad) for table in self.tables(split, bad)]
        return joined([labelled(sheet, self.task.kind, self.task.labels, bad, self.task) for sheet in sheets])

    def notes(self) -> Iterator[str]:
        """How the splits were made, wherever it isn't from train and dev."""
        training, test = self.roles()
        if test is None:
            yield f"{self.called(training)} is read alone: it is split into train, validation and test"
        elif training != "train":
            yield f"no train file: {self.called(training)} gives train and validation, {self.called(test)} is test"
        elif test != "dev":
            yield f"test is {self.called(test)}"
