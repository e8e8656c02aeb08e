"""A file as named columns, each row with the place it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from bertscope.core import limits
from bertscope.core.errors import UserError

Form = Literal["csv", "tsv", "jsonl", "json", "parquet"]
EXTENSIONS: dict[str, Form] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".json": "json",
}
PACKINGS = (".gz", ".xz")
"""What a file's name may end with besides: `reviews.csv.gz`. Parquet has a packing of its own."""


@dataclass(frozen=True)
class Table:
    """The rows of one file. `cells` gives a column by name, read only when it is asked for."""

    path: Path
    header: tuple[str, ...]
    lines: Sequence[int]
    """Where each row begins."""
    cells: Callable[[str], Sequence[Any]]
    name: str = ""
    """What ids begin with; the file's name without its extension unless it is given."""
    unit: str = "line"
    """What `lines` counts."""

    def __post_init__(self) -> None:
        if len(self.header) > limits.MOST_COLUMNS:
            many = f"{len(self.header):,} columns, over {limits.MOST_COLUMNS:,}"
            raise UserError(f"{self.path} has {many}; is it a table of texts and labels?")

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str, flag: str) -> list[str | None]:
        """The fields of one column without the white space around them, '' where there is nothing, None where there
        is no single value. `flag` is the option by which the user names the column."""
        if name not in self.header:
            close = get_close_matches(name, self.header, n=1)
            cure = f"did you mean {close[0]!r}?" if close else f"name one with {flag}"
            cure = other_separator(self.header) or cure
            raise UserError(f"{self.path} has no column {name!r}, only {self.columns}; {cure}")
        refuse_two(self.path, self.header, name)
        return [cell.strip() if isinstance(cell, str) else _plain(cell) for cell in self.cells(name)]

    def place(self, row: int) -> str:
        """Where a row is, for a message."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def ids(self, rows: Iterable[int]) -> tuple[str, ...]:
        prefix = self.name or stem_of(self.path)
        return tuple(f"{prefix}:{self.lines[row]}" for row in rows)

    def take(self, rows: Sequence[int]) -> Table:
        """These rows alone."""

        def cells(name: str) -> list[Any]:
            column = self.cells(name)
            return [column[row] for row in rows]

        return replace(self, lines=[self.lines[row] for row in rows], cells=cells)

    @property
    def columns(self) -> str:
        """The header for a message: a file that isn't a table may have anything there, and a lot of it."""
        names = ", ".join(name if name.isprintable() else repr(name) for name in self.header)
        return names if len(names) <= 200 else names[:197] + "..."


def refuse_two(path: Path, header: Sequence[str], name: str) -> None:
    """Refuse a column that is there twice."""
    if header.count(name) > 1:
        raise UserError(f"{path}: two columns are named {name!r}; rename one")


def unpacked_suffix(path: Path) -> str:
    """The ending of a file's name that says what it holds, in lower case.

    >>> unpacked_suffix(Path("reviews.CSV.gz")), unpacked_suffix(Path("reviews.csv"))
    ('.csv', '.csv')
    """
    return Path(_unpacked_name(path)).suffix.lower()


def stem_of(path: Path) -> str:
    """A file's name without what it ends with."""
    return Path(_unpacked_name(path)).stem


def _unpacked_name(path: Path) -> str:
    return path.stem if path.suffix.lower() in PACKINGS else path.name


def other_separator(header: Sequence[str]) -> str:
    """What to do about a header of one name that seems to be several; empty of any other."""
    mark = next((mark for mark in ";|\t," if mark in header[0]), "") if len(header) == 1 else ""
    return f"if {mark!r} stands between columns, save it as .csv with commas or as .tsv with tabs" if mark else ""


def shown(value: str) -> str:
    """A value as a message quotes it: on one line, and not too long."""
    return repr(value if len(value) <= 40 else value[:37] + "...")


def is_missing(cell: Any) -> bool:
    """Whether nothing is in a cell: NaN is what programs have for nothing among numbers."""
    return cell is None or (isinstance(cell, float) and cell != cell)


def _plain(cell: Any) -> str | None:
    """A value of a typed file as text."""
    if is_missing(cell):
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(cell) if isinstance(cell, int | float | Decimal) else None
