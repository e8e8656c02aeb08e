"""Columns that are about the rows themselves: which split a row is of, and its number."""

from __future__ import annotations

from collections.abc import Collection

from bertscope.data.splits import Own
from bertscope.data.table import Table, shown

_SPLIT = "split"
_LEAST_NUMBERED = 21
"""Fewer rows may have as many classes, whose ids then look like row numbers."""
_ROLES = {
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


def by_split(table: Table, taken: Collection[str | None]) -> tuple[Own[list[Table]], tuple[str, ...]]:
    """The table in parts as its column `split` says, unless the user has `taken` that for something else; and a note.
    A column that says something else is left alone."""
    whole = Own([table])
    column = next((name for name in table.header if name.strip().lower() == _SPLIT and name not in taken), None)
    if column is None or table.header.count(column) > 1:
        return whole, ()
    cells = [cell.lower() if cell else "" for cell in table.column(column, "--label")]
    other = sorted(set(cells) - set(_ROLES))
    parts = {role: [row for row, cell in enumerate(cells) if _ROLES.get(cell) == role] for role in _ROLES.values()}
    counts = ", ".join(f"{role} {len(rows):,}" for role, rows in parts.items() if rows)
    lacks = f"it has {shown(other[0])}" if other else "it has only " + counts if not _divides(parts) else ""
    if lacks:
        return whole, (f"column {column!r} isn't taken for the splits: {lacks}",)
    train, validation, test = ([table.take(rows)] if rows else None for rows in parts.values())
    assert train is not None
    both = validation and test
    own = Own(train, validation, test) if both else Own(train, None, validation or test)
    return own, (f"column {column!r} says which rows are which: {counts}",)


def _divides(parts: dict[str, list[int]]) -> bool:
    return bool(parts["train"] and (parts["validation"] or parts["test"]))


def counts_rows(table: Table, column: str) -> bool:
    """Whether a column repeats the row number, from 0 or from 1."""
    if len(table) < _LEAST_NUMBERED or table.header.count(column) > 1:  # of two, whoever reads one says so
        return False
    cells = table.cells(column)
    first = str(cells[0]).strip()
    if first not in ("0", "1"):
        return False
    return all(str(cell).strip() == str(number) for number, cell in enumerate(cells, start=int(first)))
