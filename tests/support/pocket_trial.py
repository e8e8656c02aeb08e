"""What helps the next pocket: short pre-trainings side by side on one GPU, fine-tuned on a few tasks. The recipe of
the better one is the long run's, without anybody being asked: the machine doesn't wait.

    pocket_trial.py --data FOLDER --minutes 2.5

`pocket_run.py bring` comes before it, `pocket_run.py start` after it. On a GPU that several processes share (NVIDIA's
MPS) they take turns at it quickly. The score of a recipe is the mean over tasks and seeds; where one lacks any,
nothing is chosen, and the long run has the usual recipe.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pocket_compare import PAIRS, read
from pocket_run import CHOSEN, PLACE

HERE = Path(__file__).parent
RECIPES: dict[str, dict[str, float]] = {"with a teacher": {}, "without": {"teacher_weight": 0.0}}
TASKS = ["STS-B", "MRPC", "CoLA", "entities", "BLiMP"]


def tried(minutes: float, longest: float) -> dict[str, Path]:
    """The models that are done in time, each in a folder of its own; what was brought is shared."""
    shutil.rmtree(PLACE / "trials", ignore_errors=True)
    until = time.time() + longest
    given, places = json.loads(os.environ.get("POCKET_RECIPE", "{}")), dict[str, Path]()
    for name, changes in RECIPES.items():
        places[name] = PLACE / "trials" / name.replace(" ", "-")
        places[name].mkdir(parents=True)
        for shared in ("parts", "tree"):
            (places[name] / shared).symlink_to(PLACE / shared)
        recipe = json.dumps(given | changes | {"keep": "none"})
        how = ("--minutes", str(minutes), "--tries", "1")
        _run("pocket_run.py", "start", *how, POCKET_RUN=str(places[name]), POCKET_RECIPE=recipe)
    for place in places.values():
        left = max(0.0, until - time.time())
        _run("pocket_run.py", "wait", "--longest", str(left), POCKET_RUN=str(place))
        if not (place / "done").exists():
            os.killpg(int((place / "pid").read_text()), signal.SIGKILL)
    return {name: place for name, place in places.items() if (place / "done").exists()}


def scored(places: dict[str, Path], data: str, seeds: int, more: list[str]) -> dict[str, float]:
    """Nothing, unless all scores of all recipes are there."""
    working = [
        subprocess.Popen(
            [sys.executable, HERE / "pocket_compare.py", "score", place / "model", "--data", data, "--out",
             place / "scores.json", "--seeds", str(seeds), "--tasks", *TASKS, *more]
        )
        for place in places.values()
    ]  # fmt: skip
    for one in working:
        one.wait()
    found = {name: read(place / "scores.json") for name, place in places.items()}
    wanted = {(task, str(seed)) for task in TASKS for seed in range(seeds) if seed == 0 or task != PAIRS}
    complete = [{(task, seed) for task in of for seed in of[task]} >= wanted for of in found.values()]
    if not all(complete) or len(found) < len(RECIPES):
        return {}
    return {
        name: float(np.mean([np.mean([x for key, x in of.items() if key != "wide"]) for of in tasks.values()]))
        for name, tasks in found.items()
    }


def _run(script: str, *words: str, **environment: str) -> None:
    subprocess.run([sys.executable, HERE / script, *words], check=True, env=os.environ | environment)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--minutes", type=float, default=2.5)
    parser.add_argument("--longest", type=float, default=300, help="seconds until all are to be trained")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", default="4000", help="rows or pairs of a task")
    parser.add_argument("--workers", default="6")
    asked = parser.parse_args()
    how = ["--limit", asked.limit, "--workers", asked.workers]
    scores = scored(tried(asked.minutes, asked.longest), asked.data, asked.seeds, how)
    better = max(scores, key=lambda name: scores[name], default=None)
    if better is not None:
        CHOSEN.write_text(json.dumps(RECIPES[better]), encoding="utf-8")
    print(json.dumps({"scores": scores, "chosen": better}))
