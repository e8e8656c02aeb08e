"""The model card that `shrink` writes beside a model: what was cut, what it cost, how it was measured."""

from __future__ import annotations

import math
import platform
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import transformers

import bertscope
from bertscope.core.result import Result
from bertscope.experiments.changed_answers import changed_lines
from bertscope.experiments.comparison import WHOLE, texts_at_a_time
from bertscope.experiments.shrink.choice import RULE, best_of
from bertscope.experiments.shrink.usage import opening, opens_alone, usage_of
from bertscope.experiments.shrink.writing import WHERE

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_HEADER = """---
library_name: {library}
{tag}tags:
- bertscope
- pruned
---"""


def card(result: Result, encoder: Encoder, *, onnx: bool, pairs: bool = False, threshold: float | None = None) -> str:
    """A README.md in the hub's form; `pairs` says whether the model reads two texts at a time, and `threshold` from
    which log-odds on it gives one of several labels."""
    (whole,) = result.models.values()
    usage, subject = usage_of(encoder), result.subject
    library = "transformers" if opens_alone(encoder) else "bertscope"
    tag = f"pipeline_tag: {usage.tag}\n" if usage.tag else ""
    parts = [
        _HEADER.format(library=library, tag=tag),
        f"# {encoder.name}",
        f"{whole.name}, cut for {subject['task']} by `bertscope shrink` (target: {subject['target']}).",
        "## Which to take",
        _recommended(result),
        "## What it cost",
        _models(result),
        "## What changed in its answers",
        *_changed(result),
        "## What was cut",
        _layers(result),
        "## How to use it",
        *opening(encoder, best_of(result.tables["forms"]), onnx=onnx, pairs=pairs, threshold=threshold or 0.0),
        "## How this was measured",
        "\n".join(f"- {note}" for note in [*result.notes, RULE, _versions()]),
    ]
    return "\n\n".join(parts) + "\n"


def _recommended(result: Result) -> str:
    """The form to take, where it lies, and what it is beside the whole model."""
    forms = result.tables["forms"]
    best = forms[forms["best"]].iloc[0]
    row = result.tables["models"].set_index("arm").loc[best["arm"]]
    change = _between(row["change"], row["change_low"], row["change_high"], 3)
    return (
        f"**{best['model']}**: {WHERE[best['arm']]}. It is {best['faster']:.2f} times as fast as the whole model "
        f"({texts_at_a_time(int(best['texts']))}) and has {best['size']:.0%} of its size; its "
        f"{result['chance'].unit} on the test set changes by {change}."
    )


def _models(result: Result) -> str:
    """Every model with its size, speed and score; the score's change from the whole model's is paired, and so is
    what is kept of that model's score above chance."""
    metric = result["chance"].unit
    speeds: dict[tuple[str, int], str] = {}
    for time in result.tables["times"].to_dict("records"):
        faster = "" if time["arm"] == WHOLE else f", {_between(time['faster'], time['low'], time['high'], 2)}x"
        speeds[time["arm"], time["texts"]] = f"{time['milliseconds']:.2f} ms{faster}"
    texts = list(dict.fromkeys(each for _, each in speeds))
    rows = [
        [row["model"], f"{row['parameters']:,}", f"{row['megabytes']:.1f}",
         *(speeds[row["arm"], each] for each in texts), _between(row["score"], row["low"], row["high"], 3),
         "" if row["arm"] == WHOLE else _between(row["change"], row["change_low"], row["change_high"], 3),
         "" if row["arm"] == WHOLE else _kept(row)]
        for row in result.tables["models"].to_dict("records")
    ]  # fmt: skip
    return _table(["model", "parameters", "MB", *map(texts_at_a_time, texts), metric, "change", "kept"], rows)


def _changed(result: Result) -> list[str]:
    """Rows of the test set that are fixed and broken, and what that is by label."""
    names = dict(result.tables["models"][["arm", "model"]].itertuples(index=False))
    lines = "\n".join(f"- {line}" for line in changed_lines(result.tables, names, WHOLE))
    how = (
        "Rows are compared one by one with the whole model's, as `bertscope versus` does. p of rows is McNemar's "
        "exact one; of a score that is no share of rows, by exchanging the two models' answers; both are corrected "
        "for the number of models."
    )
    return [lines, how]


def _kept(row: dict[Hashable, Any]) -> str:
    """What is kept, and its interval; neither is there where the whole model isn't clearly above chance."""
    found = [f"{row[name]:.0%}" for name in ("kept", "kept_low", "kept_high") if not math.isnan(row[name])]
    return f"{found[0]} [{', '.join(found[1:])}]" if len(found) == 3 else "".join(found)


def _layers(result: Result) -> str:
    table = result.tables["layers"].pivot(index="layer", columns="part", values=["left", "whole"])
    rows = [
        [layer, *(f"{row[('left', part)]} of {row[('whole', part)]}" for part in ("heads", "neurons"))]
        if row[("left", "layer")]
        else [layer, "gone", "gone"]
        for layer, row in table.iterrows()
    ]
    return _table(["layer", "heads left", "neurons left"], rows)


def _versions() -> str:
    return (
        f"bertscope {bertscope.__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"{platform.processor() or platform.machine()}, {platform.system()}"
    )


def _between(value: float, low: float, high: float, digits: int) -> str:
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)
