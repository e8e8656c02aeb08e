"""The data's own rows: what each checkpoint says of them, searched and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.data.answers_in_words import gold_in_words, predicted_in_words
from bertscope.data.metrics import METRICS
from bertscope.data.outputs import output_of
from bertscope.data.task import Task
from bertscope.live.checkpoints import Side
from bertscope.live.messages import AskRows, Order, Reading, Row, Rows
from bertscope.models.finite_pass import measuring
from bertscope.models.predict import predicted

MOST = 2000
"""Rows that are predicted."""
_COUNT = 100
"""Rows that are told at once."""
_PLAIN = ("classification", "several", "regression", "vectors")
"""Kinds that can be told of texts of which nothing else is known."""
_SHORT = 200
"""Letters of what is shown first."""


@dataclass(frozen=True, eq=False)
class _Said:
    """What a checkpoint says of all rows."""

    words: Sequence[str]
    p: np.ndarray
    """[row]: NaN where there is none."""
    right: np.ndarray
    """[row]: 1 or 0; NaN where nothing is right or wrong."""
    error: np.ndarray
    """[row]: how far a score is off; 0 of other kinds."""


class DataRows:
    def __init__(self, sides: Sequence[Side], data: Task | Examples | None) -> None:
        self._sides, self._data = sides, data
        whole = data.test if isinstance(data, Task) else data
        self._all = 0 if whole is None else len(whole)
        self._examples = None if whole is None else whole.take(range(min(MOST, len(whole))))

    def __len__(self) -> int:
        return 0 if self._examples is None else len(self._examples)

    @property
    def pairs(self) -> bool:
        return self._examples is not None and self._examples.pair is not None

    @property
    def told(self) -> str:
        """What the rows are from, and how many of them there are where that isn't all."""
        if self._data is None:
            return ""
        name = self._data.name or "texts"
        split = " (test)" if isinstance(self._data, Task) else ""
        limited = f", the first {MOST:,} of {self._all:,} rows" if self._all > MOST else ""
        return f"{name}{split}{limited}"

    def example(self) -> Reading | None:
        """The first row that isn't long; None where there is none."""
        short = (row for row in range(len(self)) if self._letters(row) <= _SHORT)
        row = next(short, 0)
        return self._reading(row) if len(self) and self._texts(row)[0].strip() else None

    def found(self, asked: AskRows) -> Rows:
        """Those with what is searched in one of their texts, in the order that is asked for."""
        if self._examples is None:
            raise UserError("there is no data to take rows from; open it with some")
        if asked.order not in get_args(Order):
            raise UserError(f"unknown order {asked.order!r}; known: {', '.join(get_args(Order))}")
        if asked.first < 0 or not 1 <= asked.count <= _COUNT:
            raise UserError(f"first is 0 or more, and count 1 to {_COUNT}; {asked.first} and {asked.count} are given")
        wanted = asked.search.casefold()
        order = [row for row in self._order(asked.order) if not wanted or wanted in self._folded[row]]
        some = order[asked.first : asked.first + asked.count]
        return Rows([self._row(row) for row in some], len(order))

    def _row(self, row: int) -> Row:
        assert self._examples is not None
        right = self._said[0].right[row]
        return Row(
            id=self._examples.ids[row],
            reading=self._reading(row),
            gold=self._gold[row],
            said=[said.words[row] for said in self._said],
            p=[None if np.isnan(said.p[row]) else float(said.p[row]) for said in self._said],
            right=None if np.isnan(right) else bool(right),
        )

    def _order(self, by: Order) -> list[int]:
        """Wrong ones first, of scores those that are furthest off, and of equals the least sure."""
        if by == "file":
            return list(range(len(self)))
        first = self._said[0]
        sure = np.nan_to_num(first.p, nan=np.inf)
        keys = (sure,) if by == "unsure" else (sure, -first.error, np.nan_to_num(first.right, nan=1.0))
        return np.lexsort(keys).tolist()

    def _texts(self, row: int) -> list[str]:
        examples = self._examples
        assert examples is not None
        second = [] if examples.pair is None else [examples.pair[row]]
        return [examples.text[row], *second, *(examples.choices[row] if examples.choices else ())]

    def _letters(self, row: int) -> int:
        return sum(map(len, self._texts(row)))

    def _reading(self, row: int) -> Reading:
        examples = self._examples
        assert examples is not None
        return Reading(
            examples.text[row],
            None if examples.pair is None else examples.pair[row],
            list(examples.choices[row]) if examples.choices else [],
        )

    @cached_property
    def _folded(self) -> list[str]:
        return ["\n".join(self._texts(row)).casefold() for row in range(len(self))]

    @cached_property
    def _said(self) -> list[_Said]:
        return [self._of_side(side) for side in self._sides]

    @cached_property
    def _gold(self) -> list[str]:
        given = [self._data] if isinstance(self._data, Task) and not self._data.needs_model else []
        task = next((task for task in (*(side.task for side in self._sides), *given) if task is not None), None)
        if task is None:
            return [""] * len(self)
        return gold_in_words(task.output, task.test.take(range(len(self))))

    def _of_side(self, side: Side) -> _Said:
        assert self._examples is not None
        if side.task is not None:
            task = side.task
            examples = task.test.take(range(len(self)))
            return _said(
                task.output, examples, side.encoder.predict(examples, task.output), task.output.gold(examples)
            )
        asked = side.asked(Reading("", "" if self.pairs else None))
        if asked is None or asked.kind not in _PLAIN or isinstance(self._data, Task):
            nothing = np.full(len(self), np.nan)
            return _Said([""] * len(self), nothing, nothing, np.zeros(len(self)))
        output = output_of(asked.kind, "", asked.names, METRICS[asked.kind][0])
        with measuring([side.encoder]), asked.sparing():
            return _said(output, self._examples, predicted(asked, self._examples), None)


def _said(output: Output, examples: Examples, found: Predictions, gold: np.ndarray | None) -> _Said:
    outputs = output.in_order(found.logits, found.labels)[0]
    says = output.predictions(outputs)
    known = gold is not None
    right = output.correct(says, gold) if gold is not None else np.full(len(examples), np.nan)
    blank = np.zeros(says.shape, dtype=np.int64)  # how sure a decision is doesn't depend on what is right
    decided = output.decisions(outputs, gold if gold is not None else blank)
    p = np.full(len(examples), np.nan) if decided is None else decided.lowest(decided.confidence, len(examples))
    scores = output.kind in ("regression", "vectors") and known
    error = np.abs(says - gold) if scores and gold is not None else np.zeros(len(examples))
    return _Said(predicted_in_words(output, examples, says), p, right, error)
