"""Slices of the rows: those that have a label, a length, a word, or a value of a column in common.

They are what a model's mistakes are looked for in (`core/max_t.py`). A slice may overlap others; one that holds all
rows or none is left out, and so is one that holds all rows but those of another of its kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.data.slices import folded

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEAST, MOST = 0.02, 0.5
"""A word's slice is tried that holds at least and at most this share of the rows."""
_MOST_VALUES = 20  # of a column: with more, numbers are cut at their quartiles
_FEWEST = 2  # rows: one alone can't be told from chance
_QUARTERS = ("lowest", "second", "third", "highest")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True, eq=False)
class RowSlices:
    """Slices of n rows, in the order of their kinds."""

    kind: tuple[str, ...]
    """What each is by: `label`, `length`, `unknown`, `truncated`, `column`, `word`."""
    name: tuple[str, ...]
    """What each is, in words: the label, the word."""
    member: csr_array
    """[slice, n] of 0 and 1."""

    def __len__(self) -> int:
        return len(self.name)

    def take(self, at: Sequence[int] | np.ndarray) -> RowSlices:
        at = [int(one) for one in at]
        kept = self.member[at]
        return RowSlices(tuple(self.kind[i] for i in at), tuple(self.name[i] for i in at), kept)

    def rows(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each slice's name and the places of its rows."""
        starts, places = self.member.indptr, self.member.indices
        for at, name in enumerate(self.name):
            yield name, np.sort(places[starts[at] : starts[at + 1]])


def row_slices(
    examples: Examples,
    output: Output,
    *,
    flags: Mapping[str, np.ndarray] | None = None,
    words: bool = True,
) -> RowSlices:
    """The slices of examples that a task's `output` tells the labels of.

    `flags` are further ones by kind, [n] of true and false, such as what only a tokenizer knows: `unknown` (pieces)
    and `truncated`. `words=False` leaves those of words out.
    """
    found: list[tuple[str, str, np.ndarray]] = [
        *_labels(examples, output),
        *(("length", name, rows) for name, rows in quarters(lengths(examples), "words")),
        *((kind, FLAGS.get(kind, kind), np.flatnonzero(which)) for kind, which in (flags or {}).items()),
    ]
    for name, column in examples.columns.items():
        found += [("column", f"{name}: {value}", rows) for value, rows in of_column(column)]
    if words:
        found += [("word", word, rows) for word, rows in _words(examples)]
    found = [one for one in found if _FEWEST <= len(one[2]) <= len(examples) - _FEWEST]
    return _slices(_without_mirrors(found, len(examples)), len(examples))


def _without_mirrors(found: Sequence[tuple[str, str, np.ndarray]], n: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Of two labels, or two values of a column, the first: the other's rows are all that it hasn't, and it would be
    found a second time with the opposite sign."""
    seen: set[tuple[str, bytes]] = set()
    for kind, name, rows in found:
        inside = np.zeros(n, dtype=bool)
        inside[rows] = True
        if (kind, (~inside).tobytes()) not in seen:
            yield kind, name, rows
        if kind != "word":
            seen.add((kind, inside.tobytes()))


FLAGS = {"unknown": "unknown pieces", "truncated": "longer than is read"}
"""What slices are called that only a tokenizer knows."""


def lengths(examples: Examples) -> np.ndarray:
    """[n]: how many words each example has, its second text and its candidates among them."""
    if examples.words is not None:
        return np.array([len(row) for row in examples.words])
    return np.array([sum(len(text.split()) for text in texts) for texts in _texts(examples)])


def quarters(values: np.ndarray, unit: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Four slices of about equal size from the lowest values to the highest; equal values are in one. Fewer, where
    most are equal. NaN is in none."""
    told = np.isfinite(values)
    if not told.any():
        return
    edges = np.quantile(values[told], [0.25, 0.5, 0.75])
    place = np.where(told, np.searchsorted(edges, values), -1)
    for quarter, name in enumerate(_QUARTERS):
        rows = np.flatnonzero(place == quarter)
        if len(rows):
            least, most = values[rows].min(), values[rows].max()
            span = f"{least:g}" if least == most else f"{least:g} to {most:g}"
            yield f"{name} quarter ({span}{f' {unit}' if unit else ''})", rows


def of_column(column: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The slices of a column of the user's: one for each value, or quarters of numbers where there are many. Blank
    ones are a slice of their own."""
    values, place = np.unique(np.array(column, dtype=object), return_inverse=True)
    numbers = _numbers(column)
    if len(values) > _MOST_VALUES and numbers is not None:
        yield from quarters(numbers)
        values = values[:0]
    for at, value in enumerate(values):
        if value:
            yield _short(value), np.flatnonzero(place == at)
    if len(blank := np.flatnonzero([not value for value in column])):
        yield "(blank)", blank


def _numbers(column: Iterable[str]) -> np.ndarray | None:
    """The column as numbers, NaN where it is blank; None where something else stands there."""
    try:
        return np.array([float(value) if value else np.nan for value in column])
    except ValueError:
        return None


def _short(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:57]}..."


def _labels(examples: Examples, output: Output) -> Iterator[tuple[str, str, np.ndarray]]:
    """By what is right: the label, one of several, a type of entity in the sentence; quarters of scores; the place of
    the right candidate."""
    gold = output.gold(examples)
    if (by_label := output.by_label(gold, gold)) is not None:
        names, counts = by_label
        for at, name in enumerate(names):
            yield "label", name, np.flatnonzero(counts[:, at, 2] > 0)
    elif examples.choices is not None and examples.label is not None:
        for place in np.unique(examples.label).tolist():
            yield "label", f"candidate {place + 1} is right", np.flatnonzero(examples.label == place)
    elif examples.answers is not None:
        yield "label", "no answer", np.flatnonzero([not spans for spans in examples.answers])
    elif gold.ndim == 1 and gold.dtype.kind == "f":
        for name, rows in quarters(gold):
            yield "label", f"gold score in the {name}", rows


def _words(examples: Examples) -> Iterator[tuple[str, np.ndarray]]:
    """The words that neither too few rows have nor too many, upper and lower case alike, in the order of the
    alphabet."""
    rows = [{word for text in texts for word in _WORD.findall(folded(text))} for texts in _texts(examples)]
    counts = Counter(word for row in rows for word in row)
    least, most = max(LEAST * len(rows), _FEWEST), MOST * len(rows)
    tried = sorted(word for word, count in counts.items() if least <= count <= most)
    where: dict[str, list[int]] = {word: [] for word in tried}
    for place, row in enumerate(rows):
        for word in row & where.keys():
            where[word].append(place)
    return ((f"“{word}”", np.array(places)) for word, places in where.items())


def _texts(examples: Examples) -> Iterator[tuple[str, ...]]:
    """All texts of each example."""
    for row, text in enumerate(examples.text):
        pair = (examples.pair[row],) if examples.pair is not None else ()
        choices = examples.choices[row] if examples.choices is not None else ()
        yield (text, *pair, *choices)


def _slices(given: Iterable[tuple[str, str, np.ndarray]], n: int) -> RowSlices:
    from scipy.sparse import csr_array

    found = list(given)
    starts = np.concatenate([[0], np.cumsum([len(rows) for *_, rows in found])]).astype(np.int64)
    places = np.concatenate([np.zeros(0, np.int64), *(rows for *_, rows in found)]).astype(np.int64)
    member = csr_array((np.ones(len(places)), places, starts), shape=(len(found), n))
    return RowSlices(tuple(kind for kind, *_ in found), tuple(name for _, name, _ in found), member)
