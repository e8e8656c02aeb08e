"""From what a label column says to labels: which kind of task it is, what its classes are, what its scores are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import NO_AGREEMENT, BadRows
from bertscope.data.label_notes import several_cure, several_mark
from bertscope.data.metrics import METRICS
from bertscope.data.sheet import Sheet
from bertscope.data.table import Table, shown
from bertscope.data.task import Kind

MOST_CLASSES = 20
"""More distinct values than this are scores, or the wrong column, unless the user says that they are classes, or they
look like the ids of classes."""
_LEAST_REPEATS = 10
"""Rows for each different whole number, on average, if more than 20 of them are to be ids of classes."""
_SCORES = ("score", "scores", "similarity")
"""What columns are called that never hold ids."""
_WHOLE = re.compile(r"(-?[0-9]+)(?:\.0+)?")


def find_kind(sheet: Sheet, metric: str | None = None) -> Kind:
    """Fractions, and many different numbers, are scores; up to 20 different values of another sort are classes. So
    are more whole numbers that look like ids: none below -1, ten rows or more for each, and not called a score. What
    whole numbers are, the user's metric says."""
    counts = Counter(sheet.values)
    numbers, rows = _numbers(list(counts)), np.array(list(counts.values()))
    finite = np.isfinite(numbers)
    mostly_numbers = rows[finite].sum() > rows.sum() / 2  # the rest is then a mistake: `to_scores` says where
    fractions = bool((numbers[finite] % 1 != 0).any())
    distinct = len(counts)
    mark = several_mark(sheet.values)
    if distinct > MOST_CLASSES and mark:
        raise _too_many(sheet, distinct, several_cure(mark))
    if mostly_numbers and not fractions and metric is not None:
        return "regression" if metric in METRICS["regression"] else "classification"
    if mostly_numbers and (fractions or distinct > MOST_CLASSES):
        ids = finite.all() and not fractions and numbers.min() >= -1 and rows.sum() >= _LEAST_REPEATS * distinct
        return "classification" if ids and sheet.label_column.casefold() not in _SCORES else "regression"
    if distinct > MOST_CLASSES:
        raise _too_many(sheet, distinct, "name the right column with --label, or give --kind classification")
    return "classification"


def _too_many(sheet: Sheet, distinct: int, cure: str) -> UserError:
    return UserError(
        f"{sheet.table.path}: column {sheet.label_column!r} has {distinct} different values "
        f"({shown(sheet.values[0])}, ...), too many for classes; {cure}"
    )


def as_read_note(sheet: Sheet, kind: Kind, labels: Sequence[str]) -> tuple[str, ...]:
    """A note on whole numbers, which could be scores as well as classes: what they were read as."""
    if kind == "classification" and len(labels) > 2 and all(map(_WHOLE.fullmatch, labels)):
        return (
            f"{labels[0]} to {labels[-1]} are read as {len(labels)} classes; if they are scores: --kind regression",
        )
    if kind == "regression" and all(map(_WHOLE.fullmatch, sheet.values)):
        return (
            f"{len(set(sheet.values))} different whole numbers are read as scores; if they are classes: --kind "
            "classification",
        )
    return ()


def without_points(sheet: Sheet, whole: bool) -> Sheet:
    """The sheet with 1 for 1.0, as programs write whole numbers among which some were missing, if all are `whole`."""
    return replace(sheet, values=tuple(map(without_point, sheet.values))) if whole else sheet


def all_whole(values: Iterable[str]) -> bool:
    """Whether all are whole numbers, and some are written with a point."""
    found = set(values)
    return any("." in value for value in found) and all(map(_WHOLE.fullmatch, found))


def without_point(value: str) -> str:
    """
    >>> without_point("1.0"), without_point("1.5"), without_point("01"), without_point("good")
    ('1', '1.5', '01', 'good')
    """
    match = _WHOLE.fullmatch(value)
    return match[1] if match else value


def refuse_missing(sheet: Sheet, bad: BadRows) -> Sheet:
    """The rows without those whose label is NaN, as tables write one that is missing."""
    missing = np.array([value.casefold() == "nan" for value in sheet.values], dtype=bool)
    if not missing.any():
        return sheet
    first = int(np.flatnonzero(missing)[0])
    message = (
        f"{sheet.place(first)}: label {shown(sheet.values[first])} stands for a missing one; give the row a label, "
        "or say --kind classification if it is a class"
    )
    bad.refuse("label is NaN", message, int(missing.sum()))
    return sheet.keep(~missing)


def lacks_labels(table: Table, column: str, kind: Kind, known: Collection[str]) -> str:
    """What a test file has instead of labels: test files are often published without. '' where it has some."""
    cells = table.column(column, "--label") if column in table.header else []
    values = {value for value in cells if value and value.casefold() != "nan"}
    if not values:
        return "no labels"
    if kind == "choices":
        return "" if values - {"-1"} else "no labels"
    if kind == "several":
        return "" if values - {"[]"} else "no labels"
    if kind == "classification":
        same = {without_point(value) for value in values} & {without_point(value) for value in known}
        return "" if same else "none of the labels that train has"
    scores = {score for score in _numbers(list(values)).tolist() if np.isfinite(score)}
    return "" if len(scores) > 1 else "no scores that differ"


def class_names(values: Iterable[str]) -> tuple[str, ...]:
    """The different labels: by number if all are numbers, else by the alphabet."""
    names = sorted(set(values))
    numbers = _numbers(names)
    if np.isfinite(numbers).all():
        return tuple(names[i] for i in np.argsort(numbers, kind="stable"))
    return tuple(names)


def to_classes(
    sheet: Sheet, names: Sequence[str], bad: BadRows, *, numbered: bool = False, unlabelled: Sequence[str] = ()
) -> tuple[Sheet, np.ndarray]:
    """The rows that have one of these labels, and its index among them, int64.

    `numbered` labels may also be given as that index. `unlabelled` is what stands for no label.
    """
    index = {str(i): i for i in range(len(names))} if numbered else {}
    index |= {name: i for i, name in enumerate(names)}
    label = np.array([index.get(value, -1) for value in sheet.values], dtype=np.int64)
    unknown = np.flatnonzero(label < 0)
    agreed = [int(i) for i in unknown if sheet.values[i] not in unlabelled]
    if agreed:
        known = ", ".join(names)
        message = f"{sheet.place(agreed[0])}: label {shown(sheet.values[agreed[0]])} is none of {known}; mend it"
        bad.refuse("unknown label", message, len(agreed))
    if len(unknown) > len(agreed):
        bad.refuse(NO_AGREEMENT, f"{sheet.table.path}: rows without a label; remove them", len(unknown) - len(agreed))
    return sheet.keep(label >= 0), label[label >= 0]


def to_scores(sheet: Sheet, bad: BadRows) -> tuple[Sheet, np.ndarray]:
    """The rows whose label is a number, and that number, float64."""
    numbers = _numbers(sheet.values)
    finite = np.isfinite(numbers)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        message = (
            f"{sheet.place(first)}: {shown(sheet.values[first])} in column {sheet.label_column!r} is no score; "
            "write a finite number, or give --kind classification"
        )
        bad.refuse("no score", message, int((~finite).sum()))
    return sheet.keep(finite), numbers[finite]


def _numbers(values: Sequence[str]) -> np.ndarray:
    """The values as float64, NaN where they are no numbers."""

    def number(value: str) -> float:
        try:
            return float(value) if "_" not in value else np.nan  # Python's own 1_000, which in data is a name
        except ValueError:
            return np.nan

    return np.array([number(value) for value in values], dtype=np.float64)
