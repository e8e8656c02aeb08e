"""Objects that hold data, as tables: what Python users have in their hands instead of a file.

A pandas or `datasets` object is told by the names of its classes: nothing is imported for it that isn't there yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.data.table import Table

TAKEN = (
    "a name or a path, a list of texts or of dicts, a pandas DataFrame or Series, a Dataset, DatasetDict or Column "
    "of `datasets`, a Task, or Examples"
)
_VALIDATION = ("validation", "dev", "valid", "val")


@dataclass(frozen=True)
class Rows:
    """One object's rows. `labels` gives the classes that a column declares, in their order; none where it doesn't."""

    table: Table
    labels: Callable[[str], tuple[str, ...]] = lambda column: ()


def is_a(given: Any, *classes: str) -> bool:
    """Whether its class, or one that it is derived from, is one of these: `pandas.DataFrame`."""
    return any(f"{one.__module__.partition('.')[0]}.{one.__name__}" in classes for one in type(given).__mro__)


def texts_of(given: Any) -> list[Any] | None:
    """The cells of a list of texts, a Series or a Column; None of what is none of these."""
    if is_a(given, "pandas.Series"):
        return _cells(given)
    if is_a(given, "datasets.Column"):
        return list(given[:])
    if isinstance(given, list | tuple) and not (given and isinstance(given[0], Mapping)):
        return list(given)
    return None


def refuse_no_texts(texts: Sequence[Any], name: str) -> None:
    """Refuse what isn't texts all through."""
    if not texts:
        raise UserError(f"{name} is empty; give some texts")
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            what = "nothing" if text is None else type(text).__name__
            raise UserError(f"{name}, row {row}: {what} instead of a text; give texts alone, or a table with columns")


def rows_of(given: Any, name: str, split: str = "") -> Rows | None:
    """A list of dicts, a DataFrame or a Dataset as a table; None of what is none of these."""
    path = Path(name, split)
    if is_a(given, "pandas.DataFrame"):
        return Rows(_frame(given, path, split))
    if is_a(given, "datasets.Dataset"):
        return _dataset(given, path, split)
    if isinstance(given, list | tuple) and given and isinstance(given[0], Mapping):
        return Rows(_dicts(given, path, split))
    return None


def splits_of(given: Any, name: str) -> dict[str, Any] | None:
    """A DatasetDict's own splits, as `train`, `validation` and `test`; None of what isn't one."""
    if not is_a(given, "datasets.DatasetDict"):
        return None
    there = ", ".join(map(str, given)) or "none"
    if "train" not in given:
        raise UserError(f"{name} has no split train (it has: {there}); give one of its splits, or name one train")
    found = {"train": given["train"]}
    if validation := next((split for split in _VALIDATION if split in given), None):
        found["validation"] = given[validation]
    return found | ({"test": given["test"]} if "test" in given else {})


def refuse_other(given: Any) -> UserError:
    """What is said of anything else."""
    hint = ""
    if is_a(given, "datasets.IterableDataset", "datasets.IterableDatasetDict"):
        hint = " (it is read as it comes: make a Dataset of the rows that you want)"
    return UserError(f"can't read {type(given).__name__} as data{hint}; give {TAKEN}")


def _frame(frame: Any, path: Path, split: str) -> Table:
    if not len(frame):
        raise UserError(f"{path} has no rows; add some")
    header = tuple(map(str, frame.columns))

    def cells(name: str) -> list[Any]:
        return _cells(frame.iloc[:, header.index(name)])

    return Table(path, header, range(1, len(frame) + 1), cells, split or "row", "row")


def _cells(series: Any) -> list[Any]:
    """A Series' values, None where there is none. Whole numbers that pandas made fractions, since some are missing,
    are whole again."""
    missing = series.isna().tolist()
    values = [None if gone else _plain(value) for value, gone in zip(series.tolist(), missing, strict=True)]
    present = [value for value in values if value is not None]
    if any(missing) and present and all(isinstance(value, float) and value.is_integer() for value in present):
        return [None if value is None else int(value) for value in values]
    return values


def _dataset(dataset: Any, path: Path, split: str) -> Rows:
    if not len(dataset):
        raise UserError(f"{path} has no rows; add some")
    plain = dataset.with_format(None)  # lists, not the tensors of a training

    def labels(column: str) -> tuple[str, ...]:
        feature = plain.features.get(column)
        feature = getattr(feature, "feature", feature)  # of a column of lists: what is in them
        return tuple(name.strip() for name in feature.names) if is_a(feature, "datasets.ClassLabel") else ()

    def cells(name: str) -> list[Any]:
        values, names = plain[name][:], labels(name)
        if not names:
            return values

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(one) for one in value]
            return names[value] if value is not None and value >= 0 else None  # -1 stands for no label

        return [named(value) for value in values]

    header = tuple(plain.column_names)
    return Rows(Table(path, header, range(1, len(plain) + 1), cells, split or "row", "row"), labels)


def _dicts(rows: Sequence[Any], path: Path, split: str) -> Table:
    header = tuple(map(str, rows[0]))
    for row, one in enumerate(rows, start=1):
        if not isinstance(one, Mapping):
            raise UserError(f"{path}, row {row}: {type(one).__name__} instead of a dict; give a dict for each row")
        if missing := [name for name in rows[0] if name not in one]:
            raise UserError(f"{path}, row {row}: no {missing[0]!r}, which row 1 has; add it")
    by_name = dict(zip(header, rows[0], strict=True))
    return Table(
        path, header, range(1, len(rows) + 1), lambda name: [_plain(one[by_name[name]]) for one in rows],
        split or "row", "row",
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """numpy's single values and arrays as Python's own, and None for pandas' NA."""
    if type(value) is str:
        return value
    if is_a(value, "pandas.NAType", "pandas.NaTType"):
        return None
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value
