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
from bertscope.data.label_lists import LabelLists
from bertscope.data.sheet import clean
from bertscope.data.splits import Own
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

    @property
    def has_glue_dev(self) -> bool:
        """Whether its dev is GLUE's: what others report scores on, since GLUE's test has no labels."""
        return self.task.name.startswith("glue/")

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
        """The split that is scored where nothing is trained."""
        return self.there[-1]

    def roles(self) -> Own[SplitName]:
        """What each split is for: all three as they are published; of two the later is scored."""
        if len(self.there) == 2:
            training, test = self.there
            return Own(training, None, test)
        return Own(*self.there)

    def refuse_untrainable(self) -> None:
        """Refuse a task that nothing can be trained on."""
        if why := self.task.evaluation_only:
            raise UserError(
                f"{self.task.name} has nothing to train: {why}; give another task, or read it with read_examples"
            )

    def material(self, bad: BadRows) -> Material:
        """What a task is made of."""
        self.refuse_untrainable()
        own = self.roles().each(lambda split: self.tables(split, bad))
        return Material(self.task.name, self.source, self.columns, own, self.task, tuple(self.notes()))

    def examples(self, split: SplitName, bad: BadRows) -> Examples:
        """One split as it is."""
        if split not in self.there:
            raise UserError(f"{self.task.name} has no {split} split with labels here, only {', '.join(self.there)}")
        if self.task.kind == "answers":
            return self.answers(split, bad)
        tables = self.tables(split, bad)
        if self.task.kind == "several":
            lists = LabelLists.of(tables[0], self.columns.label, self.task.several, wanted=True)
            tables = [lists.table(table) if lists else table for table in tables]
        sheets = [clean(table, self.columns, bad) for table in tables]
        return joined([labelled(sheet, self.task.kind, self.task.labels, bad, self.task) for sheet in sheets])

    def notes(self) -> Iterator[str]:
        """How the splits were made, wherever it isn't from files that are called train and dev."""
        own = self.roles()
        if own.test is None:
            yield f"{self.called(own.train)} is read alone: it is split into train, validation and test"
        elif own.validation is not None:
            yield f"validation is {self.called(own.validation)}, test is {self.called(own.test)}"
        elif own.train != "train":
            dev, test = self.called(own.train), self.called(own.test)
            yield f"no train file: {dev} gives train and validation, {test} is test"
        elif own.test != "dev":
            yield f"test is {self.called(own.test)}"
        else:
            if "+" in (files := self.called("train")):
                yield f"train is {files}"
            if "+" in (files := self.called("dev")):
                yield f"test is {files}"
            elif self.has_glue_dev:
                yield "test is GLUE's dev"
