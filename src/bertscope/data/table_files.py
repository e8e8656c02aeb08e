"""Files as tables: .csv and .tsv, JSON lines, Parquet.

CSV has quotes; TSV, as GLUE writes it, has none: a quotation mark there is part of the text. Whatever doesn't fit
the header is refused with its line: a file that is read a little wrong is worse than one that isn't read.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import WRONG_FIELDS, BadRows
from bertscope.data.table import EXTENSIONS, LONGEST_TEXT, Form, Table, other_separator

LONGEST_LINE = 10 * LONGEST_TEXT
MOST_BROKEN_QUOTES = 100
"""Going on after a quote that is never closed means reading the same lines again: not without end."""

Row = tuple[int, list[str]]
"""The line a row begins on, and its fields."""


def read_table(
    path: Path,
    bad: BadRows | None = None,
    *,
    form: Form | None = None,
    header: tuple[str, ...] = (),
    extra: bool = False,
) -> Table:
    """Read a file whose first line names the columns, or of which `header` does: then the first line may be a row.

    `extra` allows rows to have more fields than the header.
    """
    form = form or EXTENSIONS.get(path.suffix.lower())
    if form is None:
        raise UserError(
            f"{path}: this kind of file isn't read; give a .csv or .tsv file with a header, or .jsonl or .parquet"
        )
    bad = bad or BadRows()
    if form == "jsonl":
        return _jsonl(path, bad)
    if form == "parquet":
        return _parquet(path)
    return _delimited(path, bad, tabs=form == "tsv", header=header, extra=extra)


def _delimited(path: Path, bad: BadRows, *, tabs: bool, header: tuple[str, ...] = (), extra: bool = False) -> Table:
    """Read comma- or tab-separated values; see `read_table`."""
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
            quoting = "texts must not hold tabs" if tabs else "put texts that hold commas in double quotes"
            cure = other_separator(header) or quoting
            count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            message = f"{path}, line {line}: {count}, but the header has {width}; {cure}"
            bad.refuse(WRONG_FIELDS, message)

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
        counts = ", ".join(f"{path.name} {size:,}" for path, size in zip(paths, sizes, strict=True))
        raise UserError(f"{paths[0].parent}: files of one split must have as many lines as each other: {counts}")
    by_name = dict(zip(header, columns, strict=True))
    return Table(paths[0], header, range(1, sizes[0] + 1), lambda column: by_name[column], name)


def _jsonl(path: Path, bad: BadRows) -> Table:
    """Read a file with a JSON object on each line; the first one's keys are the columns."""
    lines: list[int] = []
    rows: list[dict[str, Any]] = []
    header: tuple[str, ...] = ()
    for line, content in enumerate(read_text(path, skip_invalid=bad.skip).split("\n"), start=1):
        if not content.strip() or _refuse_long(path, line, content, bad):
            continue
        row = parse_json(content)
        if not isinstance(row, dict):
            bad.refuse("broken JSON", f"{path}, line {line}: not a JSON object; write one on each line")
            continue
        header = header or tuple(row)
        if missing := [name for name in header if name not in row]:
            bad.refuse("missing key", f"{path}, line {line}: no {missing[0]!r}, which line {lines[0]} has; add it")
            continue
        lines.append(line)
        rows.append(row)
    if not rows:
        raise UserError(f"{path} is empty; each line should hold a JSON object, such as a text and its label")
    return Table(path, header, lines, lambda name: [row[name] for row in rows])


def _parquet(path: Path) -> Table:
    """Read a Parquet file; its rows are counted from 1."""
    from pyarrow import parquet

    if not path.is_file():
        raise UserError(f"{path} is not a plain file; give the file itself")
    with _explained(path):
        about = parquet.ParquetFile(path)
        header, rows = tuple(about.schema_arrow.names), about.metadata.num_rows
    if not rows:
        raise UserError(f"{path} has no rows; add some")

    def cells(name: str) -> Sequence[Any]:
        with _explained(path):
            table = parquet.read_table(path, columns=[name])
            table.validate(full=True)
            values = table[name].to_pylist()
            if len(values) != rows:
                raise ValueError(f"{len(values)} values in column {name!r}, but {rows} rows")
            return values

    return Table(path, header, range(1, rows + 1), cells, unit="row")


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


def parse_json(content: str) -> Any:
    """The JSON value, or None where there is none: also for numbers too long and lists too deep to be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _refuse_long(path: Path, line: int, content: str, bad: BadRows) -> bool:
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
        if content and (len(content) <= LONGEST_LINE or not _refuse_long(path, line, content, bad)):
            yield line, content.split("\t")


def _csv(path: Path, text: str, bad: BadRows) -> Iterator[Row]:
    lines = list(io.StringIO(text, newline=""))
    for number, content in enumerate(lines, start=1):
        if len(content) > LONGEST_LINE:  # always refused: quotes may hold it together with other lines
            raise UserError(_too_long(path, number, content))
    limit = csv.field_size_limit(LONGEST_TEXT)  # Python's own is an eighth of that
    try:
        yield from _csv_rows(path, lines, bad)
    finally:
        csv.field_size_limit(limit)


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


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn whatever Arrow finds wrong with a file into one clear line."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        why = " ".join(str(error).split())[:160]
        raise UserError(f"{path} can't be read as Parquet ({why}); write it again") from error
