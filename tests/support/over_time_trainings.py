"""The trainings of docs/findings/over-time.md, and what is found of each checkpoint, as tables.

`python tests/support/over_time_trainings.py train TASK SEED DATA OUT` trains pocket with 12 checkpoints,
logarithmically spaced; TASK is `sst2`, `mnli` or `ner`. DATA has a folder of each name, EWT's `ewt-dev.conllu` and
`ewt-test.conllu`, and `blimp.jsonl`, four pairs of each paradigm. What needs a GPU is asked there. A second process, to
which the GPU is hidden, works beside it on the hidden states that were kept: probes and spaces are many small products,
which fifteen processes on one GPU make slower than sixteen cores do. Whatever is found is written at once to OUT.

`python tests/support/over_time_trainings.py keep OUT FILE` makes `tests/fixtures/over_time.json` of what is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import bertscope
from bertscope.models.encoder import Encoder

LIMITS = {"sst2": 10_000}
KEEP, TEXTS, TREES, MASKED = 12, 200, 600, 1500
FORGOTTEN = (6, 7, 8, 9, 11)
"""The checkpoints of which it is asked what they forgot, beside the start, which is pocket itself."""
_COLUMNS = ["quantity", "step", "layer", "value"]
_QUICK = {"control": False, "random": False, "sentences": 0, "repeats": 100}
Rows = Iterable[tuple[str, int, int, float]]


class Desk:
    """Where one training's tables go, one file for each quantity, and how long each took."""

    def __init__(self, name: str, seed: int, out: Path) -> None:
        self.name, self.seed, self.out, self._last = name, seed, out, time.time()

    def write(self, what: str, rows: Rows) -> None:
        table = pd.DataFrame(list(rows), columns=_COLUMNS).assign(task=self.name, seed=self.seed)
        table.to_parquet(self.out / f"{self.name}-{self.seed}-{what}.parquet")
        self.tell(what)

    def tell(self, what: str) -> None:
        now = time.time()
        print(f"{self.name} {self.seed} {what} {now - self._last:.1f} at {now - _STARTED:.0f}", flush=True)
        self._last = now


def train(name: str, seed: int, data: Path, out: Path) -> None:
    desk = Desk(name, seed, out)
    limit = {"limit": LIMITS[name]} if name in LIMITS else {}
    task = bertscope.read_task(str(data / name), **limit)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        trained = bertscope.finetune(
            "pocket", task, keep=KEEP, keep_spacing="logarithmic", seed=seed, out=folder / "model"
        )
        steps = trained.result.tables["checkpoints"]["step"].tolist()
        told = trained.result.provenance["settings"]
        about = {
            "task": name, "seed": seed, "steps": steps, "metric": task.metric, "train": len(task.train),
            "test": len(task.test), "chance": trained.result["chance"].value, "epochs": told["epochs"],
            "learning_rate": told["learning_rate"],
        }  # fmt: skip
        (out / f"{name}-{seed}.json").write_text(json.dumps(about))
        desk.tell("train")
        models = {step: bertscope.load(folder / "model" / f"checkpoint-{step}") for step in steps}
        texts, trees = texts_and_trees(data)
        for what, examples in (("texts", texts), ("trees", trees)):
            for step, model in models.items():
                bertscope.hidden_states(model, examples, store=folder / what / str(step))
        desk.tell("states")
        beside = subprocess.Popen(
            [sys.executable, __file__, "spaces", name, str(seed), str(data), str(out), place],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        try:
            desk.write("score", [("score", step, -1, score(model, task)) for step, model in models.items()])
            desk.write("attention", attention(folder, texts))
            desk.write("forgotten", forgotten(models, data))
        finally:
            beside.wait()


def spaces(name: str, seed: int, data: Path, out: Path, folder: Path) -> None:
    """What is found in hidden states that were kept: the space, trees and parts of speech, by layer."""
    desk = Desk(name, seed, out)
    texts, trees = texts_and_trees(data)

    def kept(what: str) -> tuple[list[Any], dict[str, int]]:
        steps = sorted(int(one.name) for one in (folder / what).iterdir())
        stores = {step: bertscope.StatesStore.open(folder / what / str(step)) for step in steps}
        return list(stores.values()), {one.record.id: step for step, one in stores.items()}

    (states, step_of), (parsed, parsed_at) = kept("texts"), kept("trees")
    # Intervals are over trainings: two groups of texts instead of twenty, and no rare words, which take the time.
    layers = bertscope.geometry(states, texts, groups=2, least=40, sample=200).tables["layers"]
    layers = layers[(layers["form"] == "as_it_is") & (layers["layer"] > 0)]
    spread = layers[layers["measure"] == "baseline"]
    desk.write("space", (("cosine", step_of[one.checkpoint], one.layer, one.value) for one in spread.itertuples()))
    scores = bertscope.structure(parsed, trees, ranks=(32,), epochs=15, **_QUICK).tables["scores"]
    probed = scores[(scores["arm"] == "probe") & (scores["metric"] == "uuas") & (scores["layer"] > 0)]
    desk.write("trees", (("uuas", parsed_at[one.checkpoint], one.layer, one.value) for one in probed.itertuples()))
    similar = bertscope.similarity(states, texts, grid=False, groups=2).tables["layers"]
    same = similar[(similar["measure"] == "rsa") & (similar["layer"] == similar["other_layer"]) & similar["layer"]]
    start = [("rsa", min(step_of.values()), layer, 1.0) for layer in sorted(set(same["layer"]))]
    desk.write("rsa", [*start, *(("rsa", step_of[one.other], one.layer, one.value) for one in same.itertuples())])
    linear = {"targets": ("pos",), "probes": ("linear",), "words": 2000, "code": False, "expected": False}
    tags = bertscope.probe(parsed, trees, repeats=100, **linear).tables["probes"]
    tags = tags[tags["layer"] > 0]
    desk.write("tags", (("tags", parsed_at[one.checkpoint], one.layer, one.accuracy) for one in tags.itertuples()))


def texts_and_trees(data: Path) -> tuple[bertscope.Examples, bertscope.Examples]:
    texts = bertscope.read_examples(str(data / "ewt-test.conllu"), limit=TEXTS)
    return texts, bertscope.read_examples(str(data / "ewt-dev.conllu"), limit=TREES)


def score(model: Encoder, task: bertscope.Task) -> float:
    asked = task.asked_of(model)
    return asked.score(model.predict(asked.test, asked.output)).value


def attention(folder: Path, texts: bertscope.Examples) -> Iterator[tuple[str, int, int, float]]:
    """The divergence of each layer's attention from the start's, by `change` of the series: one reading."""
    series = bertscope.series(folder / "model")
    table = bertscope.change(series, texts, repeats=100, store=folder / "store").tables["layers_divergence"]
    yield from (("attention", series.steps[0], layer, 0.0) for layer in sorted(set(table["layer"])))
    yield from (("attention", one.step, one.layer, one.divergence) for one in table.itertuples())


def forgotten(models: dict[int, Encoder], data: Path) -> Iterator[tuple[str, int, int, float]]:
    """Masked words and minimal pairs by the head of pocket, as it is and mapped."""
    texts = bertscope.read_examples(str(data / "ewt-dev.conllu"), limit=MASKED)
    asked = [list(models)[place] for place in FORGOTTEN]
    found = bertscope.forgetting(
        ["pocket", *(models[step] for step in asked)], texts, pairs=str(data / "blimp.jsonl"), probes=False, repeats=100
    ).tables["lines"]
    for one in found.itertuples():
        name = f"{one.quantity}_{one.way}"
        if one.step == asked[0]:
            yield name, 0, -1, one.base
        yield name, one.step, -1, one.value


def keep(folder: Path) -> dict[str, Any]:
    """Of all trainings in a folder: steps, and means over layers."""
    lines: dict[str, Any] = {}
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    for (task, quantity, seed), some in whole.groupby(["task", "quantity", "seed"]):
        means = some.groupby("step")["value"].mean().sort_index()
        told = {"steps": means.index.tolist(), "values": means.round(6).tolist()}
        lines.setdefault(task, {}).setdefault(quantity, {})[str(seed)] = told
    return {"runs": [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))], "lines": lines}


_STARTED = time.time()

if __name__ == "__main__":
    command, *given = sys.argv[1:]
    if command == "keep":
        Path(given[1]).write_text(json.dumps(keep(Path(given[0])), indent=0))
    else:
        task_name, number, *folders = given
        {"train": train, "spaces": spaces}[command](task_name, int(number), *map(Path, folders))
