"""What a page of docs/findings is written from: the part of stored results that it may speak of, as one small file.

`excerpt` reads the answers to a study's questions in a store; `Kept` is such a file opened, and `Told` one result of
it. Whatever a page takes is a `Value`, which knows the key it was found by: STEP/number{of} or STEP/table/row/column.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result, load_result
from bertscope.core.step import Root, Step
from bertscope.study.file import Study
from doc_pages import HERE

FOLDER = HERE / "docs" / "findings" / "results"
TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "ablate": {
        "effects": ("unit", "kind", "effect", "low", "high", "p_holm", "loss_rise", "loss_low", "loss_high",
                    "loss_p_holm", "flips"),
        "reliability": ("kind", "measure", "pearson"),
    },
    "bias": {"arms": ("on", "arm", "score", "low", "high", "runs", "n"),
             "effects": ("on", "effect", "difference", "low", "high", "runs", "n")},
    "change": {"layers": ("layer", "divergence", "divergence_low", "divergence_high", "share", "share_low",
                          "share_high")},
    "claims": {"ledger": ("source", "claim", "says", "base", "way", "task", "verdict", "effect", "low", "high", "n",
                          "runs", "why")},
    "contrast": {"sts": ("arm", "pool", "spearman", "low", "high", "minus_before", "minus_before_low",
                         "minus_before_high")},
    "course": {"checkpoints": ("step",), "onsets": ("line", "first", "last", "change", "change_low", "change_high",
                                                    "certain", "onset", "low", "high")},
    "explain": {"faithfulness": ("method", "how", "measure", "value", "low", "high", "n", "targets"),
                "corpus_words": ("class", "word", "mean", "low", "high", "texts", "shown")},
    "freeze": {"arms": ("arm", "score", "low", "high", "effect", "effect_low", "effect_high", "runs",
                        "training_time")},
    "geometry": {"layers": ("layer", "form", "measure", "value", "low", "high", "checkpoint")},
    "graft": {"grafts": ("unit", "kind", "direction", "share", "share_low", "share_high", "score_share", "moved")},
    "lottery": {
        "arms": ("method", "arm", "stage", "score", "low", "high", "runs", "minus_full", "minus_full_low",
                 "minus_full_high", "left"),
        "comparisons": ("method", "arm", "against", "stage", "difference", "low", "high", "runs"),
    },
    "patterns": {"models": ("checkpoint", "class", "share", "low", "high"),
                 "changes": ("checkpoint", "class", "change", "low", "high")},
    "probe": {"probes": ("checkpoint", "target", "probe", "layer", "accuracy", "low", "high", "n")},
    "relations": {"best": ("relation", "test_pairs", "layer", "head", "direction", "accuracy", "offset_accuracy",
                           "difference", "difference_low", "difference_high", "beats", "random_weights")},
    "scratch": {"arms": ("arm", "score", "low", "high", "runs", "n"),
                "effects": ("effect", "difference", "low", "high", "runs", "n")},
    "shrink": {"models": ("arm", "model", "way", "parameters", "megabytes", "score", "low", "high", "change",
                          "change_low", "change_high", "kept", "kept_low", "kept_high"),
               "times": ("arm", "texts", "milliseconds", "faster", "low", "high")},
    "similarity": {"layers": ("checkpoint", "other", "layer", "other_layer", "measure", "value", "low", "high", "n",
                              "corpus")},
    "structure": {"scores": ("checkpoint", "layer", "rank", "probe", "arm", "metric", "value", "low", "high", "n",
                             "best_layer"),
                  "changes": ("checkpoint", "against", "metric", "value", "low", "high", "n")},
    "truncate": {"arms": ("arm", "removed", "score", "low", "high", "effect", "effect_low", "effect_high", "runs",
                          "training_time")},
}  # fmt: skip
"""Of each question the tables that pages show, and the columns that are kept of them."""
_OF, _PAIR = re.compile(r"(?P<key>[^{]+)\{(?P<of>.*)\}$"), re.compile(r"(\w+)=(.*?)(?:, (?=\w+=)|$)")
_LONGEST = 400
"""Rows of a table that are kept at most."""


def excerpt(study: Study, store: Path, **about: Any) -> dict[str, Any]:
    """The answers to a study's own questions, as far as they are stored, by step; `about` the run that made them."""
    found = {}
    for step in study.steps:
        if (folder := store / "steps" / step.id).exists():
            found[step.id] = told_of(step, load_result(folder)) | {"run": 0}
    return {"study": study.name, "runs": [{"asked": len(study.steps)} | about], "results": found}


def added(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """What a file has and what another run found; of a step that both have, the later."""
    if not path.exists():
        return record
    before = json.loads(path.read_text(encoding="utf-8"))
    place = len(before["runs"])
    later = {id: one | {"run": place} for id, one in record["results"].items()}
    return before | {"runs": before["runs"] + record["runs"], "results": before["results"] | later}


def told_of(step: Step, result: Result) -> dict[str, Any]:
    """A result as far as pages speak of it."""
    names = _names(result)
    made = result.provenance
    return {
        "question": result.question, "version": result.version, "models": list(names.values()),
        "base": _base(result), "on": _data(step, result), "subject": result.subject, "settings": dict(step.config),
        "made": made["created"][:10], "seconds": made["seconds"], "commit": made.get("commit"),
        "device": device_of(made),
        "numbers": {
            _key(one.key, one.of, names): _ends(one.value, one.low, one.high, one.n) for one in result.headline
        },
        "tables": {
            name: _table(result, name, columns, names)
            for name, columns in TABLES.get(result.question, {}).items() if name in result.tables
        },
    }  # fmt: skip


def device_of(made: Mapping[str, Any]) -> str:
    return made.get("gpu") or made.get("device") or "cpu"


def _names(result: Result) -> dict[str, str]:
    """What the file calls each model, by its id: `pocket`, `pocket tuned on glue/sst2`."""
    found: dict[str, str] = {}
    for id, record in result.models.items():
        name = _called(record)
        taken = {*found.values()}
        found[id] = next(each for n in count(1) if (each := name if n == 1 else f"{name} ({n})") not in taken)
    return found


def _called(record: ModelRecord) -> str:
    ways = {"random": "with random weights", "finetune": "tuned"}
    said = [
        f"{ways.get(one.by, one.by)}{f' on {one.data.name}' if one.data else ''}" for one in record.origins if one.by
    ]
    return " ".join([record.first.name, *reversed(said)])


def _base(result: Result) -> str:
    """The pretrained model that a result begins with."""
    return next((record.first.name for record in result.models.values()), "")


def _data(step: Step, result: Result) -> str:
    """The folder or file that is asked on, by its own name; of an answer to other answers, as that calls it."""
    for name in ("task", "examples", "data", "pairs"):
        if isinstance(root := step.inputs.get(name), Root):
            return Path(root.source.partition("@")[2] or root.source).name
    return Path(result.subject.get("task", "")).name


def _key(key: str, of: Mapping[str, str], names: Mapping[str, str]) -> str:
    told = ", ".join(f"{name}={names.get(value, value)}" for name, value in sorted(of.items()))
    return f"{key}{{{told}}}" if told else key


def _ends(*values: float | None) -> list[float | None]:
    return [_short(value) for value in values]


def _short(value: Any) -> Any:
    """Six digits are more than any page shows."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NA:
        return None
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else int(value) if value.is_integer() else float(f"{value:.6g}")


def _table(result: Result, name: str, columns: tuple[str, ...], names: Mapping[str, str]) -> dict[str, Any]:
    table = result.tables[name]
    some = [column for column in columns if column in table]
    rows = table[some].head(_LONGEST).itertuples(index=False)
    return {
        "columns": some,
        "rows": [[_short(names.get(v, v) if isinstance(v, str) else v) for v in row] for row in rows],
    }


@dataclass(frozen=True)
class Value:
    """A stored number, with its interval where it has one, and the key that it was found by."""

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def is_above(self) -> bool:
        """Whether the whole interval is above 0: what has none is never sure."""
        return self.low is not None and self.low > 0

    @property
    def is_below(self) -> bool:
        return self.high is not None and self.high < 0


@dataclass(frozen=True)
class Told:
    """One stored result."""

    id: str
    kept: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.kept[name]

    def has(self, key: str, **of: str) -> bool:
        return _key(key, of, {}) in self.kept["numbers"]

    def number(self, key: str, **of: str) -> Value:
        whole = _key(key, of, {})
        if whole not in self.kept["numbers"]:
            raise KeyError(f"{self.id} has no number {whole}: {', '.join(self.kept['numbers'])}")
        return Value(f"{self.id}/{whole}", *self.kept["numbers"][whole])

    def kinds(self, key: str, of: str) -> list[str]:
        """What numbers of this key are of: the arms, the methods, the layers."""
        keys = (_OF.match(one) for one in self.kept["numbers"])
        told = (dict(_PAIR.findall(found["of"])) for found in keys if found and found["key"] == key)
        return list(dict.fromkeys(one[of] for one in told if of in one))

    def of_unit(self, key: str, kind: str) -> tuple[Value, str]:
        """The number of a part that was picked, and the part: the head without which a score is lowest."""
        found = [one for one in self.kept["numbers"] if one.startswith(f"{key}{{kind={kind}, unit=")]
        if len(found) != 1:
            raise KeyError(f"{self.id} has {len(found)} numbers {key} of a {kind}")
        return Value(f"{self.id}/{found[0]}", *self.kept["numbers"][found[0]]), found[0].rpartition(":")[2].rstrip(
            "}"
        )

    def row(self, table: str, place: int) -> Row:
        found = self.kept["tables"][table]
        return Row(f"{self.id}/{table}/{place}", dict(zip(found["columns"], found["rows"][place], strict=True)))

    def rows(self, table: str, **where: Any) -> list[Row]:
        """The rows of a table in which these columns have these values."""
        every = (self.row(table, place) for place in range(len(self.kept["tables"][table]["rows"])))
        return [row for row in every if all(row[name] == value for name, value in where.items())]


@dataclass(frozen=True)
class Row:
    """A row of a stored table, under its place there."""

    id: str
    cells: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.cells[column]

    def value(self, column: str = "value", low: str = "low", high: str = "high") -> Value:
        """A number of the row, with the columns of its interval where it has them."""
        ends = [self.cells.get(name) for name in (low, high)]
        columns = [column, low, high] if None not in ends else [column]
        return Value(f"{self.id}/{','.join(columns)}", self.cells[column], *ends, self.cells.get("n"))


class Kept:
    """The results of one page."""

    def __init__(self, path: Path) -> None:
        self.record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))

    def __iter__(self) -> Iterator[Told]:
        return (Told(id, one) for id, one in self.record["results"].items())

    def of(self, question: str, **where: str) -> list[Told]:
        """The results of a question that are about these: `of("ablate", on="SST-2", base="pocket")`."""
        return [
            one for one in self
            if one.question == question and all(one.kept[name] == value for name, value in where.items())
        ]  # fmt: skip

    def look_up(self, key: str) -> list[float] | str:
        """What is stored under a key: the number and the ends of its interval; how many it rests on (`/n`); a
        word, or the key itself (`/of`)."""
        id, _, inside = key.partition("/")
        kept = self.record["results"][id]
        if (number := inside.removesuffix("/n")) in kept["numbers"]:
            *ends, n = kept["numbers"][number]
            return [n] if number != inside else [end for end in ends if end is not None]
        if (number := inside.removesuffix("/of")) in kept["numbers"]:
            return number
        table, place, columns = inside.removesuffix("/n").rsplit("/", 2)
        row = Told(id, kept).row(table, int(place))
        found = [row["n"]] if inside.endswith("/n") else [row[column] for column in columns.split(",")]
        return found[0] if isinstance(found[0], str) else found


def write(record: dict[str, Any], path: Path) -> None:
    """One line for each result: small, and a change of one result is a change of one line."""
    lines = ",\n".join(
        f"{json.dumps(id)}: {json.dumps(one, ensure_ascii=False)}" for id, one in record["results"].items()
    )
    head = {name: value for name, value in record.items() if name != "results"}
    path.write_text(f'{json.dumps(head)[:-1]}, "results": {{\n{lines}\n}}}}\n', encoding="utf-8")
