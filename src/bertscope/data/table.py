"""A .csv or .tsv file as named columns of text, each row with the line it begins on.

CSV has quotes; TSV, as GLUE writes it, has none: a quotation mark there is part of the text. Whatever doesn't fit
the header is refused with its line: a file that is read a little wrong is worse than one that isn't read.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from bertscope.core.errors import UserError

EXTENSIONS = (".csv", ".tsv")

Row = tuple[int, list[str]]
"""The line a row begins on, and its fields."""


@dataclass(frozen=True)
class Table:
    """The rows of one file; fields are stripped of the white space around them."""

    path: Path
    header: tuple[str, ...]
    lines: np.ndarray
    rows: list[list[str]]

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, flag: str) -> list[str]:
        """The fields of one column; `flag` is the option by which the user names it."""
        if name not in self.header:
            close = get_close_matches(name, self.header, n=1)
            cure = f"did you mean {close[0]!r}?" if close else f"name one with {flag}"
            raise UserError(f"{self.path} has no column {name!r}, only {self.columns}; {cure}")
        if self.header.count(name) > 1:
            raise UserError(f"{self.path}: two columns are named {name!r}; rename one")
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def texts(self, name: str, flag: str) -> tuple[str, ...]:
        """A column in which every row must say something."""
        column = self.column(name, flag)
        blank = [i for i, field in enumerate(column) if not field]
        if blank:
            count = f"{len(blank)} rows are" if len(blank) > 1 else "1 row is"
            raise UserError(
                f"{self.path}, line {self.lines[blank[0]]}: column {name!r} is blank ({count}); "
                f"remove such rows or name another column with {flag}"
            )
        return tuple(column)

    @property
    def columns(self) -> str:
        """The header for a message."""
        return _listed(self.header)


def read_table(path: Path) -> Table:
    """Read a .csv or .tsv file whose first line names the columns."""
    if path.suffix.lower() not in EXTENSIONS:
        raise UserError(f"{path}: this kind of file isn't read; give a {' or '.join(EXTENSIONS)} file with a header")
    tabs = path.suffix.lower() == ".tsv"
    text = _decode(path)
    rows = ((line, fields) for line, fields in (_tsv if tabs else _csv)(path, text) if fields)
    _, first = next(rows, (1, []))
    if not first:
        raise UserError(f"{path} is empty; its first line should name the columns, such as text and label")
    # A quoted name may span lines; messages may not.
    header = tuple(" ".join(name.split()) for name in first)
    lines, kept = [], []
    for line, fields in rows:
        if len(fields) != len(header):
            cure = "texts must not hold tabs" if tabs else "put texts that hold commas in double quotes"
            raise UserError(
                f"{path}, line {line}: {_count(fields, 'field')}, but the header has {len(header)}; {cure}"
            )
        lines.append(line)
        kept.append([field.strip() for field in fields])
    if not kept:
        raise UserError(f"{path} has a header ({_listed(header)}) but no rows; add some")
    return Table(path, header, np.array(lines), kept)


def shown(value: str) -> str:
    """A value as a message quotes it: on one line, and not too long."""
    return repr(value if len(value) <= 40 else value[:37] + "...")


def _listed(names: tuple[str, ...]) -> str:
    """Column names for a message: a file that isn't a table may have anything there, and a lot of it."""
    said = ", ".join(name if name.isprintable() else repr(name) for name in names)
    return said if len(said) <= 200 else said[:197] + "..."


def _decode(path: Path) -> str:
    try:
        raw = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not valid UTF-8; save the file as UTF-8") from error


def _tsv(path: Path, text: str) -> Iterator[Row]:
    for line, content in enumerate(text.split("\n"), start=1):
        content = content.removesuffix("\r")
        yield line, content.split("\t") if content else []


def _csv(path: Path, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise UserError(
                f"{path}, line {begins}: the row that begins here can't be read ({error}); check its quotes"
            ) from error
        if fields is None:
            return
        yield begins, fields


def _count(fields: list[str], word: str) -> str:
    return f"1 {word}" if len(fields) == 1 else f"{len(fields)} {word}s"
