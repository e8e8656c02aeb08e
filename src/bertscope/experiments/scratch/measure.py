"""`scratch`: every arm over its seeds, scored on the same examples."""

from __future__ import annotations

from collections.abc import Sequence

from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.scratch.question import CONSTANT, UNTUNED, ScratchConfig
from bertscope.experiments.scratch.result import scratch_result
from bertscope.experiments.trainings import by_seed
from bertscope.models.encoder import Encoder


def measure(
    tuned: Sequence[Result],
    random: Sequence[Result],
    frozen: Sequence[Result],
    frozen_random: Sequence[Result],
    untuned: Sequence[Result],
    task: Task,
    config: ScratchConfig,
    shapes: Sequence[Result] = (),
    base: Encoder | None = None,
) -> Result:
    task = task if base is None else task.asked_of(base)
    given = {"tuned": tuned, "random": random, "frozen": frozen, "frozen_random": frozen_random, UNTUNED: untuned}
    runs = {arm: by_seed(results, config.seeds) for arm, results in given.items()}
    moments = {
        arm: {seed: task.moments(run.arrays["outputs"]) for seed, run in of_arm.items()}
        for arm, of_arm in runs.items()
    }
    blind = task.moments(task.blind_outputs(task.test))
    moments[CONSTANT] = dict.fromkeys(config.seeds, blind)
    return scratch_result(runs, Arms(moments, task.value), task, shapes, config)
