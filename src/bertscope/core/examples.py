"""Texts in order, with their labels and annotation: what data hands to models, and the only type the two share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from typing import Any

import numpy as np

from bertscope.core.errors import UserError

ROOT = -1
"""The governor of a word that has none."""
NOTHING = -2
"""Stands in arrays of governors and relations where there is no word, or nothing is said of it."""
NO_CANDIDATE = -(2.0**100)
"""Stands in arrays of candidates' scores where an example has fewer than another."""
_BY_NAME = ("marks", "columns")  # what holds any number of columns


@dataclass(frozen=True)
class Link:
    """Words of one example that stand in a relation to others: a frame's element to what evokes the frame."""

    name: str
    """`Theme`, `nsubj`, or what the source calls it."""
    source: tuple[int, ...]
    """The words the relation starts from: the frame element's, the dependent."""
    target: tuple[int, ...]
    """The words it leads to: those that evoke the frame, the governor."""
    frame: str = ""
    core: bool = True
    """Whether the frame can't do without this element."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Some texts, or pairs of texts, with or without labels and annotation. All columns have the same length.

    Words are counted through an example: those of a pair's second text come after those of its first. Whatever
    points at words (`governors`, `links`) counts them so, from 0.
    """

    ids: tuple[str, ...]
    text: tuple[str, ...]
    pair: tuple[str, ...] | None = None
    """The second text of each example, where the task is about two."""
    label: np.ndarray | None = None
    """int64 class indices for classification, float64 scores for regression, int64 [example, label] of 1 and 0 where
    an example can have several labels, the right candidate's place where there are `choices`; of masked words, the
    right pieces [n, most] once a model's tokenizer has said them."""
    words: tuple[tuple[str, ...], ...] | None = None
    """Each example's words, where the source marks them itself (a treebank)."""
    first_words: tuple[int, ...] | None = None
    """How many of the words are in the first text, where there are pairs."""
    marks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """What the source says of every word, by kind: `pos` (UPOS), `relation` (UD), `entity`, `gender` ...; '' where it
    says nothing."""
    governors: tuple[tuple[int, ...], ...] | None = None
    """Each word's syntactic head in the dependency tree; `ROOT` where it has none."""
    links: tuple[tuple[Link, ...], ...] | None = None
    """Relations between words, beside the tree's."""
    answers: tuple[tuple[tuple[int, int], ...], ...] | None = None
    """Each question's answers, as spans of characters (start, end) in the second text; () where there is none."""
    choices: tuple[tuple[str, ...], ...] | None = None
    """Each example's candidate texts, of which the label says which is right, from 0."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further columns of the source that somebody asked for, by name: what each example has there, as it is written;
    '' where there is nothing."""
    name: str = ""
    """What reports call them: a task's or a file's name."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how they were read: rows that were left out, columns that were guessed."""
    task: str = ""
    """The fingerprint of the task that they are a part of; empty where they are of none."""

    def __post_init__(self) -> None:
        for name, column in self._columns():
            if len(column) != len(self.ids):
                raise ValueError(f"{len(self.ids)} ids, but {len(column)} entries in {name}")
        if self.words is not None and self.pair is not None and self.first_words is None:
            raise ValueError("pairs whose words are marked must say how many are in the first text")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        held = ", ".join(name for name, _ in self._columns() if name not in ("ids", "text"))
        return (
            f"<Examples{f' {self.name}' if self.name else ''}: {len(self):,} texts{f' with {held}' if held else ''}>"
        )

    def take(self, indices: Sequence[int] | np.ndarray) -> Examples:
        """The examples at these positions, in this order."""
        at = [int(i) for i in indices]

        def taken(column: Any) -> Any:
            return column[at] if isinstance(column, np.ndarray) else tuple(column[i] for i in at)

        by_name: dict[str, Any] = {
            held: {name: taken(column) for name, column in getattr(self, held).items()} for held in _BY_NAME
        }
        plain = {name: taken(column) for name, column in self._columns() if "." not in name}
        return Examples(**plain, **by_name, name=self.name, notes=self.notes, task=self.task)

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        """Some examples after others; all have the same columns."""
        columns = [dict(part._columns()) for part in parts]
        whole = {
            name: np.concatenate([one[name] for one in columns])
            if isinstance(column, np.ndarray)
            else tuple(chain.from_iterable(one[name] for one in columns))
            for name, column in columns[0].items()
        }
        by_name: dict[str, Any] = {
            held: {name.partition(".")[2]: column for name, column in whole.items() if name.startswith(f"{held}.")}
            for held in _BY_NAME
        }
        plain: dict[str, Any] = {name: column for name, column in whole.items() if "." not in name}
        return replace(parts[0], **plain, **by_name)

    @classmethod
    def of(cls, given: Any) -> Examples:
        """Examples as they are, a task's test set, or a list of texts.

        >>> len(Examples.of(["one text", "another"]))
        2
        """
        if isinstance(given, Examples):
            return given
        if isinstance(test := getattr(given, "test", None), Examples):
            return replace(test, name=given.name, notes=given.notes, task=given.fingerprint)
        if isinstance(given, (list, tuple)) and given and all(isinstance(text, str) for text in given):
            return cls(ids=tuple(map(str, range(1, len(given) + 1))), text=tuple(given))
        raise UserError(f"can't read {type(given).__name__}; give Examples, a task, or a list of texts")

    @property
    def fingerprint(self) -> str:
        """The digest of all that is held, but for name, notes and task. A row at a time: texts can be many."""
        whole = hashlib.sha256()
        for name, column in self._columns():
            whole.update(f"{name} {len(column)} {getattr(column, 'dtype', '')}\n".encode())
            if isinstance(column, np.ndarray):
                whole.update(np.ascontiguousarray(column).data)
                continue
            for row in column:
                whole.update(json.dumps(row, default=asdict).encode() + b"\n")
        return whole.hexdigest()[:16]

    def _columns(self) -> list[tuple[str, Any]]:
        """The columns that are there, by name; those of the marks as `marks.KIND`, further ones as `columns.NAME`."""
        about = (*_BY_NAME, "name", "notes", "task")
        plain = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.name not in about)
        named = ((f"{held}.{name}", column) for held in _BY_NAME for name, column in getattr(self, held).items())
        return [(name, column) for name, column in (*plain, *named) if column is not None]
