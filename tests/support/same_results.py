"""Whether two stores, of the code before a change and after it, hold the same results to the last bit.

    python tests/support/same_results.py BEFORE AFTER

Results are paired by question, subject, settings and what they rest on; versions and digests may differ. Tables,
arrays, headline numbers and kept folders (weights, hidden states) are compared bit for bit; notes and figures too.
The splits' old words (fit, select, report) are read as the new ones (train, validation, test). What a clock measured
is never the same twice: such differences are told, and not counted.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

WORDS = {"fit": "train", "select": "validation", "report": "test"}
_SPLIT = re.compile(rf"(?<![A-Za-z])({'|'.join(WORDS)})(?![A-Za-z])")
_WHOLE = re.compile(r"\b(train|validation|test) split\b")  # is called a set now
_TRAINING = re.compile(r"\btrain (?=(set|rows|texts|sentences|questions|answers)\b)")
_CLOCK = re.compile(r"(?<![A-Za-z])(milliseconds|seconds|time|faster|latency)(?![A-Za-z])")


def in_new_words(value: Any) -> Any:
    """With the splits' new words, in strings however deep, keys included.

    >>> in_new_words({"report_accuracy": ["report:12", "the fitted rows"]})
    {'test_accuracy': ['test:12', 'the fitted rows']}
    >>> in_new_words("the fit split's loss, 12 fit rows, on the report split")
    "the training set's loss, 12 training rows, on the test set"
    """
    if isinstance(value, str):
        value = _SPLIT.sub(lambda found: WORDS[found[1]], value)
        return _TRAINING.sub("training ", _WHOLE.sub(r"\1 set", value))
    if isinstance(value, dict):
        return {in_new_words(key): in_new_words(inside) for key, inside in value.items()}
    return [in_new_words(inside) for inside in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Answer:
    """A stored step's folder, in the new words."""

    folder: Path

    @property
    def step(self) -> dict[str, Any]:
        return in_new_words(json.loads((self.folder / "step.json").read_text(encoding="utf-8")))

    @property
    def record(self) -> dict[str, Any]:
        return in_new_words(json.loads((self.folder / "result" / "result.json").read_text(encoding="utf-8")))

    def table(self, name: str) -> pd.DataFrame:
        (file,) = (one for one in (self.folder / "result").glob("*.parquet") if in_new_words(one.stem) == name)
        frame = pd.read_parquet(file)
        frame.columns = [in_new_words(column) for column in frame.columns]
        return frame.apply(lambda column: column.map(in_new_words) if _holds_text(column) else column)

    def arrays(self) -> dict[str, np.ndarray]:
        file = self.folder / "result" / "arrays.safetensors"
        return in_new_words(load_file(file)) if file.exists() else {}

    def kept(self) -> dict[str, bytes]:
        """Weights and hidden states that lie beside the result."""
        files = (one for ending in ("*.safetensors", "*.npy") for one in self.folder.glob(f"*/{ending}"))
        return {one.name: one.read_bytes() for one in files if one.parent.name != "result"}


def _holds_text(column: pd.Series) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)


@dataclass
class Differences:
    of: str
    counted: list[str] = field(default_factory=list)
    clock: list[str] = field(default_factory=list)

    def add(self, line: str, *about: str) -> None:
        """One more; only the clock's if what it is about says so."""
        (self.clock if any(map(_CLOCK.search, about)) else self.counted).append(line)


def compare(before: Answer, after: Answer) -> Differences:
    found = Differences(before.folder.name)
    old, new = before.record, after.record
    for name in ("subject", "notes", "tables", "arrays", "figures"):
        if old[name] != new[name]:
            found.add(f"{name}: {_first(old[name], new[name])}")
    _compare_headlines(old["headline"], new["headline"], found)
    for name in old["tables"]:
        if name in new["tables"]:
            _compare_tables(name, before.table(name), after.table(name), found)
    for what, old_arrays, new_arrays in (
        ("array", before.arrays(), after.arrays()),
        ("kept file", before.kept(), after.kept()),
    ):
        if old_arrays.keys() != new_arrays.keys():
            found.add(f"{what}s: {sorted(old_arrays)} became {sorted(new_arrays)}")
        for name in old_arrays.keys() & new_arrays.keys():
            if not _same(old_arrays[name], new_arrays[name]):
                found.add(f"{what} {name!r} differs", name)
    return found


def _compare_headlines(old: list[dict[str, Any]], new: list[dict[str, Any]], found: Differences) -> None:
    if (names := [one["key"] for one in old]) != [one["key"] for one in new]:
        found.add(f"headline keys: {_first(names, [one['key'] for one in new])}")
        return
    for one, other in zip(old, new, strict=True):
        for key in one:
            if not _same(np.array(one[key]), np.array(other[key])):
                found.add(f"headline {one['key']!r}: {key} {one[key]!r} became {other[key]!r}", one["key"])


def _compare_tables(name: str, old: pd.DataFrame, new: pd.DataFrame, found: Differences) -> None:
    if list(old.columns) != list(new.columns):
        found.add(f"table {name!r}: columns {_first(list(old.columns), list(new.columns))}", name)
        return
    if len(old) != len(new):
        found.add(f"table {name!r}: {len(old)} rows became {len(new)}", name)
        return
    for column in old.columns:
        one, other = old[column], new[column]
        if one.dtype != other.dtype:
            found.add(f"table {name!r}: {column!r} was {one.dtype}, is {other.dtype}", name, column)
        for row in _unequal_rows(one, other):
            texts = [cell for cell in old.iloc[row] if isinstance(cell, str)]
            found.add(
                f"table {name!r}, row {row}: {column!r} {one.iloc[row]!r} became {other.iloc[row]!r}",
                name, column, *texts,
            )  # fmt: skip


def _unequal_rows(one: pd.Series, other: pd.Series) -> list[int]:
    if one.dtype == other.dtype and _same(one.to_numpy(), other.to_numpy()):
        return []
    return [row for row, cells in enumerate(zip(one, other, strict=True)) if not _same(*map(np.asarray, cells))]


def _same(one: np.ndarray | bytes, other: np.ndarray | bytes) -> bool:
    """To the last bit; whatever NaN is like any other."""
    if isinstance(one, bytes) or isinstance(other, bytes):
        return one == other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        one, other = (np.where(np.isnan(array), np.nan, array) for array in (one, other))
    if one.dtype == object:
        return all(map(_same_cell, one.flat, other.flat))
    return one.tobytes() == other.tobytes()


def _same_cell(one: Any, other: Any) -> bool:
    if one is other or (pd.api.types.is_scalar(one) and pd.isna(one) and pd.isna(other)):
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _same(np.asarray(one), np.asarray(other))
    return one == other


def _first(old: Any, new: Any) -> str:
    """The first thing in which two descriptions differ."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return next(f"{key}: {_first(old[key], new[key])}" for key in old if old[key] != new[key])
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next(_first(one, other) for one, other in zip(old, new, strict=True) if one != other)
    return f"{old!r} became {new!r}"


def paired(before: list[Answer], after: list[Answer]) -> Iterator[tuple[Answer | None, Answer | None]]:
    """By the whole recipe; what is left, by question, subject and settings, where that is one of each."""
    for key in (_recipe, _outside):
        old, new = _by(key, before), _by(key, after)
        for same in old.keys() & new.keys():
            if len(old[same]) == len(new[same]) == 1:
                yield old[same][0], new[same][0]
                before.remove(old[same][0])
                after.remove(new[same][0])
    yield from ((one, None) for one in before)
    yield from ((None, one) for one in after)


def _by(key: Callable[[Answer], Hashable], answers: list[Answer]) -> dict[Hashable, list[Answer]]:
    found: dict[Hashable, list[Answer]] = {}
    for answer in answers:
        found.setdefault(key(answer), []).append(answer)
    return found


def _recipe(answer: Answer) -> str:
    def content(step: dict[str, Any]) -> dict[str, Any]:
        inside = {key: value for key, value in step.items() if key not in ("format", "version", "digest", "inputs")}
        return inside | {"inputs": {name: content(value) for name, value in step.get("inputs", {}).items()}}

    return json.dumps(content(answer.step), sort_keys=True)


def _outside(answer: Answer) -> str:
    return json.dumps([answer.step["name"], answer.step["config"], answer.record["subject"]], sort_keys=True)


def answers(store: Path) -> list[Answer]:
    return [Answer(file.parents[1]) for file in sorted((store / "steps").glob("*/result/result.json"))]


def main(before: Path, after: Path, most: int = 8) -> int:
    """Print what differs; 0 if nothing does."""
    pairs = alone = wrong = 0
    for one, other in paired(answers(before), answers(after)):
        if one is None or other is None:
            alone += 1
            print(f"only {'after' if one is None else 'before'}: {(one or other).folder.name}")
            continue
        pairs += 1
        found = compare(one, other)
        wrong += bool(found.counted)
        for lines, why in ((found.counted, "differs"), (found.clock, "was timed again")):
            shown = [*lines[:most], f"... and {len(lines) - most} more"] if len(lines) > most else lines
            if lines:
                print(f"{found.of} {why}:", *shown, sep="\n  ")
    print(f"{pairs} pairs, {pairs - wrong} equal, {wrong} differ; {alone} without a partner")
    return int(bool(wrong or alone or not pairs))


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
