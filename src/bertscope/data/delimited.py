"""Text files: their lines, and .csv and .tsv files as tables."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import CUT_ROW, BadRows
from bertscope.data.table import LONGEST_TEXT, Table, other_separator

LONGEST_LINE = 10 * LONGEST_TEXT
MOST_BROKEN_QUOTES = 100
"""Going on after a quote that is never closed means reading the same lines again: not without end."""

Row = tuple[int, list[str]]
"""The line a row begins on, and its fields."""


def read_delimited(
    path: Path, bad: BadRows, *, tabs: bool, header: tuple[str, ...] = (), extra: bool = False
) -> Table:
    """Read comma- or tab-separated values; see `table.read_table`."""
    text = read_text(path, skip_invalid=bad.skip)
    rows: Iterator[Row] = ((line, fields) for line, fields in (_tsv if tabs else _csv)(path, text, bad) if fields)
    first = next(rows, None)
    if first is None:
        cure = "add some rows" if header else "its first line should name the columns, such as text and label"
        raise UserError(f"{path} is empty; {cure}")
    # A quoted name may span lines; messages may not.
    named = tuple(" ".join(name.split()) for name in first[1])
    lines: list[int] = []
    kept: list[list[str]] = []
    if not header:
        header = named
    elif named != header:
        rows = chain([first], rows)
    width = len(header)
    for line, fields in rows:
        if len(fields) == width or (extra and len(fields) > width):
            lines.append(line)
            kept.append(fields)
        else:
            usual = "texts must not hold tabs" if tabs else "put texts that hold commas in double quotes"
            cure = other_separator(header) or usual
            count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            message = f"{path}, line {line}: {count}, but the header has {width}; {cure}"
            bad.refuse(CUT_ROW, message)

    def cells(name: str) -> list[str]:
        at = header.index(name)
        return [row[at] for row in kept]

    table = Table(path, header, lines, cells)
    if not kept:
        raise UserError(f"{path} has a header ({table.columns}) but no rows; add some")
    return table


def read_aligned(paths: Sequence[Path], bad: BadRows, *, header: tuple[str, ...], name: str) -> Table:
    """Read files that are the columns of one table: the n-th lines of all of them are its n-th row."""
    columns = [read_text(path, skip_invalid=bad.skip).removesuffix("\n").split("\n") for path in paths]
    sizes = [0 if column == [""] else len(column) for column in columns]
    if len(set(sizes)) > 1 or not sizes[0]:
        said = ", ".join(f"{path.name} {size:,}" for path, size in zip(paths, sizes, strict=True))
        raise UserError(f"{paths[0].parent}: files of one split must have as many lines as each other: {said}")
    by_name = dict(zip(header, columns, strict=True))
    return Table(paths[0], header, range(1, sizes[0] + 1), lambda column: by_name[column], name)


def read_text(path: Path, *, skip_invalid: bool = False) -> str:
    """A UTF-8 file's text. With `skip_invalid` what isn't UTF-8 becomes lone surrogates: rows with them in a column
    that is used are left out later."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a plain file; give the file itself")
    try:
        raw = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if skip_invalid:
            return raw.decode("utf-8", "surrogateescape")
        line = raw.count(b"\n", 0, error.start) + 1
        seems = " (it seems to be UTF-16)" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ""
        raise UserError(f"{path}, line {line}: not valid UTF-8{seems}; save the file as UTF-8") from error


def refuse_long(path: Path, line: int, content: str, bad: BadRows) -> bool:
    """Whether a line is too long to be split into fields."""
    if len(content) <= LONGEST_LINE:
        return False
    bad.refuse("line too long", _too_long(path, line, content))
    return True


def _too_long(path: Path, line: int, content: str) -> str:
    return f"{path}, line {line}: {len(content):,} characters on one line; is this a file of texts, one on each?"


def _tsv(path: Path, text: str, bad: BadRows) -> Iterator[Row]:
    for line, content in enumerate(text.split("\n"), start=1):
        content = content.removesuffix("\r")
        if content and (len(content) <= LONGEST_LINE or not refuse_long(path, line, content, bad)):
            yield line, content.split("\t")


def _csv(path: Path, text: str, bad: BadRows) -> Iterator[Row]:
    lines = list(io.StringIO(text, newline=""))
    for number, content in enumerate(lines, start=1):
        if len(content) > LONGEST_LINE:  # always refused: quotes may hold it together with other lines
            raise UserError(_too_long(path, number, content))
    usual = csv.field_size_limit(LONGEST_TEXT)  # Python's own is an eighth of that
    try:
        yield from _csv_rows(path, lines, bad)
    finally:
        csv.field_size_limit(usual)


def _csv_rows(path: Path, lines: list[str], bad: BadRows) -> Iterator[Row]:
    start = 0  # lines before the reader's first
    reader = csv.reader(lines, strict=True)
    for _ in range(MOST_BROKEN_QUOTES):
        begins = start
        try:
            while True:
                begins = start + reader.line_num
                fields = next(reader, None)
                if fields is None:
                    return
                yield begins + 1, fields
        except csv.Error as error:
            why, cure = str(error), "check its quotes"
            if "limit" in why:
                why, cure = f"a field of more than {LONGEST_TEXT:,} characters", "shorten it, or close its quotes"
            message = f"{path}, line {begins + 1}: the row that begins here can't be read ({why}); {cure}"
            bad.refuse("broken quotes", message)
            start = begins + 1
            reader = csv.reader(lines[start:], strict=True)
    raise UserError(f"{path}: the quotes of {MOST_BROKEN_QUOTES} rows are broken; is this a .csv file?")
