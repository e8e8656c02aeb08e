"""What several stored results of docs/findings say together: means and counts of them, a model's course through its
layers, and ledgers side by side. A `Value` that is made here has the keys of all that it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bertscope.core.intervals import ALIKE, ENOUGH_RUNS, student_interval
from findings_results import Row, Told, Value

Asked = dict[tuple[str, str], dict[str, list[Row]]]
"""Of a claim: by what was asked (way and task) the rows of each model."""


def mean_of(values: Iterable[Value]) -> Value:
    """The mean over trainings, with Student's interval where there are enough of them, and not all are alike."""
    some = list(values)
    if not some:
        return Value("", None)
    found = np.array([one.value for one in some], float)
    key = f"mean({'; '.join(one.key for one in some)})"
    if len(some) < ENOUGH_RUNS or not (spread := float(found.std(ddof=1))) > ALIKE:
        return Value(key, float(found.mean()))
    low, high = student_interval(float(found.mean()), spread, len(found))
    return Value(key, float(found.mean()), low, high, len(found))


def count_of(values: Iterable[Value]) -> Value:
    """How many there are."""
    keys = [one.key for one in values]
    return Value(f"count({'; '.join(keys)})", len(keys))


def by_place(some: Iterable[Told]) -> list[tuple[str, str, list[Told]]]:
    """Results of trainings that differ by their seed alone: data, base model, and the results."""
    found: dict[tuple[str, str], list[Told]] = {}
    for one in some:
        found.setdefault((one.on, one.base), []).append(one)
    return [(*place, mine) for place, mine in found.items()]


def each(some: Iterable[Told], key: str, **of: str) -> list[Value]:
    """The same number of each result that has it."""
    found = [one.number(key, **of) for one in some if one.has(key, **of)]
    return [value for value in found if value.value is not None]


def each_row(some: Iterable[Told], table: str, column: str, **where: Any) -> list[Value]:
    found = [row.value(column, "", "") for one in some for row in one.rows(table, **where)]
    return [value for value in found if value.value is not None]


def same_layers(result: Told) -> dict[str, list[Row]]:
    """Of `similarity`: RSA of each layer with the same layer of the other model, by corpus."""
    found: dict[str, list[Row]] = {}
    for row in result.rows("layers", measure="rsa"):
        if row["layer"] == row["other_layer"]:
            found.setdefault(row["corpus"], []).append(row)
    return found


def courses(some: Iterable[Told], table: str, **where: Any) -> tuple[list[Row], dict[str, list[Row]]]:
    """A row for each layer, by model, of all models of some results; and before them those of the deepest model,
    whose layers head a table of them all."""
    found = {model: one.rows(table, checkpoint=model, **where) for one in some for model in one.models}
    return max(found.values(), key=len, default=[]), found


def side_by_side(ledgers: Iterable[Told]) -> tuple[list[str], dict[str, Asked]]:
    """Of ledgers: their models, and what was asked of each claim that they know, in their own order. Where two of
    them judge the same, the later counts. What was made of a model stands below the model itself."""
    found: dict[str, Asked] = {}
    for ledger in ledgers:
        here: dict[tuple[str, tuple[str, str], str], list[Row]] = {}
        for row in ledger.rows("ledger"):
            found.setdefault(row["claim"], {})
            if row["base"]:
                here.setdefault((row["claim"], (row["way"], row["task"]), row["base"]), []).append(row)
        for (claim, asked, base), rows in here.items():
            found[claim].setdefault(asked, {})[base] = rows
    ordered = {claim: dict(sorted(lines.items(), key=lambda line: line[0][0])) for claim, lines in found.items()}
    return list(dict.fromkeys(base for lines in found.values() for mine in lines.values() for base in mine)), ordered


def with_verdict(claims: Mapping[str, Asked], verdict: str) -> Value:
    """How many rows that stand side by side have a verdict."""
    rows = (row for lines in claims.values() for mine in lines.values() for some in mine.values() for row in some)
    return count_of(row.value("effect") for row in rows if row["verdict"] == verdict)


def not_tested(claims: Mapping[str, Asked]) -> Value:
    """How many claims nothing was asked of."""
    return count_of(Value(claim, None) for claim, lines in claims.items() if not lines)


def last_layer(result: Told) -> str:
    return max((layer for key in ("baseline", "last_baseline") for layer in result.kinds(key, "layer")), key=int)
