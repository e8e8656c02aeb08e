"""What a question's result says about a single head: declarations from which the report makes the head card.

They are made beside the question, not stored with its results, so that old results get better cards too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class HeadFact:
    """A column of a table with a row, or several, for each `layer` and `head`."""

    table: str
    column: str
    """What is said of the head: words, or a number."""
    label: str
    """What it is called on the card."""
    low: str = ""
    high: str = ""
    """The columns that hold the ends of its interval."""
    by: tuple[str, ...] = ()
    """The columns that tell a head's rows apart, such as `checkpoint`."""
    items: tuple[str, ...] = ()
    """Further such columns, of which only the `top` rows are shown: features, relations."""
    top: int = 3
    order: Literal["value", "rank"] = "value"
    """Which items come first: those with the highest value, or those at which the head is best among the heads."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further columns, and what is written before their values: `{"p": "p"}`."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Only the rows with these values."""
    middle: float | None = None
    """The value that means nothing happened: where its bar begins."""
    ranked: bool = True
    """Whether a number has a bar and a place among the heads; that of a cluster has none."""

    def columns(self) -> list[str]:
        """The columns it needs its table to have."""
        ends = [end for end in (self.low, self.high) if end]
        return ["layer", "head", self.column, *ends, *self.by, *self.items, *self.beside, *self.where]


@dataclass(frozen=True)
class HeadMaps:
    """A small attention map for each row of a table with `checkpoint`, `layer`, `head` and `example`."""

    table: str
    array: str
    """[row of the table, query, key]: 255 times the square root of the attention; 0 beyond the example's tokens."""
    tokens: str
    """The table with each example's tokens in order: `example`, `token`."""
