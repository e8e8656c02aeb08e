"""Files as tables: .csv and .tsv, JSON lines and arrays, Parquet; all but the last also packed (.gz, .xz).

CSV has quotes; TSV, as GLUE writes it, has none: a quotation mark there is part of the text. Whatever doesn't fit
the header is refused with its line: a file that is read a little wrong is worse than one that isn't read. Files are
read a line at a time, none longer than `core/limits.py` says.
"""

from __future__ import annotations

import codecs
import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.bad_rows import WRONG_FIELDS, BadRows
from bertscope.data.json_files import holds_array, parse_json, read_array
from bertscope.data.packed_files import unpacked
from bertscope.data.parquet_file import read_parquet
from bertscope.data.plain_files import Kept, read_whole
from bertscope.data.table import EXTENSIONS, PACKINGS, Form, Table, other_separator, unpacked_suffix

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
    form = form or EXTENSIONS.get(unpacked_suffix(path))
    if form is None or (form == "parquet" and path.suffix.lower() in PACKINGS):
        raise UserError(
            f"{path}: this kind of file isn't read; give a .csv or .tsv file with a header, or .jsonl or .parquet"
        )
    bad = bad or BadRows()
    if form == "jsonl" or (form == "json" and not holds_array(path)):
        return _jsonl(path, bad)
    if form == "json":
        return _array(path, bad)
    if form == "parquet":
        return read_parquet(path, bad)
    return _delimited(path, bad, tabs=form == "tsv", header=header, extra=extra)


def _delimited(path: Path, bad: BadRows, *, tabs: bool, header: tuple[str, ...] = (), extra: bool = False) -> Table:
    """Read comma- or tab-separated values; see `read_table`."""
    rows: Iterator[Row] = ((line, fields) for line, fields in (_tsv if tabs else _csv)(path, bad) if fields)
    first = next(rows, None)
    if first is None:
        cure = "add some rows" if header else "its first line should name the columns, such as text and label"
        raise UserError(f"{path} is empty; {cure}")
    # A quoted name may span lines; messages may not.
    named = tuple(" ".join(name.split()) for name in first[1])
    kept = Kept[Row](path, few=bad.few)
    if not header:
        header = named
    elif named != header:
        rows = chain([first], rows)
    width = len(header)
    for line, fields in rows:
        if len(fields) == width or (extra and len(fields) > width):
            kept.add((line, fields), sum(map(len, fields)))
        else:
            quoting = "texts must not hold tabs" if tabs else "put texts that hold commas in double quotes"
            cure = other_separator(header) or quoting
            count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            message = f"{path}, line {line}: {count}, but the header has {width}; {cure}"
            bad.refuse(WRONG_FIELDS, message)

    def cells(name: str) -> list[str]:
        at = header.index(name)
        return [fields[at] for _, fields in kept.rows]

    bad.not_held += kept.note()
    table = Table(path, header, [line for line, _ in kept.rows], cells)
    if not kept.rows:
        raise UserError(f"{path} has a header ({table.columns}) but no rows; add some")
    return table


def read_aligned(paths: Sequence[Path], bad: BadRows, *, header: tuple[str, ...], name: str) -> Table:
    """Read files that are the columns of one table: the n-th lines of all of them are its n-th row."""
    columns = [[line.removesuffix("\n") for line in _lines(path, bad)] for path in paths]
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1 or not sizes[0]:
        counts = ", ".join(f"{path.name} {size:,}" for path, size in zip(paths, sizes, strict=True))
        raise UserError(f"{paths[0].parent}: files of one split must have as many lines as each other: {counts}")
    by_name = dict(zip(header, columns, strict=True))
    return Table(paths[0], header, range(1, sizes[0] + 1), lambda column: by_name[column], name)


def _jsonl(path: Path, bad: BadRows) -> Table:
    """Read a file with a JSON object on each line; the first one's keys are the columns."""
    contents = (
        (line, content) for line, content in enumerate(_lines(path, bad, skip_long=True), 1) if content.strip()
    )
    return _objects(path, ((line, parse_json(content), len(content)) for line, content in contents), "line", bad)


def read_json_lines(path: Path, text: str, bad: BadRows) -> Table:
    """The same of a file that is held already, such as one of a zip."""
    contents = ((line, content) for line, content in enumerate(text.split("\n"), 1) if content.strip())
    return _objects(path, ((line, parse_json(content), len(content)) for line, content in contents), "line", bad)


def _array(path: Path, bad: BadRows) -> Table:
    """Read a file with a JSON array of objects; the first one's keys are the columns."""
    return _objects(path, ((number, row, 0) for number, row in enumerate(read_array(path), start=1)), "row", bad)


def _objects(path: Path, objects: Iterable[tuple[int, Any, int]], unit: str, bad: BadRows) -> Table:
    """Objects as rows, each with its number and size; `unit` is what is numbered."""
    kept = Kept[tuple[int, dict[str, Any]]](path, few=bad.few)
    header: tuple[str, ...] = ()
    for number, row, size in objects:
        if not isinstance(row, dict):
            bad.refuse("broken JSON", f"{path}, {unit} {number}: not a JSON object; write one on each {unit}")
            continue
        header = header or tuple(row)
        if missing := [name for name in header if name not in row]:
            first = f"which {unit} {kept.rows[0][0]} has"
            bad.refuse("missing key", f"{path}, {unit} {number}: no {missing[0]!r}, {first}; add it")
            continue
        kept.add((number, row), size)
    if not kept.rows:
        raise UserError(f"{path} is empty; each {unit} should hold a JSON object, such as a text and its label")
    bad.not_held += kept.note()
    numbers = [number for number, _ in kept.rows]
    return Table(path, header, numbers, lambda name: [row[name] for _, row in kept.rows], unit=unit)


def read_text(path: Path, most: int = limits.LARGEST_WHOLE) -> str:
    """A UTF-8 file's text, of at most so many bytes."""
    raw = read_whole(path, most).removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, raw.count(b"\n", 0, error.start) + 1, raw) from error


def _not_utf8(path: Path, line: int, start: bytes) -> UserError:
    seems = " (it seems to be UTF-16)" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ""
    return UserError(f"{path}, line {line}: not valid UTF-8{seems}; save the file as UTF-8")


def _lines(path: Path, bad: BadRows, *, newline: str = "\n", skip_long: bool = False) -> Iterator[str]:
    """The lines of a UTF-8 file with their ends, without a byte order mark.

    Where bad rows are skipped, what isn't UTF-8 becomes lone surrogates: rows with them in a column that is used are
    left out later. With `skip_long` a line that is too long is such a row, and comes as an empty one.
    """
    with unpacked(path) as raw:
        errors = "surrogateescape" if bad.skip else "strict"
        text, number = TextIOWrapper(raw, "utf-8-sig", errors, newline), 0
        try:
            while line := text.readline(limits.LONGEST_ROW + 1):
                number += 1
                if len(line) > limits.LONGEST_ROW:
                    _refuse_long(path, number, bad if skip_long else None)
                    while line and not line.endswith("\n"):
                        line = text.readline(limits.LONGEST_ROW)
                    line = "\n"
                yield line
        except UnicodeDecodeError as error:
            raise _first_not_utf8(path) from error


def _first_not_utf8(path: Path) -> UserError:
    """Which line isn't UTF-8: the decoder, which reads ahead, doesn't say."""
    with unpacked(path) as file:
        decoder, line, start = codecs.getincrementaldecoder("utf-8")(), 1, b""
        while piece := file.read(1 << 16):
            start = start or piece[:2]
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                return _not_utf8(path, line + error.object.count(b"\n", 0, error.start), start)
            line += piece.count(b"\n")
        return _not_utf8(path, line, start)


def _refuse_long(path: Path, line: int, bad: BadRows | None) -> None:
    long = f"over {limits.LONGEST_ROW:,} characters on one line"
    message = f"{path}, line {line}: {long}; is this a file of texts, one on each?"
    if bad is None:
        raise UserError(message)
    bad.refuse("line too long", message)


def _tsv(path: Path, bad: BadRows) -> Iterator[Row]:
    for line, content in enumerate(_lines(path, bad, skip_long=True), start=1):
        content = content.removesuffix("\n").removesuffix("\r")
        if content:
            yield line, content.split("\t")


def _csv(path: Path, bad: BadRows) -> Iterator[Row]:
    limit = csv.field_size_limit(limits.LONGEST_TEXT)  # Python's own is an eighth of that
    try:
        # A line that is too long is always refused: quotes may hold it together with other lines.
        yield from _csv_rows(path, _lines(path, bad, newline=""), bad)
    finally:
        csv.field_size_limit(limit)


def _csv_rows(path: Path, lines: Iterator[str], bad: BadRows) -> Iterator[Row]:
    begins = 0  # lines before the row that is read
    of_row: list[str] = []
    again = deque[str]()

    def fed() -> Iterator[str]:
        size = 0
        while (line := again.popleft() if again else next(lines, None)) is not None:
            size = len(line) + (size if of_row else 0)
            of_row.append(line)
            if size > limits.LONGEST_ROW:
                raise csv.Error(f"it has more than {limits.LONGEST_ROW:,} characters")
            yield line

    for _ in range(limits.MOST_BROKEN_QUOTES):
        reader = csv.reader(fed(), strict=True)
        try:
            while (fields := next(reader, None)) is not None:
                yield begins + 1, fields
                begins += len(of_row)
                of_row.clear()
            return
        except csv.Error as error:
            why, cure = str(error), "check its quotes"
            if "limit" in why:
                why, cure = (
                    f"a field of more than {limits.LONGEST_TEXT:,} characters",
                    "shorten it, or close its quotes",
                )
            message = f"{path}, line {begins + 1}: the row that begins here can't be read ({why}); {cure}"
            bad.refuse("broken quotes", message)
            again.extendleft(reversed(of_row[1:]))
            begins += 1
            of_row.clear()
    raise UserError(f"{path}: the quotes of {limits.MOST_BROKEN_QUOTES} rows are broken; is this a .csv file?")
