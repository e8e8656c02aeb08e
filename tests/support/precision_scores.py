"""Does half precision cost score? Fine-tunes a model with several seeds in float32 and in bfloat16, on a GPU.

    python tests/support/precision_scores.py MODEL DATA [--rows 6000] [--epochs 2] [--seeds 6] [--out FILE.json]

Both precisions have the same seeds, and so the same fresh task head, order of examples and dropout; differences are
taken seed by seed. docs/gpu.md has what it found, `training/precision.py` what follows from it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.data.read import read_task
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import Training
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head


def scored(base: Encoder, task: Task, config: FinetuneConfig, *, halves: bool) -> dict[str, float]:
    """One training: its score on the test set, and its examples a second in the steps."""
    encoder = with_task_head(base, task, seed=config.seed)
    settings = config.settled(base.hidden_size, len(task.train))
    run = Training(encoder, Labelled(encoder, task), settings, None)
    run.halves = halves
    run.to_the_end()
    asked = task.asked_of(encoder)
    score = asked.score(encoder.predict(asked.test, asked.output)).value
    return {"score": score, "rate": run.epochs * len(task.train) / run.history.seconds}


def compared(base: Encoder, task: Task, config: FinetuneConfig, seeds: int) -> dict[str, Any]:
    """Seed by seed in both precisions, in turn."""
    found: dict[str, list[dict[str, float]]] = {"float32": [], "bfloat16": []}
    for seed in range(seeds):
        for precision, runs in found.items():
            runs.append(scored(base, task, replace(config, seed=seed), halves=precision == "bfloat16"))
    single, half = (np.array([run["score"] for run in runs]) for runs in found.values())
    apart = half - single
    return {
        "layers": base.n_layers, "heads": base.head_counts[0], "units": base.hidden_size, "model": base.name,
        "data": task.name, "rows": len(task.train), "test": len(task.test), "metric": task.metric,
        "float32": single.mean(), "bfloat16": half.mean(),
        "difference": apart.mean(), "standard_error": apart.std(ddof=1) / seeds**0.5 if seeds > 1 else None,
        "faster": float(np.median([run["rate"] for run in found["bfloat16"]]))
        / float(np.median([run["rate"] for run in found["float32"]])),
        "runs": found,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    started = time.perf_counter()
    config = FinetuneConfig(epochs=asked.epochs)
    found = compared(load(asked.model), read_task(asked.data, limit=asked.rows), config, asked.seeds)
    found["seconds"] = time.perf_counter() - started
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print({name: value for name, value in found.items() if name != "runs"})


if __name__ == "__main__":
    main()
