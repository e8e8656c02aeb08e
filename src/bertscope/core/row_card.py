"""What a question's result says about one row of the data: declarations from which the report makes the row card.

A table about rows has a column `row`, the example's id (`test:12`), and its result's subject names the data
(`task`). As of heads (`head_card.py`), what is shown is declared beside the question and not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ROW = "row"
"""The column of a table that holds examples' ids."""


@dataclass(frozen=True)
class RowFact:
    """A column of a table with a line, or several, for each `row`."""

    table: str
    column: str
    label: str
    """What it is called on the card."""
    shown: Literal["value", "text", "words", "list"] = "value"
    """value: as it is, a number with its place among the rows; text: the row's own text; words: the words of the text
    in the table's order, each coloured by its `strength`; list: all of the row's lines, one after the other."""
    strength: str = ""
    """Of words: the column with what each is coloured by, above and below 0."""
    by: tuple[str, ...] = ()
    """The columns that tell a row's lines apart, such as `model` or what is explained."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further columns, and what is written before their values."""
    chosen_by: bool = False
    """Whether a reader can choose rows by its values: right or wrong, fixed or broken."""
    sorted_by: bool = False
    """Whether a reader can put rows in its order."""
    ends: tuple[str, str] = ("", "")
    """What the rows are called that come first in its order, and in its order from the highest: `least sure`."""
    called: Mapping[Any, str] = field(default_factory=dict)
    """Words for its values, where they are no words themselves: `{True: "right", False: "wrong"}`."""
    wrong: tuple[Any, ...] = ()
    """The values that are mistakes: they stand out."""
    listed: bool = False
    """Whether the list of rows shows it."""
    of_row: bool = False
    """Whether it is the row's own, whoever tells it: its label. It stands at the top of the card, once."""

    def columns(self) -> list[str]:
        """The columns it needs its table to have."""
        return [ROW, self.column, *([self.strength] if self.strength else []), *self.by, *self.beside]
