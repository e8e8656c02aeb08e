"""What a label column may mean besides what it says: several labels in one, one label written in two ways."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from bertscope.data.table import Table, shown

_MARKS = "|;,"
_LEAST_SHARE = 0.02
"""Of the rows, those that must have a mark for it to stand between labels."""


def several_mark(values: Sequence[str]) -> str:
    """The mark that seems to stand between several labels of a row: in three rows or more, and in one of fifty, with
    parts that are on average in two different labels or more, or of which one is a label by itself. '' where none
    does.

    >>> several_mark(["joy|love", "joy|anger", "love|anger", "joy"])
    '|'
    >>> several_mark(["joy|love", "joy", "anger"] * 9)
    '|'
    >>> several_mark(["food, drink", "arts, crafts"] * 9)
    ''
    """
    counts = Counter(values)
    for mark in _MARKS:
        marked = sum(rows for value, rows in counts.items() if mark in value)
        if marked < max(3, _LEAST_SHARE * len(values)):
            continue
        parts = [{part.strip() for part in value.split(mark)} for value in counts]
        by_itself = any(len(each) > 1 and not each.isdisjoint(counts) for each in parts)
        if by_itself or sum(map(len, parts)) >= 2 * len(set().union(*parts)):
            return mark
    return ""


def several_cure(mark: str) -> str:
    """What to say if a row has several labels."""
    return f'if {mark!r} stands between several labels of a row: --several "{mark}"'


def several_note(values: Sequence[str], classes: int) -> tuple[str, ...]:
    """A note on labels that seem to be several, and are read as one."""
    mark = several_mark(values)
    if not mark:
        return ()
    rows = sum(mark in value for value in values)
    example = shown(next(value for value in values if mark in value))
    return (f"{rows:,} labels hold {mark!r} ({example}), and each is one of {classes} classes; {several_cure(mark)}",)


def alike_note(names: Collection[str]) -> tuple[str, ...]:
    """A note on labels that differ in case, or in spaces, only."""
    written = defaultdict[str, list[str]](list)
    for name in names:
        written["".join(name.casefold().split())].append(name)
    alike = [each for each in written.values() if len(each) > 1]
    if not alike:
        return ()
    shown_names = " and ".join(shown(name) for name in alike[0])
    more = f" (and {len(alike) - 1} more like them)" if len(alike) > 1 else ""
    return (
        f"labels {shown_names}{more} differ in case or spaces only, and are different classes; if they are one, "
        "write them alike",
    )


def padding_note(tables: Sequence[Table], column: str) -> tuple[str, ...]:
    """A note on labels with spaces around them, where others of the same name have none: they are left out."""
    cells = {cell for table in tables for cell in table.cells(column) if isinstance(cell, str)}
    padded = sorted(cell for cell in cells if cell != cell.strip() and cell.strip() in cells)
    return (f"spaces around labels, such as {shown(padded[0])}, are left out",) if padded else ()
