"""Files whose rows name their own fields: JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    import pyarrow
    from pyarrow import parquet

    def explained(error: Exception) -> UserError:
        said = " ".join(str(error).split())[:160]
        return UserError(f"{path} can't be read as Parquet ({said}); write it again")

    def cells(name: str) -> Sequence[Any]:
        try:
            column = parquet.read_table(path, columns=[name])
            column.validate(full=True)
            return column.column(0).to_pylist()
        except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
            raise explained(error) from error

    if not path.is_file():
        raise UserError(f"{path} is not a plain file; give the file itself")
    try:
        about = parquet.ParquetFile(path)
        header, rows = tuple(about.schema_arrow.names), about.metadata.num_rows
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise explained(error) from error
    if not rows:
        raise UserError(f"{path} has no rows; add some")
    return Table(path, header, range(1, rows + 1), cells, unit="row")


def parse_json(content: str) -> Any:
    """The JSON value, or None where there is none: also for numbers too long and lists too deep to be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
