"""Parquet files as tables. A column is read a few rows at a time, and equal texts are held once: a file of some
kilobytes may have millions of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core import limits
from bertscope.core.errors import UserError, in_a_line
from bertscope.core.limits import mebibytes
from bertscope.data.bad_rows import BadRows
from bertscope.data.plain_files import every_nth, is_taken, refuse_special, too_many
from bertscope.data.table import Table

_AT_A_TIME = 4096


def read_parquet(path: Path, bad: BadRows) -> Table:
    """Read a Parquet file; its rows are counted from 1."""
    from pyarrow import parquet

    refuse_special(path)
    with explained_parquet(path), parquet.ParquetFile(path) as about:
        header, rows = tuple(about.schema_arrow.names), about.metadata.num_rows
    if not rows:
        raise UserError(f"{path} has no rows; add some")
    every = 1
    while rows > every * limits.MOST_ROWS:
        every *= 2
    lines: Sequence[int] = range(1, rows + 1)
    if every > 1:
        if not bad.few:
            raise too_many(path, f"{limits.MOST_ROWS:,} rows")
        lines = _taken(0, rows, every).tolist()
        bad.not_held.append(every_nth(path, rows, "rows", every))

    def cells(name: str) -> Sequence[Any]:
        with explained_parquet(path):
            return _column(path, name, rows, every)

    return Table(path, header, lines, cells, unit="row")


def parquet_header(path: Path) -> tuple[str, ...]:
    """The names of a Parquet file's columns."""
    from pyarrow import parquet

    refuse_special(path)
    with explained_parquet(path), parquet.ParquetFile(path) as file:
        return tuple(file.schema_arrow.names)


def _column(path: Path, name: str, rows: int, every: int) -> list[Any]:
    """The values of the rows that are read, one in `every`."""
    import pyarrow
    from pyarrow import parquet

    values: list[Any] = []
    met = size = 0
    with parquet.ParquetFile(path) as file:
        kind = file.schema_arrow.field(name).type
    texts = [name] if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) else []
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(_AT_A_TIME, columns=[name]):
            column = batch.column(0)
            if every > 1:
                column = column.take(pyarrow.array(_taken(met, len(batch), every) - met - 1))
            met += len(batch)
            found = _values(column)
            values += found
            size += sum(len(one) if isinstance(one, str | bytes) else 8 for one in found)
            if size > limits.MOST_HELD:
                raise UserError(
                    f"{path}: column {name!r} has over {mebibytes(limits.MOST_HELD)} of text, more than is held in "
                    "memory at once; split the file"
                )
    if met != rows:
        raise ValueError(f"{met} values in column {name!r}, but {rows} rows")
    return values


def _taken(before: int, count: int, every: int) -> np.ndarray:
    """Which of so many rows after others are read, counted from 1."""
    rows = np.arange(before + 1, before + count + 1)
    return rows[is_taken(rows.astype(np.uint64), every)]


def _values(column: Any) -> list[Any]:
    """What a few rows hold, each text once."""
    import pyarrow

    if not isinstance(column, pyarrow.DictionaryArray):
        column.validate(full=True)
        return column.to_pylist()
    places = column.indices.to_pylist()
    different = sorted({at for at in places if at is not None})
    texts = column.dictionary.take(pyarrow.array(different, pyarrow.int64()))
    texts.validate(full=True)
    by_place = dict(zip(different, texts.to_pylist(), strict=True))
    return [by_place.get(at) for at in places]


@contextmanager
def explained_parquet(path: Path) -> Iterator[None]:
    """Turn whatever Arrow finds wrong with a file into one clear line."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        raise UserError(f"{path} can't be read as Parquet ({in_a_line(error)}); write it again") from error
