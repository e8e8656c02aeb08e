"""Files whose rows name their own fields: JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import BadRows
from bertscope.data.delimited import read_text, refuse_long
from bertscope.data.table import Table


def read_jsonl(path: Path, bad: BadRows) -> Table:
    """Read a file with a JSON object on each line; the first one's keys are the columns."""
    lines: list[int] = []
    rows: list[dict[str, Any]] = []
    header: tuple[str, ...] = ()
    for line, content in enumerate(read_text(path, skip_invalid=bad.skip).split("\n"), start=1):
        if not content.strip() or refuse_long(path, line, content, bad):
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


def read_parquet(path: Path) -> Table:
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


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn whatever Arrow finds wrong with a file into one clear line."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        said = " ".join(str(error).split())[:160]
        raise UserError(f"{path} can't be read as Parquet ({said}); write it again") from error


def parse_json(content: str) -> Any:
    """The JSON value, or None where there is none: also for numbers too long and lists too deep to be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
