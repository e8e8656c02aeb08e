"""The trainings behind `finetune`'s recipe: six data sets, from 100 rows on, pocket and all-MiniLM-L6-v2.

`python tests/support/recipe_trainings.py search --minilm FOLDER --out search.jsonl` tries learning rates, steps and
batches; `... recipes ... --out recipes.jsonl` trains by each recipe; `... heads ... --out heads.jsonl` by auto's,
with heads that learn faster than the encoder. All write a line for each training, go on where they stopped, and
begin nothing that would last beyond `--seconds`. A GPU is shared by `--processes`: a step of so small a model leaves
it idle most of the time. `recipe_table.py` makes the tables of what came out.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.data.read import read_task
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.training.finetune.question import MOST_EPOCHS, FinetuneConfig
from bertscope.training.loop import train
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from shared_data import DATA

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "SST-2": ("glue/SST-2", {}),
    "WebMD": ("webmd/webmd.csv", {"skip_bad": True}),
    "MNLI": ("glue-10k/MNLI", {}),
    "STS-B": ("glue/STS-B", {}),
    "CoLA": ("glue/CoLA", {}),
    "UNER": ("ner", {}),
}
MODELS = {"pocket": 192, "MiniLM": 384}
"""By name, hidden units."""
SIZES = (100, 300, 1000, 3000, 10_000)
MOST = {"validation": 500, "test": 1000}
"""Rows that are scored of each split."""
_FOLLOWED = 8
"""Rows of validation that are scored after each epoch: what happens on the way decides nothing here."""


@dataclass(frozen=True)
class Cell:
    """A training: all that decides it."""

    data: str
    model: str
    rows: int
    seed: int
    learning_rate: float
    epochs: int
    warmup: float = 0.1
    batch: int = 32
    head_rate: float = 1.0

    @property
    def steps(self) -> int:
        return self.epochs * math.ceil(self.rows / self.batch)

    @property
    def settings(self) -> FinetuneConfig:
        return FinetuneConfig(
            "paper", self.epochs, self.learning_rate, self.warmup, head_rate=self.head_rate,
            batch_size=self.batch, seed=self.seed,
        )  # fmt: skip


def sizes(data: str) -> list[int]:
    """As far as the data goes; of what has over half of the next size, all of it."""
    whole = len(_task(data).train)
    return sorted({min(size, whole) for size in SIZES if size < 2 * whole})


@cache
def _task(data: str) -> Task:
    source, options = SOURCES[data]
    task = read_task(DATA / source, **options)
    few = {split: _some(getattr(task, split), n, seed=0) for split, n in MOST.items()}
    return replace(task, **few)


def task_of(data: str, rows: int, seed: int) -> Task:
    """So many rows to train on, others for each seed."""
    task = _task(data)
    return replace(task, train=_some(task.train, rows, seed))


def _some(examples: Any, n: int, seed: int) -> Any:
    return examples.take(np.random.default_rng(seed).permutation(len(examples))[:n])


def planned() -> list[dict[str, Any]]:
    """Learning rates, steps and batches on four of the data sets, whether these have so many rows or not."""
    rates = {"pocket": (1e-4, 3e-4, 1e-3), "MiniLM": (5e-5, 1e-4, 2e-4, 5e-4)}
    found = []
    for data, model, rows in product(("SST-2", "WebMD", "STS-B", "UNER"), MODELS, (100, 1000, 300, 3000)):
        tried = ((100, 200, 400), (8, 32)) if rows < 3000 else ((300, 900), (32,))
        for rate, steps, batch in product(rates[model], *tried):
            epochs = max(1, round(steps / math.ceil(rows / batch)))
            about = {"data": data, "model": model, "rows": rows, "learning_rate": rate, "epochs": epochs}
            found.append(about | {"batch": batch, "planned": steps})
    return found


def searched() -> list[Cell]:
    """What is planned and can be; those of 100 and 1,000 rows come first."""
    cells = [
        Cell(seed=0, **{name: value for name, value in one.items() if name != "planned"})
        for one in planned() if one["rows"] in sizes(one["data"])
    ]  # fmt: skip
    random.Random(0).shuffle(cells)
    return sorted(set(cells), key=lambda cell: (cell.rows not in (100, 1000), cells.index(cell)))


BEFORE = {"pocket": (3e-4, 4, 0.1), "MiniLM": (2e-5, 3, 0.0)}
"""Learning rate, epochs and warm-up that `auto` was until version 3 of `finetune`, whatever the number of rows."""
_FEWER_STEPS = 200
"""Of the arm that has a lower least number of steps than `auto`."""


def arms(data: str, model: str, rows: int, seed: int) -> dict[str, Cell]:
    """The same rows and seed by each recipe."""
    rate, epochs, warmup = BEFORE[model]
    auto = FinetuneConfig().settled(MODELS[model], rows)
    assert auto.learning_rate and auto.epochs and auto.warmup
    fewer = max(epochs, min(MOST_EPOCHS, math.ceil(_FEWER_STEPS / math.ceil(rows / auto.batch_size))))
    return {
        "before": Cell(data, model, rows, seed, rate, epochs, warmup),
        "auto": Cell(data, model, rows, seed, auto.learning_rate, auto.epochs, auto.warmup),
        "fewer": Cell(data, model, rows, seed, auto.learning_rate, fewer, auto.warmup),
    }


def by_recipes(seeds: int) -> list[Cell]:
    """Seed by seed, the longest first; what is the same by every recipe decides nothing and comes late."""
    cells: dict[Cell, None] = {}
    late: list[Cell] = []
    for seed in range(seeds):
        some = [arms(data, model, rows, seed) for data, model in product(SOURCES, MODELS) for rows in sizes(data)]
        unlike = {cell for one in some for cell in one.values() if len(set(one.values())) > 1}
        alike = {cell for one in some for cell in one.values()} - unlike
        first, last = (sorted(part, key=lambda cell: (-cell.steps, str(cell))) for part in (unlike, alike))
        cells |= dict.fromkeys(first)
        late += last
        if seed == 1:
            cells |= dict.fromkeys(cell for cell in late if cell.seed == 0)
    return list(cells | dict.fromkeys(late))


HEAD_RATES, HEAD_ROWS = (10.0, 3.0), 1000


def faster_heads(seeds: int) -> list[Cell]:
    """auto on some rows, with heads that learn at a multiple of the encoder's rate."""
    places = product(range(seeds), HEAD_RATES, MODELS, SOURCES)
    return [replace(arms(data, model, HEAD_ROWS, seed)["auto"], head_rate=rate) for seed, rate, model, data in places]


def train_cell(cell: Cell, base: Encoder) -> dict[str, Any]:
    """The training's line: its settings, its scores, and how its loss went."""
    started = time.perf_counter()
    task = task_of(cell.data, cell.rows, cell.seed)
    encoder = with_task_head(base, task, init="pretrained", seed=cell.seed)
    followed = replace(task, validation=task.validation.take(range(_FOLLOWED)))
    history = train(encoder, Labelled(encoder, followed), cell.settings, out=None, resume=False)
    asked = task.asked_of(encoder)
    scored = {split: getattr(asked, split) for split in MOST}
    scores = {split: asked.score(encoder.predict(rows, asked.output), rows).value for split, rows in scored.items()}
    losses = [point["loss"] for point in history.steps]
    few = max(1, len(losses) // 10)
    return asdict(cell) | scores | {
        "steps": cell.steps,
        "first_loss": float(np.mean(losses[:few])), "last_loss": float(np.mean(losses[-few:])),
        "training_seconds": history.seconds, "seconds": time.perf_counter() - started,
    }  # fmt: skip


def told(out: Path) -> dict[Cell, dict[str, Any]]:
    """The lines of a file, by training."""
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return {Cell(**{one.name: line[one.name] for one in fields(Cell) if one.name in line}): line for line in lines}


def _work(cells: list[Cell], place: Any, minilm: str, device: str, out: Path, until: float) -> None:
    """Train what comes next until time is up; a training that would take longer isn't begun."""
    import torch

    torch.set_num_threads(1)
    models = {"pocket": load("pocket", device=device), "MiniLM": load(minilm, device=device)}
    a_step, beside = 0.03, 1.0
    for cell in _next(cells, place):
        if time.time() + beside + cell.steps * a_step > until:
            continue
        line = train_cell(cell, models[cell.model])
        a_step = max(a_step, line["training_seconds"] / cell.steps)
        beside = max(beside, line["seconds"] - line["training_seconds"])
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _next(cells: list[Cell], place: Any) -> Iterator[Cell]:
    while True:
        with place.get_lock():
            at, place.value = place.value, place.value + 1
        if at >= len(cells):
            return
        yield cells[at]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("what", choices=("search", "recipes", "heads"))
    options.add_argument("--minilm", required=True, help="the folder of all-MiniLM-L6-v2")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=math.inf)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--device", default="auto")
    given, started = options.parse_args(), time.time()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    planned_by = {
        "search": searched,
        "recipes": partial(by_recipes, given.seeds),
        "heads": partial(faster_heads, given.seeds),
    }
    cells = planned_by[given.what]()
    cells = [cell for cell in cells if cell not in told(given.out)]
    print(f"{len(cells)} trainings, {sum(cell.steps for cell in cells):,} steps", flush=True)
    fork, until = multiprocessing.get_context("fork"), started + given.seconds
    place = fork.Value("i", 0)
    work = (cells, place, given.minilm, given.device, given.out, until)
    workers = [fork.Process(target=_work, args=work) for _ in range(given.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{len(told(given.out))} lines after {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
