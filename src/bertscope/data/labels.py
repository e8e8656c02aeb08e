"""From a column of text to labels: which kind of task it is, what its classes are, what its scores are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bertscope.core.errors import UserError
from bertscope.data.table import Table, shown
from bertscope.data.task import Kind

MOST_CLASSES = 20
"""More distinct values than this are scores, or the wrong column, unless the user says that they are classes."""


def find_kind(table: Table, column: str, values: Sequence[str]) -> Kind:
    """Fractions, and many different numbers, are scores; up to 20 different values of another sort are classes."""
    numbers = _numbers(values)
    finite = np.isfinite(numbers)
    mostly_numbers = finite.mean() > 0.5  # the rest is then a mistake, which `to_scores` reports with its line
    fractions = bool((numbers[finite] % 1 != 0).any())
    distinct = len(set(values))
    if mostly_numbers and (fractions or distinct > MOST_CLASSES):
        return "regression"
    if distinct > MOST_CLASSES:
        raise UserError(
            f"{table.path}: column {column!r} has {distinct} different values ({shown(values[0])}, ...), too many "
            "for classes; name the right column with --label, or give --kind classification"
        )
    return "classification"


def class_names(values: Iterable[str]) -> tuple[str, ...]:
    """The different labels: by number if all are numbers, else by the alphabet."""
    names = sorted(set(values))
    numbers = _numbers(names)
    if np.isfinite(numbers).all():
        return tuple(names[i] for i in np.argsort(numbers, kind="stable"))
    return tuple(names)


def to_classes(values: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Each label's index among the class names, int64."""
    index = {name: i for i, name in enumerate(names)}
    return np.array([index[value] for value in values], dtype=np.int64)


def to_scores(table: Table, column: str, values: Sequence[str]) -> np.ndarray:
    """Each label as a number, float64."""
    numbers = _numbers(values)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise UserError(
            f"{table.path}, line {table.lines[bad[0]]}: {shown(values[bad[0]])} in column {column!r} is no score; "
            "write a finite number, or give --kind classification"
        )
    return numbers


def _numbers(values: Sequence[str]) -> np.ndarray:
    """The values as float64, NaN where they are no numbers."""

    def number(value: str) -> float:
        try:
            return float(value)
        except ValueError:
            return np.nan

    return np.array([number(value) for value in values], dtype=np.float64)
