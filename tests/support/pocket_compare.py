"""The old pocket and the new one: the same fixed recipe, the same tasks, the same seeds, side by side.

    pocket_compare.py score pocket --data ../shared/data --out old.json --seeds 5
    pocket_compare.py score NEW/model --data ../shared/data --out new.json --seeds 5
    pocket_compare.py table old.json new.json

The scores of the first pocket and of the second, which ships, are in tests/fixtures (both from one H200 within half
an hour, 2026-11-20, torch 2.11): docs/pretrain.md shows them side by side.

`score` writes each score as it is known, and a second call does what is missing; `--workers` are processes that share
the work. A fine-tuning is the recipe `pocket` (4 epochs, 3e-4) with `head_rate` 10, since otherwise what an encoder
knows of entities or acceptability is hidden by how far its new head gets, on at most 10,000 rows (of SST-2; the
others have fewer); UUAS is a structural probe's on EWT's dev and test sentences, from the best layer; BLiMP has no
seed.

A gain is the new one's score minus the old one's of the same task and seed; the mean gain is that of all tasks, seed
by seed. Intervals are Student's over seeds: they say how far another training of the same two models would come out
elsewhere. The ten tasks are the question, not a sample. BLiMP's is that of its pairs, as if they weren't the same.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

import bertscope

FINETUNED = {
    "STS-B": "glue/STS-B", "MRPC": "glue/MRPC", "RTE": "glue/RTE", "SST-2": "glue/SST-2", "CoLA": "glue/CoLA",
    "MNLI-10k": "glue-10k/MNLI", "QNLI-10k": "glue-10k/QNLI", "entities": "ner",
}  # fmt: skip
TREES, PAIRS = "UUAS", "BLiMP"
TASKS = [*FINETUNED, TREES, PAIRS]
ROWS, HEAD_RATE = 10_000, 10.0

Found = dict[str, dict[str, float]]
"""By task: the score of each seed, and `wide`, half of the interval, where there is one seed alone."""


def score_of(task: str, model: str, data: Path, seed: int, limit: int | None) -> Any:
    """The headline number that counts."""
    if task == PAIRS:
        pairs = bertscope.minimal_pairs([model], data / "blimp/BLiMP.zip", rows=0, repeats=100, limit=limit)
        return pairs["accuracy"]
    if task == TREES:
        test, train = (data / f"UD_English-EWT/en_ewt-ud-{split}.conllu" for split in ("test", "dev"))
        return bertscope.structure(
            [model], test, train=train, seed=seed, random=False, control=False, repeats=100, limit=limit
        )["uuas"]  # fmt: skip
    made = bertscope.finetune(
        model, data / FINETUNED[task], recipe="pocket", head_rate=HEAD_RATE, seed=seed, limit=min(limit or ROWS, ROWS)
    )
    return made.result["after"]


def score(
    model: str, data: Path, out: Path, tasks: Sequence[str], seeds: int, limit: int | None = None,
    measured: Callable[..., Any] = score_of, workers: int = 1,
) -> None:  # fmt: skip
    """Seed by seed: after each, all tasks have as many scores, or with several workers about as many."""
    jobs = [
        (task, seed, model, data, out, limit, measured)
        for seed in range(seeds)
        for task in tasks
        if str(seed) not in read(out).get(task, {}) and (seed == 0 or task != PAIRS)
    ]
    if workers == 1:
        for job in jobs:
            _score_one(*job)
        return
    with get_context("spawn").Pool(workers) as pool:
        pool.starmap(_score_one, jobs, chunksize=1)


def _score_one(
    task: str, seed: int, model: str, data: Path, out: Path, limit: int | None, measured: Callable[..., Any]
) -> None:
    began = time.perf_counter()
    number = measured(task, model, data, seed, limit)
    print(model, task, seed, f"{number.value:.4f} {time.perf_counter() - began:.0f} s", flush=True)
    more = {"wide": (number.high - number.low) / 2} if task == PAIRS else {}
    write(out, task, {str(seed): number.value} | more)


def read(out: Path) -> Found:
    return json.loads(out.read_text()) if out.exists() else {}


def write(out: Path, task: str, found: dict[str, float]) -> None:
    """Into the file as it is now: another process may have written meanwhile."""
    with out.with_name(out.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        everything = read(out)
        everything.setdefault(task, {}).update(found)
        scratch = out.with_name(out.name + ".new")
        scratch.write_text(json.dumps(everything, indent=1), encoding="utf-8")
        scratch.replace(out)


def compared(old: Found, new: Found) -> dict[str, Any]:
    """Of each task both means, the gain and its 95% interval; and the mean gain, of the seeds that all tasks have."""
    tasks, gains = [], list[np.ndarray]()
    for task in (one for one in TASKS if one in old and one in new):
        seeds = sorted(key for key in old[task].keys() & new[task].keys() if key != "wide")
        before, after = (np.array([one[task][seed] for seed in seeds]) for one in (old, new))
        if "wide" in new[task]:
            wide = math.hypot(old[task]["wide"], new[task]["wide"])
        else:
            wide = _half_width(after - before)
        gain = float((after - before).mean())
        row = {"task": task, "seeds": len(seeds), "old": float(before.mean()), "new": float(after.mean())}
        tasks.append(row | {"gain": gain, "low": gain - wide, "high": gain + wide})
        gains.append(after - before)
    common = min((len(one) for one in gains if len(one) > 1), default=1)
    by_seed = np.mean([np.resize(one, common) if len(one) == 1 else one[:common] for one in gains], axis=0)
    mean, wide = float(by_seed.mean()), _half_width(by_seed)
    return {"tasks": tasks, "mean": {"seeds": common, "gain": mean, "low": mean - wide, "high": mean + wide}}


def _half_width(gains: np.ndarray) -> float:
    """Of one seed nothing is known."""
    if len(gains) < 2:
        return math.nan
    return float(student.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / math.sqrt(len(gains)))


def table(found: dict[str, Any]) -> str:
    lines = ["| task | seeds | old | new | gain | 95% interval |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row['task']} | {row['seeds']} | {row['old']:.4f} | {row['new']:.4f} | {row['gain']:+.4f} "
        f"| {row['low']:+.4f} to {row['high']:+.4f} |"
        for row in found["tasks"]
    ]
    mean = found["mean"]
    lines.append(f"| mean | {mean['seeds']} | | | {mean['gain']:+.4f} | {mean['low']:+.4f} to {mean['high']:+.4f} |")
    worse = [row["task"] for row in found["tasks"] if row["high"] < 0]
    lines += ["", f"certainly worse: {', '.join(worse) or 'none'}"]
    if unknown := [row["task"] for row in found["tasks"] if math.isnan(row["high"])]:
        lines.append(f"whether worse isn't known of one seed: {', '.join(unknown)}")
    return "\n".join([*lines, f"the mean gain is {'' if mean['low'] > 0 else 'not '}certainly above 0"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("score", "table"))
    parser.add_argument("given", nargs="+", help="score: a model; table: two files of scores")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, help="score: the file of scores; table: also write all of it as JSON")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "score":
        score(asked.given[0], asked.data, asked.out, asked.tasks, asked.seeds, asked.limit, workers=asked.workers)
    else:
        found = compared(*(read(Path(one)) for one in asked.given))
        print(table(found))
        if asked.out:
            asked.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
