"""Files of texts that can be read from any row on: lines of text, JSON or CoNLL-U, plain or packed, and Parquet.

A row is known by where it begins (`Row.at`): a byte of the unpacked file, or a row of a Parquet file. A plain file is
entered there at once, a Parquet file at the group of rows that has it. A packed one is unpacked up to there, which is
quick beside reading it with a model; a corpus of many packed files has each file entered by those alone who read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.columns import text_columns
from bertscope.data.options import TaskOptions
from bertscope.data.packed_files import Block, blocks_at, decoded, too_long, unpacked
from bertscope.data.parquet_file import explained_parquet, parquet_header
from bertscope.data.plain_files import refuse_special
from bertscope.data.relations import JsonLines
from bertscope.data.sentences import Sentence
from bertscope.data.table import unpacked_suffix
from bertscope.data.treebank import sentence_of

_SKIPPED = 1 << 20  # bytes of a packed file that are passed over at a time
_AT_A_TIME = 1024  # rows of a Parquet file


class Row(NamedTuple):
    """A row as it is in the file, before it is looked at."""

    at: int
    """Where it begins: a byte of the unpacked file, or a row of a Parquet file, from 0."""
    line: int
    """The number of its first line, or of the row, from 1."""
    raw: Any


@dataclass(frozen=True)
class RowFile(ABC):
    """One file of a corpus."""

    path: Path
    name: str
    """What the ids of its rows begin with."""
    options: TaskOptions

    @abstractmethod
    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        """All rows from that one on."""

    @abstractmethod
    def parse(self, row: Row) -> Sentence | None:
        """What a row holds; None where that is nothing."""


class TextLines(RowFile):
    """A text a line."""

    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        return _lines(self.path, at, line)

    def parse(self, row: Row) -> Sentence | None:
        text = decoded(row.raw, self.path, row.line).strip()
        return Sentence(f"{self.name}:{row.line}", text, ()) if text else None


class ObjectLines(RowFile):
    """An object of JSON a line: see relations.py."""

    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        return _lines(self.path, at, line)

    def parse(self, row: Row) -> Sentence | None:
        return None if row.raw.isspace() else self.lines((row.line, row.raw))

    @cached_property
    def lines(self) -> JsonLines:
        return JsonLines(self.path, self.name)


class Trees(RowFile):
    """Sentences of a treebank, as CoNLL-U."""

    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        lines = ((row.at, row.line, row.raw) for row in _lines(self.path, at, line))
        return (Row(begins, block.line, block) for begins, block in blocks_at(lines, self.path))

    def parse(self, row: Row) -> Sentence | None:
        block: Block = row.raw
        return sentence_of(block, self.path, self.name)


class ColumnRows(RowFile):
    """A column of texts, and with it second texts and ids where there are any."""

    @property
    @abstractmethod
    def columns(self) -> dict[str, str]:
        """What is read, by role: text, pair, id."""

    def parse(self, row: Row) -> Sentence | None:
        cells = {role: row.raw[name] for role, name in self.columns.items()}
        for role, cell in cells.items():
            if not isinstance(cell, str | None) and role != "id":
                raise self._wrong(row, f"column {self.columns[role]!r} has no text")
            if isinstance(cell, str) and len(cell) > limits.LONGEST_TEXT:
                raise self._wrong(row, f"over {limits.LONGEST_TEXT:,} characters")
        if not (text := (cells["text"] or "").strip()):
            return None
        if "pair" in cells and not (cells["pair"] or "").strip():
            raise self._wrong(row, "the second text is blank")
        id = f"{self.name}:{row.line}" if cells.get("id") is None else str(cells["id"])
        return Sentence(id, text, (), pair=cells["pair"].strip() if "pair" in cells else None, first_words=0)

    def _wrong(self, row: Row, what: str) -> UserError:
        return UserError(f"{self.path}, row {row.line}: {what}; mend it, or leave such rows out with --skip-bad")


class ParquetRows(ColumnRows):
    """Those of a Parquet file."""

    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        from pyarrow import parquet

        refuse_special(self.path)
        with explained_parquet(self.path), parquet.ParquetFile(self.path) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            first = sum(sizes[: (group := _group_of(sizes, at))])
            groups, wanted = range(group, len(sizes)), list(self.columns.values())
            for batch in file.iter_batches(_AT_A_TIME, groups, columns=wanted):
                for place, found in enumerate(batch.to_pylist(), start=first):
                    if place >= at:
                        yield Row(place, place + 1, found)
                first += len(batch)

    @cached_property
    def columns(self) -> dict[str, str]:
        header = parquet_header(self.path)
        return text_columns(self.path, header, self.options.text, self.options.text_pair, self.options.id)


_KINDS: Mapping[str, Callable[[Path, str, TaskOptions], RowFile]] = {
    ".txt": TextLines, ".jsonl": ObjectLines, ".conllu": Trees, ".parquet": ParquetRows,
}  # fmt: skip
ENDINGS = tuple(_KINDS)
"""What files of texts are called, also with .gz or .xz behind it; Parquet has a packing of its own."""


def row_file(path: Path, name: str, options: TaskOptions) -> RowFile:
    """A file of texts, by what it is called."""
    return _KINDS[unpacked_suffix(path)](path, name, options)


def _lines(path: Path, at: int, line: int) -> Iterator[Row]:
    """The lines of a file from a byte of what it unpacks to on; a byte order mark is left out."""
    with unpacked(path) as file:
        _pass_over(file, at)
        while raw := file.readline(limits.LONGEST_LINE + 1):
            if len(raw) > limits.LONGEST_LINE:
                raise too_long(path, line)
            yield Row(at, line, raw.removeprefix(b"\xef\xbb\xbf") if not at else raw)
            at, line = at + len(raw), line + 1


def _pass_over(file: BinaryIO, count: int) -> None:
    if file.seekable():
        file.seek(count)
        return
    while count > 0 and (passed := len(file.read(min(count, _SKIPPED)))):
        count -= passed


def _group_of(sizes: list[int], row: int) -> int:
    """The group of rows that has this one."""
    for group, size in enumerate(sizes):
        if row < size:
            return group
        row -= size
    return len(sizes)
