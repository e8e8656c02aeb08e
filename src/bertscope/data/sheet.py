"""The rows of a table that can be used: their texts, and what their label column says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BLANK_TEXT, BadRows
from bertscope.data.columns import Columns
from bertscope.data.table import Table, shown


@dataclass(frozen=True)
class Sheet:
    """Some rows of one table, clean."""

    table: Table
    label_column: str
    rows: np.ndarray
    """Which of the table's rows these are."""
    text: tuple[str, ...]
    pair: tuple[str, ...] | None
    values: tuple[str, ...]
    """Empty where only texts are read."""
    ids: tuple[str, ...] | None = None
    """As a column of the user's says; otherwise they say where the rows are."""
    further: tuple[str, ...] = ()
    """The names of columns that are read as they are."""

    def place(self, i: int) -> str:
        return self.table.place(int(self.rows[i]))

    def keep(self, which: np.ndarray) -> Sheet:
        """These rows alone; `which` is a boolean for each."""
        if which.all():
            return self
        at = np.flatnonzero(which)

        def taken(column: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(column[i] for i in at)

        pair = None if self.pair is None else taken(self.pair)
        ids = None if self.ids is None else taken(self.ids)
        return replace(self, rows=self.rows[at], text=taken(self.text), pair=pair, values=taken(self.values), ids=ids)

    def examples(self, label: np.ndarray | None = None) -> Examples:
        ids = self.ids or self.table.ids(self.rows.tolist())
        return Examples(ids, self.text, self.pair, label, columns=self.columns())

    def columns(self) -> dict[str, tuple[str, ...]]:
        """What the rows have in columns that are read as they are."""
        return {name: self._cells(name) for name in self.further}

    def _cells(self, name: str) -> tuple[str, ...]:
        column = self.table.column(name, "--slice")
        cells = [column[row] for row in self.rows.tolist()]
        if None in cells:
            place = self.place(cells.index(None))
            raise UserError(f"{place}: {name!r} holds no single value; name another column with --slice")
        return tuple(cell or "" for cell in cells)


def clean(table: Table, columns: Columns, bad: BadRows) -> Sheet:
    """The table's texts and labels without the rows that have none, or none that can be read."""
    roles = [(columns.text, "--text", "text")]
    if columns.label:
        roles.insert(0, (columns.label, "--label", "label"))
    if columns.pair is not None:
        roles.append((columns.pair, "--text-pair", "text"))
    if columns.id is not None:
        roles.append((columns.id, "--id", "id"))
    at, kept = usable(table, roles, bad)
    values = kept.pop(0) if columns.label else ()
    ids = kept.pop() if columns.id is not None else None
    text, *pair = kept
    return Sheet(table, columns.label, at, text, pair[0] if pair else None, values, ids, columns.further)


def usable(
    table: Table, roles: Sequence[tuple[str, str, str]], bad: BadRows
) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """The rows of which all of these columns can be read, and the columns there. Each is said by its name, the option
    that names it, and what it holds: a text, a label, an id."""
    cells = [table.column(name, flag) for name, flag, _ in roles]
    good = np.ones(len(table), dtype=bool)
    for column, (name, flag, role) in zip(cells, roles, strict=True):
        for wrong, reason, message in _problems(table, column, name, flag, role):
            rows = [row for row in wrong if good[row]]  # a row is left out for one reason only
            if rows:
                bad.refuse(reason, message, len(rows))
                good[rows] = False
    at = np.flatnonzero(good)
    return at, [tuple(column[i] or "" for i in at) for column in cells]


def _problems(
    table: Table, column: list[str | None], name: str, flag: str, role: str
) -> list[tuple[list[int], str, str]]:
    """What is wrong with a column: the rows, the reason, and the message about the first of them."""
    found = []
    if None in column:  # the tests before the loops are what most columns cost
        nested = [row for row, cell in enumerate(column) if cell is None]
        message = f"{table.place(nested[0])}: {name!r} holds no single value; name another column with {flag}"
        found.append((nested, f"{role} is no single value", message))
    if "" in column:
        blank = [row for row, cell in enumerate(column) if cell == ""]
        count = f"{len(blank)} rows are" if len(blank) > 1 else "1 row is"
        cure = f"remove such rows or name another column with {flag}"
        message = f"{table.place(blank[0])}: column {name!r} is blank ({count}); {cure}"
        found.append((blank, BLANK_TEXT if role == "text" else f"blank {role}", message))
    if role == "id" and (again := repeated(column)):
        before = f"{table.unit} {table.lines[column.index(column[again[0]])]} has it too"
        which = f"id {shown(column[again[0]] or '')}, but {before}"
        message = f"{table.place(again[0])}: {which}; give each row its own, or name another column with {flag}"
        found.append((again, "repeated id", message))
    sizes = [len(cell or "") for cell in column]
    if max(sizes, default=0) > limits.LONGEST_TEXT:
        long = [row for row, size in enumerate(sizes) if size > limits.LONGEST_TEXT]
        many = f"{sizes[long[0]]:,} characters, over {limits.LONGEST_TEXT:,}"
        message = f"{table.place(long[0])}: column {name!r} has {many}; shorten it"
        found.append((long, f"{role} too long", message))
    if invalid := _not_unicode(column):
        message = f"{table.place(invalid[0])}: column {name!r} is not valid Unicode; mend it"
        found.append((invalid, "not valid UTF-8", message))
    return found


def repeated(column: Sequence[str | None]) -> list[int]:
    """The rows whose value another row before them has."""
    first: dict[str | None, int] = {}
    return [row for row, cell in enumerate(column) if cell and first.setdefault(cell, row) != row]


def _not_unicode(column: list[str | None]) -> list[int]:
    """The rows with half a character in them: lone surrogates, which JSON can write and no tokenizer reads."""

    if is_unicode("".join(cell or "" for cell in column)):
        return []
    return [row for row, cell in enumerate(column) if not is_unicode(cell or "")]


def is_unicode(text: str) -> bool:
    """Whether a text has no half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
