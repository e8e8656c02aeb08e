"""What the page says of single rows of the data: which results are about the same rows, and their texts, once.

Rows are the same where the data is: results are joined by what their data holds and how it is read, never by a row's
id alone. Texts are many: they stand on the page once, whatever number of results hold them, and only so much of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bertscope.core import lineage, registry
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.question import DATA, Question
from bertscope.core.result import Result
from bertscope.core.row_card import ROW, RowFact
from bertscope.core.step import Root, Step
from bertscope.core.words import Words
from bertscope.report import packed
from bertscope.report.privacy import own_name

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.report.finding import Finding

TEXTS, OTHER_TEXTS = 4_000_000, 2_000_000
"""How many bytes of rows' own texts a page holds, and of other long texts about them, such as those of neighbours."""
LONGEST, SHORTEST = 1000, 100
"""Characters of a text. Where there isn't room for so many, all texts are cut alike, but for less than the second
number none would say anything: texts are left out instead."""
_LONG = 60
"""Characters of what is a text, and no label."""
_OTHER_ROWS = (
    "limit",
    "root",
    "skip_bad",
    "metric",
    "windows",
    "label_threshold",
    "without",
    "at_random",
    "split",
    "slice",
)
"""Ways to read data that leave each row what it is."""


@dataclass(frozen=True)
class DataRows:
    """The rows of one data set."""

    key: str
    name: str
    total: int
    models: list[str]
    tasks: list[str]
    notes: list[str]
    data: str
    """Their ids and texts, packed."""


@dataclass(frozen=True)
class _About:
    """A result about rows."""

    key: str
    name: str
    facts: list[RowFact]
    result: Result

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The tables and columns with the rows' own texts."""
        found = [fact for fact in self.facts if fact.shown == "text"]
        return list(dict.fromkeys((fact.table, name) for fact in found for name in (fact.column, *fact.beside)))


class PageRows:
    """The rows that the results of one page are about."""

    def __init__(self, findings: Sequence[Finding], parts: Iterable[str] = ()) -> None:
        """`parts` are the ids of results that others were made of: what they say of rows isn't on the page."""
        self._parts = set(parts)
        about = {finding.step.id: _about(finding) for finding in findings}
        found = {id: one for id, one in about.items() if one and id not in self._parts}
        with_texts = {one.key for one in found.values() if one.texts}
        self._about = {id: one for id, one in found.items() if one.key in with_texts}
        self._left_out = {id: one for id, one in about.items() if one and id in self._parts}
        self._room = OTHER_TEXTS // max(1, len(self._about))

    def facts(self, step: str) -> dict[str, Any] | None:
        """What the cards of rows show of a result, and of which data the rows are; None if nothing."""
        one = self._about.get(step)
        return {"data": one.key, "facts": [asdict(fact) for fact in one.facts]} if one else None

    def left_out(self, step: str) -> list[str]:
        """The tables of a result that aren't on the page."""
        one = self._left_out.get(step)
        return sorted({fact.table for fact in one.facts}) if one else []

    def table(self, step: str, name: str, frame: pd.DataFrame) -> dict[str, Any]:
        """A table as the page holds it; one about rows has their texts elsewhere, and says once what comes often."""
        one, whole = self._about.get(step), packed.table(frame)
        if one is None or name not in {fact.table for fact in one.facts}:
            return whole
        own = {column for table, column in one.texts if table == name}
        long = [place for place, column in enumerate(frame.columns) if column not in own and _is_long(frame[column])]
        cells = [
            {"rows": one.key, "column": column} if column in own else _said_once(values)
            for column, values in zip(whole["columns"], whole["cells"], strict=True)
        ]
        for place in long:
            texts = list(dict.fromkeys(text for text in whole["cells"][place] if isinstance(text, str)))
            kept = dict(zip(texts, _cut(texts, self._room // len(long))[0], strict=True))
            cells[place] = _said_once([kept.get(text, text) for text in whole["cells"][place]])
        return {**whole, "cells": cells}

    def data(self, entries: Iterable[Mapping[str, Any]]) -> list[DataRows]:
        """The data sets whose rows have cards, as the page's answers (their `entry`) are about them."""
        by_key: dict[str, list[Mapping[str, Any]]] = {}
        for entry in entries:
            if entry["rows"]:
                by_key.setdefault(entry["rows"]["data"], []).append(entry)
        return [self._data(key, said, TEXTS // len(by_key)) for key, said in by_key.items()]

    def _data(self, key: str, entries: Sequence[Mapping[str, Any]], room: int) -> DataRows:
        about = [self._about[entry["id"]] for entry in entries]
        texts: dict[str, dict[str, str]] = {}  # of each column, by row
        ids: dict[str, None] = {}
        for one in sorted(about, key=lambda one: not one.texts):  # the data's own order first
            for table in dict.fromkeys(fact.table for fact in one.facts):
                ids |= dict.fromkeys(map(str, one.result.tables[table][ROW].dropna()))
            for table, column in one.texts:
                frame = one.result.tables[table].dropna(subset=[ROW, column])
                of_rows = dict(zip(map(str, frame[ROW]), map(str, frame[column]), strict=True))
                texts[column] = of_rows | texts.get(column, {})
        columns, notes = {}, []
        for column, of_rows in texts.items():
            kept, told = _cut([of_rows.get(id, "") for id in ids], room // len(texts))
            columns[column] = kept
            notes += told
        frame = {"columns": [ROW, *columns], "decimals": [None] * (1 + len(columns)),
                 "cells": [list(ids), *columns.values()]}  # fmt: skip
        models, tasks = ({name: None for entry in entries for name in entry[of]} for of in ("models", "tasks"))
        return DataRows(
            key, about[0].name, len(ids), list(models), list(tasks), list(dict.fromkeys(notes)),
            packed.pack({"tables": {"rows": frame}}),
        )  # fmt: skip


def _about(finding: Finding) -> _About | None:
    facts = known_facts(finding.result, registry.still_declared(finding.result.question))
    if not facts:
        return None
    name = finding.result.subject.get("task", "")
    return _About(f"rows-{_data_digest(finding.step, name)}", name or "the data", facts, finding.result)


def known_facts(result: Result, declared: Question | None) -> list[RowFact]:
    """What is declared, without what this result hasn't got."""
    found, words = [], declared.words if declared else {}
    for fact in declared.row_card if declared else ():
        frame = result.tables.get(fact.table)
        if frame is not None:
            there = {column: label for column, label in fact.beside.items() if column in frame}
            fact = replace(fact, beside=there, by=tuple(column for column in fact.by if column in frame))
            found += [_in_words(fact, words)] if set(fact.columns()) <= set(frame.columns) else []
    return found


def _in_words(fact: RowFact, words: Words) -> RowFact:
    """With the values that it names as the table on the page has them."""
    known = words.get(fact.column, {})
    said = {known.get(value, value) if isinstance(value, str) else value: told for value, told in fact.called.items()}
    wrong = (known.get(value, value) if isinstance(value, str) else value for value in fact.wrong)
    return replace(fact, called=said, wrong=tuple(wrong))


def _data_digest(step: Step, task: str) -> str:
    """What the rows are rows of: the data by content, as it is read, and what the result calls it."""
    own = [one for one in step.inputs.values() if isinstance(one, Root) and one.kind in DATA]
    roots = own or lineage.roots(step, *DATA)
    root = next((one for one in roots if own_name(one.source) == task), roots[0] if roots else None)
    read = {name: value for name, value in root.options.items() if name not in _OTHER_ROWS} if root else {}
    return digest_text(canonical_json([task, root.digest if root else step.id, read]))[:12]


def _is_long(column: pd.Series) -> bool:
    texts = (one for one in column if isinstance(one, str))
    return any(len(one) > _LONG for one in texts)


def _said_once(cells: list[Any]) -> list[Any] | dict[str, list[Any]]:
    """A column of words that come again and again: each once, and by number where it stands."""
    values = {value: place for place, value in enumerate(dict.fromkeys(cells))}
    if not cells or len(values) > len(cells) // 2 or not all(isinstance(value, str | None) for value in values):
        return cells
    return {"values": list(values), "codes": [values[cell] for cell in cells]}


def _cut(texts: Sequence[str], room: int) -> tuple[list[str], list[str]]:
    """As much of each text as there is room for, and what to say of the rest.

    >>> _cut(["a" * 300, "short"], 205)[0][0][-3:], _cut(["a" * 300, "short"], 205)[1]
    ('aa…', ['Texts are cut after 200 characters: a page holds only so much of them.'])
    """
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    letters = sum(map(len, texts))
    room = room * letters // max(size, 1)  # in characters
    lengths = [len(text) for text in texts]
    low, high = SHORTEST, LONGEST
    while low < high:  # the longest that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(one, middle) for one in lengths) <= room else (low, middle - 1)
    kept, used = list[str](), 0
    for text in texts:
        used += min(len(text), low)
        kept.append("" if used > room else text if len(text) <= low else f"{text[:low]}…")
    cut, out = sum(text != whole and bool(text) for text, whole in zip(kept, texts, strict=True)), 0
    out = sum(bool(whole) and not text for text, whole in zip(kept, texts, strict=True))
    said = [f"Texts are cut after {low:,} characters: a page holds only so much of them."] if cut else []
    return kept, [*said, *([f"The texts of {out:,} rows are left out: a page holds only so much."] if out else [])]
