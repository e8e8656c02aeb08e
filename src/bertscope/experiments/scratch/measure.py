"""`scratch`: every arm over its seeds, scored on the same examples."""

from __future__ import annotations

from collections.abc import Sequence

from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.scratch.question import TRAININGS, UNTUNED, ScratchConfig
from bertscope.experiments.scratch.result import scratch_result


def measure(
    tuned: Sequence[Result],
    random: Sequence[Result],
    frozen: Sequence[Result],
    frozen_random: Sequence[Result],
    untuned: Sequence[Result],
    task: Task,
    config: ScratchConfig,
    shapes: Sequence[Result] = (),
) -> Result:
    trained = dict(zip(TRAININGS, (tuned, random, frozen, frozen_random), strict=True))
    runs = {TRAININGS[name].arm: results for name, results in trained.items()} | {UNTUNED: untuned}
    arms = Arms(
        {arm: [task.moments(run.arrays["outputs"]) for run in results] for arm, results in runs.items()}, task.value
    )
    return scratch_result(trained, untuned, arms, task, shapes, config)
