"""Several answers to one question, of a base and what was tuned of it, on two tasks and with two seeds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_page import heads, heat, id_of, put

BASE = ModelRecord(id_of("pocket"), "pocket")
SAME = 0.5
"""A value that every answer has at step 1, however far it goes on."""


def tuned(task: str) -> ModelRecord:
    name = f"pocket tuned on {task}"
    return ModelRecord(id_of(name), name, Origin("finetune", BASE, DataRecord(id_of(task), task)))


def curve(reach: float, *checkpoints: str) -> pd.DataFrame:
    rows = [(name, step, SAME + reach * step) for name in checkpoints for step in range(3)]
    return pd.DataFrame(rows, columns=["checkpoint", "step", "score"]).assign(step=lambda rows: rows["step"] + 1)


def lines(**more) -> Figure:
    about = {"title": "Score by step", "color": "checkpoint", "key": "curve"} | more
    return Figure("lines", "curve", "step", "score", caption="How it goes.", **about)


def answer(task: str = "demo/sentiment", reach: float = 0.1, rows: int = 2, **more) -> Result:
    """Heads whose effects reach so far from 0, a curve that goes so far up, and numbers of both models."""
    last = tuned(task)
    effects = heads(rows).assign(effect=lambda table: reach * (-1.0) ** table["head"])
    tables = {"heads": effects, "curve": curve(reach, BASE.id, last.id)}
    figures = [heat(key="effects"), lines(), replace(lines(key=f"of_{last.id}"), where={"checkpoint": last.id},
                                                     title=f"Score by step of {last.name}")]  # fmt: skip
    numbers = [
        Number("score", SAME + reach, SAME, 1.0, 100, "accuracy", of={"model": last.id}),
        Number("worst", -reach, of={"unit": f"head:1.{int(10 * reach)}"}, label=f"worst head (1.{int(10 * reach)})"),
    ]
    return Result("made-up", 1, tables, headline=numbers, figures=figures,
                  models={BASE.id: BASE, last.id: last}, subject={"task": task}, **more)  # fmt: skip


def store_of_four(folder: Path, **more) -> Path:
    """Two tasks, two seeds each, that reach 0.1 to 0.4."""
    for place, (task, seed) in enumerate(product(("demo/sentiment", "demo/topics"), (1, 2))):
        put(folder, answer(task, (place + 1) / 10, **more), task=task, seed=seed, on=task)
    return folder
