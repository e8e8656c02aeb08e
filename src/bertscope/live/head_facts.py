"""The rows of a stored table that are about heads, as a question declares them: as numbers for all heads, and for one
head as words with its place among the others. The report's page does the same in the browser (`facts.js`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.head_card import HeadFact
from bertscope.core.model_record import ModelRecord
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.live.messages import Fact
from bertscope.report.values import texts, with_ends

Head = tuple[int, int]
"""Layer and number, from 1."""
_CHECKPOINT = "checkpoint"


@dataclass(frozen=True, eq=False)
class Line:
    """A row of the table."""

    head: Head
    by: tuple[str, ...]
    items: tuple[str, ...]
    """What tells it from the head's other rows, in words."""
    value: Any
    low: float | None
    high: float | None
    beside: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, eq=False)
class FactRows:
    """All rows that a fact is about."""

    fact: HeadFact
    lines: list[Line]

    @property
    def is_number(self) -> bool:
        return all(isinstance(line.value, bool | int | float | np.number | np.bool_) for line in self.lines)

    @property
    def has_ranks(self) -> bool:
        """Whether a head has a place among the others: yes and no have none."""
        return self.is_number and self.fact.ranked and not any(isinstance(one.value, bool) for one in self.lines)


@dataclass(frozen=True, eq=False)
class HeadRows:
    """A number for each head."""

    fact: HeadFact
    by: tuple[str, ...]
    values: Mapping[Head, float]

    @property
    def key(self) -> str:
        return ".".join((self.fact.table, self.fact.column, *self.fact.where.values(), *self.by))

    @property
    def label(self) -> str:
        best = ": the best" if self.fact.items else ""
        return ", ".join((f"{self.fact.label}{best}", *self.by))

    def grid(self, counts: Sequence[int]) -> list[list[float | None]]:
        return [
            [self.values.get((layer, head)) for head in range(1, count + 1)]
            for layer, count in enumerate(counts, start=1)
        ]


def rows_of(fact: HeadFact, result: Result, question: Question, record: ModelRecord) -> FactRows:
    """Those of the checkpoint with this record, where the table tells of several; none where a result lacks them."""
    table = result.tables.get(fact.table)
    needed = [*fact.where, *fact.by, *fact.items, fact.column, "layer", "head"]
    if table is None or not set(needed) <= set(table.columns):
        return FactRows(fact, [])
    for column, value in fact.where.items():
        table = table[table[column] == value]
    if _CHECKPOINT in fact.by:
        own = [key for key, one in result.models.items() if one.is_same(record)]
        table = table[table[_CHECKPOINT].isin(own[:1])]
    table = table.dropna(subset=["layer", "head", fact.column])
    apart = [name for name in fact.by if name != _CHECKPOINT]
    return FactRows(fact, list(_lines(fact, table.to_dict("records"), apart, question)))


def _lines(fact: HeadFact, rows: Sequence[Any], apart: Sequence[str], question: Question) -> Iterator[Line]:
    def word(column: str, value: Any) -> str:
        return str(question.words.get(column, {}).get(value, value))

    for row in rows:
        ends = [row.get(name) if name else None for name in (fact.low, fact.high)]
        low, high = (None if end is None or np.isnan(end) else float(end) for end in ends)
        beside = tuple((label, row[name]) for name, label in fact.beside.items() if name in row)
        value = row[fact.column]
        yield Line(
            head=(int(row["layer"]), int(row["head"])),
            by=tuple(word(name, row[name]) for name in apart),
            items=tuple(word(name, row[name]) for name in fact.items),
            value=word(fact.column, value) if isinstance(value, str) else value,
            low=low,
            high=high,
            beside=beside,
        )


def coloured(rows: FactRows) -> Iterator[HeadRows]:
    """Numbers for all heads: of several items of a head the highest."""
    if not rows.lines or not rows.is_number or not rows.fact.ranked:
        return
    for by in dict.fromkeys(line.by for line in rows.lines):
        values = dict[Head, float]()
        for line in rows.lines:
            if line.by == by:
                values[line.head] = max(values.get(line.head, -np.inf), float(line.value))
        if all(np.isfinite(list(values.values()))):
            yield HeadRows(rows.fact, by, values)


def told(rows: FactRows, layer: int, head: int) -> list[Fact]:
    """What is said of one head; of many items the first few."""
    fact = rows.fact
    own = [line for line in rows.lines if line.head == (layer, head)]
    ranks = {id(line): _rank(rows, line) for line in own} if rows.has_ranks else {}
    if fact.items and ranks:
        shown = list[Line]()
        for by in dict.fromkeys(line.by for line in own):
            some = [line for line in own if line.by == by]
            some.sort(key=lambda line: (ranks[id(line)][0] if fact.order == "rank" else 0, -line.value))
            shown += some[: fact.top]
        own = shown
    return [_fact(fact, line, ranks.get(id(line))) for line in own]


def _rank(rows: FactRows, line: Line) -> tuple[int, int, int, int]:
    """How many heads' rows of the same kind are above, below and the same, and how many there are."""
    among = [each.value for each in rows.lines if (each.by, each.items) == (line.by, line.items)]
    above, below = (sum(test) for test in ([v > line.value for v in among], [v < line.value for v in among]))
    return above, below, len(among) - above - below - 1, len(among)


def _fact(fact: HeadFact, line: Line, rank: tuple[int, int, int, int] | None) -> Fact:
    apart = ", ".join((*line.by, *line.items))
    value, low, high = with_ends(line.value, line.low, line.high)
    notes = [
        f"{low} to {high}" if line.low is not None and line.high is not None else "",
        *(f"{label} {texts([each])[0]}".strip() for label, each in line.beside),
        _in_words(*rank) if rank else "",
    ]
    return Fact(f"{fact.label}{f': {apart}' if apart else ''}", value, " · ".join(note for note in notes if note))


def _in_words(above: int, below: int, same: int, of: int) -> str:
    """Counted from the nearer end; where many heads share the value, a place among them would say nothing.

    >>> _in_words(0, 143, 0, 144), _in_words(2, 141, 0, 144), _in_words(3, 0, 1, 5), _in_words(10, 10, 80, 101)
    ('highest of 144', '3rd highest of 144', 'lowest of 5 (shared)', 'like 80 others of 101')
    """
    if of < 2:
        return ""
    if same >= of / 4:
        return f"like {same} others of {of}"
    place, end = (above + 1, "highest") if above <= below else (below + 1, "lowest")
    return f"{end if place == 1 else f'{_ordinal(place)} {end}'} of {of}{' (shared)' if same else ''}"


def _ordinal(n: int) -> str:
    last = 0 if 10 < n % 100 < 14 else n % 10
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"
