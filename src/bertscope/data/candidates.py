"""Candidate texts to choose from, in a table: a column with lists of them, or a column for each.

Which is right is said by its place (from 0, or from 1 where no row says 0 and one says as many as it has candidates),
by a letter, by what a list calls its candidates, or by its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BadRows
from bertscope.data.sheet import Sheet
from bertscope.data.table import Table, is_missing, shown

_LISTS = ("choices", "endings", "candidates", "options")
_EACH = re.compile(r"(ending|choice|candidate|option|sol|solution)_?\d+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Candidates = tuple[tuple[str, ...], tuple[str, ...]]
"""A row's texts, and what the row calls them; nothing where it gives them no names."""


@dataclass(frozen=True)
class CandidateColumns:
    """Where a table has the candidates."""

    names: tuple[str, ...]
    lists: bool
    """Whether it is one column of lists; otherwise each candidate has a column."""
    from_one: bool = False
    """Whether places are counted from 1."""

    @classmethod
    def of(cls, table: Table, given: str | None, *, wanted: bool) -> CandidateColumns | None:
        """The columns that the user names, or those that are called so; None where there are none, which is refused
        if they are `wanted`."""
        if given is not None:
            names = (given,) if given in table.header else tuple(name.strip() for name in given.split(","))
        else:
            names = next(
                ((name,) for name in table.header if name.lower() in _LISTS and _holds_lists(table, name)), ()
            )
            names = names or tuple(sorted(filter(_is_one, table.header), key=_number))
        if len(names) == 1:
            table.column(names[0], "--choices")  # or there is none of that name
            if _holds_lists(table, names[0]):
                return cls(names, lists=True)
        if len(names) > 1 and (wanted or given is not None or names[0].lower().startswith("ending")):
            return cls(names, lists=False)
        if wanted or given is not None:
            raise UserError(
                f"{table.path}: no column has candidate texts to choose from; name the one with a list of them, or "
                "those with one each, with --choices (such as --choices ending0,ending1)"
            )
        return None

    def examples(self, sheet: Sheet, bad: BadRows) -> Examples:
        """The rows that have two candidates or more, one of which is right."""
        found = list(self.candidates(sheet))
        choices, label, usable = [], [], np.ones(len(found), dtype=bool)
        for row, (said, (texts, names)) in enumerate(zip(sheet.values, found, strict=True)):
            if len(texts) < 2 or not all(texts):
                what = (
                    "1 candidate" if len(texts) == 1 else f"{len(texts)} candidates" if all(texts) else "a blank one"
                )
                bad.refuse("no candidates", f"{sheet.place(row)}: {what}; a choice needs two texts or more")
            elif (place := self._place(said, texts, names)) is None:
                first = int(self.from_one)
                bad.refuse(
                    "no such candidate",
                    f"{sheet.place(row)}: label {shown(said)} is none of {len(texts)} candidates; give "
                    f"{first} to {len(texts) - 1 + first}, a letter, or the candidate itself",
                )
            else:
                before = f"{sheet.pair[row]} " if sheet.pair else ""
                choices.append(tuple(f"{before}{text}" for text in texts))
                label.append(place)
                continue
            usable[row] = False
        found_label = np.array(label, dtype=np.int64)
        return replace(sheet.keep(usable).examples(found_label), pair=None, choices=tuple(choices))

    def counted(self, sheets: Iterable[Sheet]) -> tuple[CandidateColumns, tuple[str, ...]]:
        """The same, with what places are counted from, and what to say about it. Where no label is 0, and one is the
        number of its candidates, they are counted from 1."""
        said = [
            (value, *found) for one in sheets for value, found in zip(one.values, self.candidates(one), strict=True)
        ]
        if not all(value.isdecimal() and value != "0" and value not in names for value, _, names in said):
            return self, ()
        if any(value == str(len(texts)) for value, texts, _ in said):
            return replace(self, from_one=True), ("labels count candidates from 1: none says 0",)
        return self, ("no label says 0, though candidates are counted from 0",)

    def candidates(self, sheet: Sheet) -> Iterable[Candidates]:
        """Those of each of the sheet's rows."""
        columns = [sheet.table.cells(name) for name in self.names]
        for row in sheet.rows.tolist():
            yield _listed(columns[0][row]) if self.lists else (_texts(column[row] for column in columns), ())

    def _place(self, said: str, texts: Sequence[str], names: Sequence[str]) -> int | None:
        if said in names:
            return names.index(said)
        if said.removesuffix(".0").isdecimal():
            place = int(said.removesuffix(".0")) - self.from_one
            return place if 0 <= place < len(texts) else None
        if said in texts:
            return texts.index(said)
        letter = _LETTERS.find(said.lower()) if len(said) == 1 else -1
        return letter if 0 <= letter < len(texts) else None


def _texts(cells: Iterable[Any]) -> tuple[str, ...]:
    """Texts without white space around them; blank ones at the end aren't there."""
    found = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def _listed(cell: Any) -> Candidates:
    """A list of texts; or, as ARC has it, the texts and what they are called."""
    if isinstance(cell, Mapping):
        names = cell.get("label")
        return _listed(cell.get("text"))[0], tuple(map(str, names)) if isinstance(names, list | tuple) else ()
    if not isinstance(cell, list | tuple):
        return (), ()
    if cell and all(isinstance(one, Mapping) and "text" in one for one in cell):
        return _texts(one["text"] for one in cell), tuple(str(one.get("label", "")) for one in cell)
    return tuple(one.strip() if isinstance(one, str) else "" for one in cell), ()


def _holds_lists(table: Table, name: str) -> bool:
    first = next((cell for cell in table.cells(name) if cell is not None and cell != ""), None)
    return isinstance(first, list | tuple | Mapping)


def _is_one(name: str) -> bool:
    return _EACH.fullmatch(name.lower()) is not None


def _number(name: str) -> tuple[str, int]:
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :])
