"""Several labels a text, from a table: a column of lists, one with a sign between labels, or a column for each label.

Whatever a table has, it becomes one column of lists, written as JSON, so that whoever reads tables goes on reading
cells of text. What can't be a list of labels becomes a JSON string that says why, and is refused with its row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import BadRows
from bertscope.data.labels import class_names
from bertscope.data.sheet import Sheet
from bertscope.data.table import Table, shown

_YES, _NO = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}


@dataclass(frozen=True)
class LabelLists:
    """How a table's cells become lists of labels."""

    column: str
    """What the user calls the column; where each label has one, their names with commas between them."""
    sign: str = ""
    """What stands between labels in one cell."""
    each: tuple[str, ...] = ()
    """The labels, where each has a column of its own."""

    @classmethod
    def of(cls, table: Table, column: str, sign: str | None, *, wanted: bool) -> LabelLists | None:
        """How a table has several labels a text; None where it hasn't, which is refused if they are `wanted`."""
        each = tuple(name.strip() for name in column.split(","))
        if column not in table.header and len(each) > 1 and set(each) <= set(table.header):
            if sign:
                raise UserError(f"each of {column} is a label's own column; leave out --several")
            return cls(column, each=each)
        if column in table.header and isinstance(_first(table.cells(column)), list | tuple | set):
            return cls(column)
        if sign:
            return cls(column, sign)
        if wanted:
            raise UserError(
                f"{table.path}: column {column!r} has no lists of labels; say what stands between the labels of a "
                "text (--several '|'), or name a column for each label (--label joy,anger)"
            )
        return None

    def need_sign(self, tables: Iterable[Table]) -> None:
        """Refuse a sign that stands nowhere: every text would have one label."""
        tables = list(tables)
        if self.sign and not any(self.sign in (cell or "") for one in tables for cell in one.column(*self._named)):
            raise UserError(
                f"{tables[0].path}: no row has {self.sign!r} in column {self.column!r}; name the sign that stands "
                "between its labels, or leave out --several: each text has one label"
            )

    def is_in(self, table: Table) -> bool:
        return set(self.each or [self.column]) <= set(table.header)

    def table(self, table: Table) -> Table:
        """The table with the column of lists."""
        header = table.header if self.column in table.header else (*table.header, self.column)

        def cells(name: str) -> Sequence[Any]:
            return [json.dumps(one) for one in self._lists(table)] if name == self.column else table.cells(name)

        return replace(table, header=header, cells=cells)

    @property
    def _named(self) -> tuple[str, str]:
        return self.column, "--label"

    def _lists(self, table: Table) -> Iterable[list[str] | str]:
        if self.each:
            return _from_columns(self.each, [table.column(name, "--label") for name in self.each])
        if self.sign:
            return [_parted(cell, self.sign) for cell in table.column(*self._named)]
        table.column(*self._named)  # or there is none of that name, or two
        self._refuse_yes_and_no(table)
        return [_listed(cell) for cell in table.cells(self.column)]

    def _refuse_yes_and_no(self, table: Table) -> None:
        """Refuse lists that say 1 or 0 of each label in its place: nobody can have the label 0 twice."""
        lists = [cell for cell in table.cells(self.column) if isinstance(cell, list | tuple)]
        sizes = {len(one) for one in lists}
        signs = all(isinstance(one, int) and one in (0, 1) for each in lists for one in each)
        if signs and len(sizes) == 1 and any(len(set(one)) < len(one) for one in lists):
            raise UserError(
                f"{table.path}: {self.column!r} says yes or no for each of {max(sizes)} labels, and not what they "
                "are called; give the names of those that a text has, or a column for each label (--label joy,anger)"
            )


def names_in(sheets: Iterable[Sheet]) -> tuple[str, ...]:
    """All labels that the sheets' rows have."""
    return class_names({name for sheet in sheets for value in sheet.values for name in _read(value)})


def to_several(
    sheet: Sheet, names: Sequence[str], bad: BadRows, *, numbered: bool = False
) -> tuple[Sheet, np.ndarray]:
    """The rows whose labels are all known, and which they have: int64 [row, label] of 1 and 0. A row may have none.

    `numbered` labels may also be given as their places.
    """
    index = {str(place): place for place in range(len(names))} if numbered else {}
    index |= {name: place for place, name in enumerate(names)}
    found, usable = np.zeros((len(sheet.values), len(names)), dtype=np.int64), np.ones(len(sheet.values), dtype=bool)
    for row, value in enumerate(map(json.loads, sheet.values)):
        unknown = [] if isinstance(value, str) else [name for name in value if name not in index]
        if isinstance(value, str):
            bad.refuse("no list of labels", f"{sheet.place(row)}: {value}")
        elif unknown:
            known = ", ".join(names)
            bad.refuse("unknown label", f"{sheet.place(row)}: label {shown(unknown[0])} is none of {known}; mend it")
        else:
            found[row, [index[name] for name in value]] = 1
            continue
        usable[row] = False
    return sheet.keep(usable), found[usable]


def _read(value: str) -> list[str]:
    parsed = json.loads(value)
    return parsed if isinstance(parsed, list) else []


def _first(cells: Sequence[Any]) -> Any:
    return next((cell for cell in cells if cell is not None and cell != ""), None)


def _parted(cell: str | None, sign: str) -> list[str] | str:
    if cell is None:
        return "the labels are no text; give lists without --several"
    if cell.strip().casefold() == "nan":
        return f"{shown(cell)} stands for missing labels; leave it blank if the text has none"
    return [name for part in cell.split(sign) if (name := part.strip())]


def _listed(cell: Any) -> list[str] | str:
    if not isinstance(cell, list | tuple | set):
        return f"{shown(str(cell))} instead of a list of labels; write [] where a text has none"
    if wrong := [one for one in cell if not isinstance(one, str | int) or one == ""]:
        return f"{shown(str(wrong[0]))} can't be a label; write names or whole numbers"
    return [one.strip() if isinstance(one, str) else str(one) for one in cell]


def _from_columns(labels: Sequence[str], columns: Sequence[Sequence[str | None]]) -> Iterable[list[str] | str]:
    for cells in zip(*columns, strict=True):
        said = [str(cell).casefold() for cell in cells]
        wrong = [at for at, cell in enumerate(said) if cell not in _YES | _NO]
        if wrong:
            yield f"column {labels[wrong[0]]!r} says {shown(cells[wrong[0]] or '')}; write 1 or 0"
        else:
            yield [label for label, cell in zip(labels, said, strict=True) if cell in _YES]
