"""The trainings of docs/findings/over-time.md, and what is found of each checkpoint, as tables.

`python tests/support/over_time_trainings.py train TASK SEED DATA OUT` trains pocket with 12 checkpoints,
logarithmically spaced, and asks all of `ASKED`, or what is named behind OUT; TASK is `sst2`, `mnli` or `ner`. DATA
has a folder of each name, EWT's `ewt-dev.conllu` and `ewt-test.conllu`, and `blimp.jsonl`, four pairs of each
paradigm. What needs a GPU is asked there. A second process, to which the GPU is hidden, works beside it on the hidden
states that were kept: probes are many small products, which fifteen processes on one GPU make slower than sixteen
cores do. Whatever is found is written at once to OUT.

`python tests/support/over_time_trainings.py keep FILE OUT ...` makes `tests/fixtures/over_time.json` of what is in
these folders: a training with the same seed is the same, but for rounding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bertscope
from bertscope.models.encoder import Encoder

LIMITS = {"sst2": 20_000}
KEEP, TEXTS, TREES, MASKED = 12, 200, 600, 1500
FORGOTTEN = (6, 7, 8, 9, 11)
"""The checkpoints of which it is asked what they forgot, beside the start, which is pocket itself."""
BESIDE = ("cosine", "trees", "tags", "rsa")
"""What is found in hidden states, by the second process."""
ASKED = (*BESIDE, "forgotten", "attention", "score")
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


def train(name: str, seed: int, data: Path, out: Path, asked: Sequence[str]) -> None:
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
        read = {"texts": texts} | ({"trees": trees} if {"trees", "tags"} & {*asked} else {})
        for what, examples in read.items():
            for step, model in models.items():
                bertscope.hidden_states(model, examples, store=folder / what / str(step))
        desk.tell("states")
        beside = subprocess.Popen(
            [sys.executable, __file__, "spaces", name, str(seed), str(data), str(out), place, *asked],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        try:
            if "forgotten" in asked:
                desk.write("forgotten", forgotten(models, data))
            if "attention" in asked:
                desk.write("attention", attention(folder, texts))
            if "score" in asked:
                desk.write("score", [("score", step, -1, score(model, task)) for step, model in models.items()])
        finally:
            beside.wait()


def spaces(name: str, seed: int, data: Path, out: Path, folder: Path, asked: Sequence[str]) -> None:
    """What is found in hidden states that were kept: the space, trees and parts of speech, by layer."""
    desk = Desk(name, seed, out)
    texts, trees = texts_and_trees(data)

    def kept(what: str) -> tuple[list[Any], dict[str, int]]:
        steps = sorted(int(one.name) for one in (folder / what).glob("*"))
        stores = {step: bertscope.StatesStore.open(folder / what / str(step)) for step in steps}
        return list(stores.values()), {one.record.id: step for step, one in stores.items()}

    (states, step_of), (parsed, parsed_at) = kept("texts"), kept("trees")
    if "cosine" in asked:
        desk.write("cosine", (
            ("cosine", step_of[one.record.id], layer, mean_cosine(one.vectors(layer)))
            for one in states for layer in one.layers if layer
        ))  # fmt: skip
    if "trees" in asked:
        scores = bertscope.structure(parsed, trees, ranks=(32,), epochs=15, **_QUICK).tables["scores"]
        probed = scores[(scores["arm"] == "probe") & (scores["metric"] == "uuas") & (scores["layer"] > 0)]
        desk.write(
            "trees", (("uuas", parsed_at[one.checkpoint], one.layer, one.value) for one in probed.itertuples())
        )
    if "tags" in asked:
        linear = {"targets": ("pos",), "probes": ("linear",), "words": 2000, "code": False, "expected": False}
        tags = bertscope.probe(parsed, trees, repeats=100, **linear).tables["probes"]
        tags = tags[tags["layer"] > 0]
        desk.write(
            "tags", (("tags", parsed_at[one.checkpoint], one.layer, one.accuracy) for one in tags.itertuples())
        )
    if "rsa" in asked:
        similar = bertscope.similarity(states, texts, grid=False, groups=2).tables["layers"]
        same = similar[(similar["measure"] == "rsa") & (similar["layer"] == similar["other_layer"])]
        same = same[same["layer"] > 0]
        start = [("rsa", min(step_of.values()), layer, 1.0) for layer in sorted(set(same["layer"]))]
        desk.write("rsa", [*start, *(("rsa", step_of[one.other], one.layer, one.value) for one in same.itertuples())])


def mean_cosine(vectors: np.ndarray) -> float:
    """The mean cosine of two different words: `geometry`'s baseline, without all that it measures besides."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    n = len(unit)
    return float((np.square(unit.sum(0, dtype=np.float64)).sum() - n) / (n * (n - 1)))


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
        ["pocket", *(models[step] for step in asked)],
        texts,
        pairs=str(data / "blimp.jsonl"),
        probes=False,
        repeats=100,
    ).tables["lines"]
    for one in found.itertuples():
        name = f"{one.quantity}_{one.way}"
        if one.step == asked[0]:
            yield name, 0, -1, one.base
        yield name, one.step, -1, one.value


def keep(folders: Sequence[Path]) -> dict[str, Any]:
    """Of all trainings in these folders: steps, and means over layers; of what is in several, the last's."""
    lines: dict[str, Any] = {}
    for folder in folders:
        whole = pd.concat(map(pd.read_parquet, sorted(folder.glob("*.parquet"))))
        for (task, quantity, seed), some in whole.groupby(["task", "quantity", "seed"]):
            means = some.groupby("step")["value"].mean().sort_index()
            told = {"steps": means.index.tolist(), "values": means.round(6).tolist()}
            lines.setdefault(task, {}).setdefault(quantity, {})[str(seed)] = told
    runs = {path.name: json.loads(path.read_text()) for folder in folders for path in sorted(folder.glob("*.json"))}
    return {"runs": list(runs.values()), "lines": lines}


_STARTED = time.time()

if __name__ == "__main__":
    command, *given = sys.argv[1:]
    if command == "keep":
        Path(given[0]).write_text(json.dumps(keep([Path(one) for one in given[1:]]), indent=0))
    elif command == "train":
        train(given[0], int(given[1]), Path(given[2]), Path(given[3]), given[4:] or ASKED)
    else:
        spaces(given[0], int(given[1]), Path(given[2]), Path(given[3]), Path(given[4]), given[5:])
