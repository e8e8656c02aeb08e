"""What the store knows of the checkpoints' heads: colours for all of them, a card for each, parts to switch off.

A question that declares a head card (`core/head_card.py`) is told here without another word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.core import registry
from bertscope.core.head_card import HeadFact
from bertscope.core.lineage import newest
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.core.subject import Subject
from bertscope.core.units import Unit, every
from bertscope.live import head_facts
from bertscope.live.checkpoints import Side
from bertscope.live.head_facts import HeadRows
from bertscope.live.messages import AskHead, Card, Colouring, Fact, Preset

if TYPE_CHECKING:
    import pandas as pd

_TEN = 10
_SURVIVORS = "survivors"
"""The table, and the array [seed, part], in which questions that prune tell what is left."""


@dataclass(frozen=True, eq=False)
class _Answer:
    """A stored answer about one of the checkpoints."""

    step: Step
    result: Result
    question: Question

    @property
    def told(self) -> str:
        """What it is about, beside the checkpoint."""
        return ", ".join(str(value) for value in self.result.subject.values() if value)


class StoreFacts:
    def __init__(self, sides: Sequence[Side], store: Store | None) -> None:
        self._sides, self._store = sides, store

    @cached_property
    def colourings(self) -> list[Colouring]:
        return [
            Colouring(
                key=f"{answer.step.id}:{rows.key}",
                label=f"{answer.question.name}: {rows.label}{f' ({answer.told})' if answer.told else ''}",
                model=place,
                signed=rows.fact.middle == 0.0 and min(rows.values.values()) < 0,
                values=rows.grid(self._sides[place].encoder.head_counts),
            )
            for place, answer, rows in self._numbers()
        ]

    @cached_property
    def presets(self) -> list[Preset]:
        """What pruning took away, the heads that matter most, and as many at random."""
        found = list[Preset]()
        for place, side in enumerate(self._sides):
            for answer in self._answers[place]:
                found += _pruned(place, answer)
                found += _foremost(place, answer, side.encoder.head_counts)
            found.append(_at_random(place, side.encoder.head_counts))
        return found

    def card(self, asked: AskHead) -> Card:
        """What is known of a head, with its place among the heads."""
        name = self._sides[asked.model].opened.name
        facts = [
            Fact(fact.label, fact.value, f"{fact.note}{' · ' if fact.note else ''}{_source(answer)}")
            for answer, rows in self._of_heads(asked.model)
            for fact in head_facts.told(rows, asked.layer, asked.head)
        ]
        return Card(f"head {asked.layer}.{asked.head} of {name}", facts)

    def _numbers(self) -> Iterator[tuple[int, _Answer, HeadRows]]:
        for place in range(len(self._sides)):
            for answer, fact_rows in self._of_heads(place):
                yield from ((place, answer, rows) for rows in head_facts.coloured(fact_rows))

    def _of_heads(self, place: int) -> Iterator[tuple[_Answer, head_facts.FactRows]]:
        """What answers say of a checkpoint's heads, as their questions declare it."""
        record = self._sides[place].record
        for answer in self._answers[place]:
            for fact in answer.question.card or ():
                if isinstance(fact, HeadFact):
                    yield answer, head_facts.rows_of(fact, answer.result, answer.question, record)

    @cached_property
    def _answers(self) -> list[list[_Answer]]:
        """Of each checkpoint, the answers that say something of it: of the same asking the latest."""
        stored = list(self._stored())
        return [[answer for answer in stored if _speaks_of(side, answer)] for side in self._sides]

    def _stored(self) -> Iterator[_Answer]:
        if self._store is None:
            return
        for one in newest(self._store.finished(results=True)):
            question = registry.still_declared(one.step.name)
            if question is not None and question.card:
                yield _Answer(one.step, self._store.result(one.step), question)


def _source(answer: _Answer) -> str:
    return f"{answer.question.name}{f', {answer.told}' if answer.told else ''}"


def _speaks_of(side: Side, answer: _Answer) -> bool:
    record = side.record
    if any(isinstance(fact, HeadFact) and "checkpoint" in fact.by for fact in answer.question.card or ()):
        return any(one.is_same(record) for one in answer.result.models.values())
    trained = record.trained_on
    task = side.task.name if side.task is not None else trained.name if trained else ""
    return Subject(record, task).is_told_by(answer)


def _pruned(place: int, answer: _Answer) -> list[Preset]:
    """All but what is left of a model: of several seeds' masks, the smallest that still did the task."""
    table = answer.result.tables.get(_SURVIVORS)
    if table is None or "unit" not in table:
        return []
    masks = answer.result.arrays.get(_SURVIVORS)
    if masks is not None:
        kept = masks[np.argmin(masks.sum(1))].astype(bool)
        label = f"what the good ticket lacks: the smallest of {len(masks)} ({_source(answer)})"
    elif "survives" in table:
        kept, label = table["survives"].to_numpy(bool), f"what pruning removed ({_source(answer)})"
    else:
        return []
    off = [str(unit) for unit in table["unit"][~kept]]
    return [Preset(f"{answer.step.id}:{_SURVIVORS}", label, place, off)] if off else []


def _foremost(place: int, answer: _Answer, counts: Sequence[int]) -> list[Preset]:
    """The ten heads that matter most, by each ranking that the question declares."""
    found = []
    for by, ranks in answer.question.ranks.items():
        table = answer.result.tables.get(ranks.table)
        if table is None or not {"unit", "kind", ranks.column, *ranks.where} <= set(table.columns):
            continue
        heads = _where(table[table["kind"] == "head"], ranks.where).dropna(subset=[ranks.column])
        first = heads.sort_values(ranks.column, ascending=False, kind="stable").head(_TEN)
        off = [str(unit) for unit in first["unit"]]
        label = f"the {len(off)} heads that matter most, by {by.replace('_', ' ')} ({_source(answer)})"
        found += [Preset(f"{answer.step.id}:{by}", label, place, off)] if off else []
    return found


def _where(table: pd.DataFrame, where: Any) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def _at_random(place: int, counts: Sequence[int]) -> Preset:
    """The same ones every time."""
    heads: list[Unit] = every("head", counts)
    some = np.random.default_rng(0).permutation(len(heads))[:_TEN]
    off = [str(heads[at]) for at in sorted(some.tolist())]
    return Preset(f"random:{place}", f"{len(off)} heads at random", place, off)
