"""`scratch`: every arm over its seeds, scored on the same examples."""

from __future__ import annotations

from collections.abc import Sequence

from bertscope.core.result import Result
from bertscope.data.metrics import between
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.scratch.question import CONSTANT, UNTUNED, ScratchConfig
from bertscope.experiments.scratch.result import scratch_result
from bertscope.experiments.trainings import by_seed
from bertscope.training.told import as_told, moments_of


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
    given = {"tuned": tuned, "random": random, "frozen": frozen, "frozen_random": frozen_random, UNTUNED: untuned}
    runs = {arm: by_seed(results, config.seeds) for arm, results in given.items()}
    task = as_told(task, tuned[0])
    moments = {arm: {seed: moments_of(task, run) for seed, run in of_arm.items()} for arm, of_arm in runs.items()}
    moments[CONSTANT] = dict.fromkeys(config.seeds, task.blind_moments())
    return scratch_result(runs, Arms(moments, task.value, within=between(task.metric)), task, shapes, config)
