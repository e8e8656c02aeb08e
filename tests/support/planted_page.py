"""A store with made-up answers, and the page that is built of it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.files import digest_text
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report.build import build_report
from stored_steps import put_step

HOSTILE = "</script><script>alert('x')</script>\"quoted\" & \u202eright to left"


def id_of(model: str) -> str:
    """What such a model would hold."""
    return digest_text(model)[:16]


def models(*names: str) -> dict[str, ModelRecord]:
    """What a result is about."""
    return {id_of(name): ModelRecord(id_of(name), name) for name in names or ("pocket",)}


def heads(layers: int = 2, n_heads: int = 3) -> pd.DataFrame:
    rows = [(layer, head) for layer in range(1, layers + 1) for head in range(1, n_heads + 1)]
    frame = pd.DataFrame(rows, columns=["layer", "head"])
    frame = frame.assign(effect=0.01 * frame["layer"] - 0.02 * frame["head"])
    return frame.assign(low=frame.effect - 0.02, high=frame.effect + 0.02)


def heat(**more) -> Figure:
    about = {"value": "effect", "low": "low", "high": "high", "middle": 0.0} | more
    return Figure("heatmap", "heads", "head", "layer", "One head off", "Its effect.", **about)


def ablation(**more) -> Result:
    about = {"models": models(), "subject": {"task": "demo/sentiment"}} | more
    accuracy = Number("accuracy", 0.8875, 0.861, 0.912, 800)
    return Result("ablate", 1, {"heads": heads()}, headline=[accuracy], figures=[heat()], **about)


def put(store: Path, result: Result, *, model: str = "pocket", task: str = "demo/sentiment", **config) -> Path:
    inputs = {"model": Root("model", model, id_of(model)), "task": Root("task", task, "1" * 16)}
    step = Step(result.question, result.version, config, inputs)
    return put_step(store, step, result)


def page_of(store: Path, **more) -> str:
    return build_report(store, store / "page.html", **more).read_text(encoding="utf-8")


def data_of(page: str) -> list[dict]:
    """What the page holds of each answer: tables, figures, maps."""
    packed = re.findall('<script type="application/gzip" id="[^"]*-data">(.*)</script>', page)
    return [json.loads(gzip.decompress(base64.b64decode(each))) for each in packed]
