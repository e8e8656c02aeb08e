"""Fine-tuned models cut to be twice as fast, beside every plain alternative: what it costs in score.

For each `--tuned FOLDER=TASK`, `shrink` is asked twice: for many texts at a time, with all its alternatives, and for
one. The answers are kept in `--store`: the same command finds them again, and `bertscope report build` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from benchmarks.options import Options
from benchmarks.side_by_side import Skipped
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.read import task_root
from bertscope.experiments.shrink.question import ShrinkConfig
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps

TARGET = "2x"
_QUICK = ShrinkConfig(target="90%", retrain=False, onnx=False, rows=16, step=0.5, force=True)


def run(options: Options) -> list[Shrunk]:
    if not options.tuned:
        raise Skipped("name fine-tuned models and their tasks: --tuned FOLDER=TASK")
    config = _QUICK if options.quick else ShrinkConfig(target=TARGET, distill=options.distill, epochs=options.epochs)
    answers = []
    for named in options.tuned:
        folder, found, source = named.partition("=")
        if not found:
            raise SystemExit(f"{named!r} names no task; write FOLDER=TASK")
        inputs = {"model": model_root(folder), "task": task_root(source, limit=options.rows)}
        many = replace(config, curve=not options.quick)
        answers += [_shrunk(options, inputs, each) for each in (many, replace(config, batch=1))]
    return answers


def _shrunk(options: Options, inputs: dict[str, Any], config: ShrinkConfig) -> Shrunk:
    store = Store(options.store)
    step = find("shrink").step(inputs, config)
    run_steps([step], store)
    return Shrunk(store.result(step), config.batch)


@dataclass(frozen=True)
class Shrunk:
    """One answer as a table: every model's size, speed and score, and how much of the score above chance is kept."""

    result: Result
    batch: int

    def rows(self) -> list[dict[str, Any]]:
        models, times = (self.result.tables[name].to_dict("records") for name in ("models", "times"))
        speeds = {(row["arm"], row["texts"]): row for row in times}
        loads = sorted({row["texts"] for row in times})
        return [
            {
                key: row[key]
                for key in (
                    "arm",
                    "model",
                    "way",
                    "parameters",
                    "megabytes",
                    "validation",
                    "score",
                    "low",
                    "high",
                    "kept",
                    "kept_low",
                    "kept_high",
                )
            }
            | {
                f"{what}, {texts}": speeds[row["arm"], texts][what]
                for texts in loads
                for what in ("milliseconds", "faster", "low", "high")
            }
            for row in models
        ]

    def to_json(self) -> dict[str, Any]:
        found = {"about": self.result.about, "batch": self.batch, "rows": self.rows(), "notes": self.result.notes}
        return found | {"provenance": self.result.provenance}

    def __str__(self) -> str:
        rows = self.rows()
        loads = [key.partition(", ")[2] for key in rows[0] if key.startswith("faster")]
        wide = max(len(row["model"]) for row in rows)
        speeds = "".join(f"{f'ms, {load}':>10}{'x':>7}" for load in loads)
        metric = self.result["change"].unit
        lines = [f"{self.result.about}; cut for {self.batch} text(s) at a time", ""]
        said = f"{metric:>10}{'95% interval':>18}{'kept':>7}{'95% interval':>14}"
        lines += [f"  {'model':{wide}}{'parameters':>12}{'MB':>8}{speeds}{said}"]
        for row in rows:
            times = "".join(f"{row[f'milliseconds, {load}']:10.2f}{row[f'faster, {load}']:7.2f}" for load in loads)
            interval = f"{row['low']:.3f} to {row['high']:.3f}"
            kept, low, high = (
                f"{row[name]:.0%}" if isfinite(row[name]) else "-" for name in ("kept", "kept_low", "kept_high")
            )
            lines += [
                f"  {row['model']:{wide}}{row['parameters']:12,}{row['megabytes']:8.1f}{times}{row['score']:10.3f}"
                f"{interval:>18}{kept:>7}{f'{low} to {high}' if low != '-' else '-':>14}"
            ]
        lines += ["", "  kept: of the whole model's score above chance; -: there is none, or not clearly"]
        return "\n".join([*lines, *(f"  {note}" for note in self.result.notes)])
