"""Results made by hand, from which is known what follows: what a model of a task does, needs and was made by."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pandas as pd

from bertscope.core.config import to_json
from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report.finding import Finding
from bertscope.training.finetune.question import FinetuneConfig

TASK = "demo/sentiment"
BASE = ModelRecord("b" * 16, "pocket", task_head="masked-lm", source="pocket")
DATA = DataRecord("d" * 16, TASK, "classification", ("negative", "positive"))


def tuned(id: str = "t", source: str = "", **origin) -> ModelRecord:
    made = Origin(by="finetune", base=BASE, data=DATA, seed=0, **origin)
    return ModelRecord(id * 16, f"pocket tuned on {TASK}", made, "classifier", source or f"/home/jo/{id}-model")


TUNED = tuned()
RANDOM = dataclasses.replace(TUNED, id="r" * 16, name="random", origin=Origin(by="random", base=BASE, init="random"))


def finding(question: str, tables: dict, headline: list[Number], model: ModelRecord = TUNED, *, figures=(),
            private: bool = False, **config) -> Finding:  # fmt: skip
    result = Result(question, find(question).version, tables, headline=headline, figures=list(figures),
                    models={model.id: model}, subject={"task": TASK})  # fmt: skip
    inputs = {"model": Root("model", model.source or model.name, model.id), "task": Root("task", TASK, "1" * 16)}
    return Finding(Step(question, result.version, config, inputs), result, private)


def errors(score: float = 0.9, reach: float = 0.03, failing: str = "", model: ModelRecord = TUNED, **more) -> Finding:
    row = {"by": "right", "kind": "label", "slice": failing or "negative", "certain": bool(failing),
           "difference": -0.3 if failing else -0.01, "n": 100, "inside": 0.6, "outside": 0.9}  # fmt: skip
    headline = [Number("score", score, score - reach, score + reach, 400, "accuracy"),
                Number("chance", 0.5, unit="accuracy"), Number("slices_tried", 12.0)]  # fmt: skip
    return finding("errors", {"slices": pd.DataFrame([row])}, headline, model, **more)


def ablate(kind: str, needed: tuple[int, ...], model: ModelRecord = TUNED, **more) -> Finding:
    """Of four parts those of these numbers are needed, the last most."""
    rows = [
        {"kind": kind, "unit": f"{kind}:{f'1.{at}' if kind == 'head' else at}", "layer": 1 if kind == "head" else at,
         "head": at if kind == "head" else 0, "loss_rise": 0.1 * at if at in needed else 0.001,
         "loss_certain": at in needed, "effect": -0.15 if at in needed else 0.0, "certain": at in needed}
        for at in range(1, 5)
    ]  # fmt: skip
    told = [Number("reliability", 0.9, of={"kind": kind, "measure": "loss"})]
    map_of = Figure("heatmap", "effects", "head", "layer", "Parts off", "c", value="loss_rise", key=kind)
    return finding("ablate", {"effects": pd.DataFrame(rows)}, told, model, figures=[map_of], kind=kind, **more)


def history(losses: Sequence[float] = (1.0, 0.2), scores: Sequence[float] = (0.5, 0.5), epochs: int = 4,
            learning_rate: float = 3e-4, rows: int = 3200, **settings) -> dict:  # fmt: skip
    """What a training tells of its way: the loss step by step, the score before it and after each epoch, and of a
    narrow encoder what `auto` would have done."""
    config = FinetuneConfig(epochs=epochs, learning_rate=learning_rate, **settings)
    told = [{"epoch": at, "loss": 1.0, "score": score, "low": score - 0.03, "high": score + 0.03}
            for at, score in enumerate(scores)]  # fmt: skip
    points = [{"step": at + 1, "loss": loss} for at, loss in enumerate(losses)]
    auto = FinetuneConfig(batch_size=config.batch_size).settled(192, rows)
    return {"tables": {"epochs": pd.DataFrame(told), "steps": pd.DataFrame(points)},
            "provenance": {"settings": to_json(config.settled(192, rows)), "auto": to_json(auto)}}  # fmt: skip


def training(after: float, base: ModelRecord = BASE, way: dict | None = None, beside: Mapping[str, float] = {},
             reach: float = 0.02, **config) -> Finding:  # fmt: skip
    """A training that ended there, beside a constant answer that has .5, and other baselines."""
    without = {"chance": 0.5} | dict(beside)
    headline = [Number("after", after, after - reach, after + reach, 400, "accuracy"),
                *(Number(key, value, unit="accuracy") for key, value in without.items())]  # fmt: skip
    way = way or history()
    made = finding("finetune", way["tables"], headline, base, **{"init": "pretrained"} | config)
    made.result.provenance |= way["provenance"]
    return made
