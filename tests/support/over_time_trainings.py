"""The trainings of docs/findings/over-time.md: `python tests/support/over_time_trainings.py TASK SEED DATA OUT`.

One training of pocket with 12 checkpoints, logarithmically spaced, and what is found of each, as a table. TASK
is `sst2`, `mnli` or `ner`; DATA has a folder of each name, and EWT's `ewt-dev.conllu` and `ewt-test.conllu`. On a GPU
15 run side by side in some six minutes; `kept` has the means over layers that `over_time_table.py` reads.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import bertscope
from bertscope.models.encoder import Encoder

LIMITS = {"sst2": 20_000}
KEEP, TEXTS, TREES = 12, 200, 600
_COLUMNS = ["quantity", "step", "layer", "value"]


def train(name: str, seed: int, data: Path, out: Path) -> None:
    task = bertscope.read_task(str(data / name), **({"limit": LIMITS[name]} if name in LIMITS else {}))
    with tempfile.TemporaryDirectory() as folder:
        trained = bertscope.finetune(
            "pocket", task, keep=KEEP, keep_spacing="logarithmic", seed=seed, out=Path(folder) / "model"
        )
        steps = trained.result.tables["checkpoints"]["step"].tolist()
        models = {step: bertscope.load(Path(folder) / "model" / f"checkpoint-{step}") for step in steps}
        rows = [("score", step, -1, score(model, task)) for step, model in models.items()]
        rows += asked(models, data)
    told = trained.result.provenance["settings"]
    about = {
        "task": name, "seed": seed, "steps": steps, "metric": task.metric, "train": len(task.train),
        "test": len(task.test), "chance": trained.result["chance"].value, "epochs": told["epochs"],
        "learning_rate": told["learning_rate"], "device": str(models[0].device),
    }  # fmt: skip
    pd.DataFrame(rows, columns=_COLUMNS).assign(task=name, seed=seed).to_parquet(out / f"{name}-{seed}.parquet")
    (out / f"{name}-{seed}.json").write_text(json.dumps(about))


def score(model: Encoder, task: bertscope.Task) -> float:
    asked = task.asked_of(model)
    return asked.score(model.predict(asked.test, asked.output)).value


def asked(models: dict[int, Encoder], data: Path) -> list[tuple[str, int, int, float]]:
    """Attention and geometry beside the start's, and trees, by layer."""
    texts = bertscope.read_examples(str(data / "ewt-test.conllu"), limit=TEXTS)
    trees = bertscope.read_examples(str(data / "ewt-dev.conllu"), limit=TREES)
    first, *others = models.values()
    step_of = {model.id: step for step, model in models.items()}
    rows = [("attention", 0, layer, 0.0) for layer in range(1, first.n_layers + 1)]
    rows += [("rsa", 0, layer, 1.0) for layer in range(1, first.n_layers + 1)]
    for model in others:
        changed = bertscope.change(first, model, texts, repeats=100).tables["layers"]
        found = zip(changed["layer"], changed["divergence"], strict=True)
        rows += [("attention", step_of[model.id], layer, value) for layer, value in found]
    similar = bertscope.similarity(list(models.values()), texts, grid=False).tables["layers"]
    same = similar[(similar["measure"] == "rsa") & (similar["layer"] == similar["other_layer"])]
    rows += [("rsa", step_of[one.other], one.layer, one.value) for one in same.itertuples() if one.layer]
    scores = bertscope.structure(
        list(models.values()), trees, ranks=(32,), control=False, random=False, sentences=0, repeats=100, epochs=15
    ).tables["scores"]
    probed = scores[(scores["arm"] == "probe") & (scores["metric"] == "uuas")]
    return rows + [
        ("uuas", step_of[one.checkpoint], one.layer, one.value) for one in probed.itertuples() if one.layer
    ]


def kept(folder: Path) -> dict[str, Any]:
    """Of all trainings in a folder: the means over layers."""
    lines: dict[str, Any] = {}
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    for (task, quantity, seed), some in whole.groupby(["task", "quantity", "seed"]):
        means = some.groupby("step")["value"].mean().sort_index()
        lines.setdefault(task, {}).setdefault(quantity, {})[str(seed)] = means.round(6).tolist()
    return {"runs": [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))], "lines": lines}


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
