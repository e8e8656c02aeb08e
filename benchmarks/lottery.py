"""The lottery of five seeds on STS-B on a GPU: what a training of it takes with steps one by one, and recorded."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace

from benchmarks.options import SST2, Options, Sentences
from benchmarks.side_by_side import Claim, Report, Skipped, Variant, Work, compare
from bertscope.core.examples import Examples
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.data.read import read_task, task_root
from bertscope.data.task import Task
from bertscope.experiments.lottery.question import LotteryConfig, plan
from bertscope.models.load import load
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import Training
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head

ONE_BY_ONE, RECORDED = "steps one by one, as before", "recorded steps"
SEEDS, WORKERS, ROWS = (0, 1, 2, 3, 4), 5, 2000
"""ROWS: of a split, in the whole lottery, unless `--rows` says otherwise: with all of them it takes some minutes."""
_TRAIN = ("finetune", "ticket")


def run(options: Options) -> Report:
    if options.device == "cpu":
        raise Skipped("recorded steps are for a GPU: --device cuda")
    folder = SST2.parent / "STS-B"
    if not folder.is_dir():
        raise Skipped(f"{folder} isn't there")
    task = read_task(folder, limit=options.rows)
    variants = [
        Variant(name, lambda examples, recorded=recorded: _training(task, examples, options, recorded=recorded))
        for name, recorded in ((ONE_BY_ONE, False), (RECORDED, True))
    ]
    report = compare(
        "one training of the lottery: pocket on STS-B, as the recipe says",
        variants, Sentences(task.train, f"STS-B, {len(task.train):,} pairs of sentences"), options, repeats=1,
        claims=[Claim(RECORDED, ONE_BY_ONE, 3)],
    )  # fmt: skip
    report.notes.append(_lottery(str(folder), options))
    return report


def _training(task: Task, examples: Examples, options: Options, *, recorded: bool) -> Work:
    encoder = with_task_head(load("pocket", device=options.device), task)
    settings = FinetuneConfig().settled(encoder.hidden_size, len(task.train))
    objective = Labelled(encoder, replace(task, train=examples))

    def work() -> None:
        made = Training(encoder, objective, settings, None)
        if not recorded:
            made.captured = None
        made.to_the_end()

    return work


def _lottery(folder: str, options: Options) -> str:
    config = LotteryConfig(seeds=SEEDS, super_survivors=False, patterns=False)
    rows = options.rows or ROWS
    whole = plan(model_root("pocket"), task_root(folder, limit=rows), config)
    trainings = sum(step.name in _TRAIN for step in graph([whole]).values())
    with tempfile.TemporaryDirectory() as store:
        started = time.perf_counter()
        run_steps([whole], Store(store), workers=WORKERS)
        seconds = time.perf_counter() - started
    return (
        f"the lottery of {len(SEEDS)} seeds on {rows:,} rows, {trainings} such trainings and {len(SEEDS)} prunings, "
        f"recorded, with {WORKERS} workers on one GPU: {seconds:.0f} s"
    )
