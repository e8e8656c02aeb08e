"""`bias`: three arms on three parts of the test set, and whether their answers change with the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertscope.core.result import Result
from bertscope.data.slices import mentions
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.bias.question import ARMS, BiasConfig
from bertscope.experiments.bias.result import Part, bias_result


def measure(
    tuned: Sequence[Result],
    biased: Sequence[Result],
    controls: Sequence[Result],
    task: Task,
    config: BiasConfig,
    swapped: Sequence[Result] = (),
) -> Result:
    trained = dict(zip(ARMS.values(), (tuned, controls, biased), strict=True))
    found = mentions(task.test, config.words)
    moments = {arm: [task.moments(run.arrays["outputs"]) for run in runs] for arm, runs in trained.items()}
    parts = {
        on: Part(rows, Arms({arm: [run[rows] for run in runs] for arm, runs in moments.items()}, task.value))
        for on, rows in (("slice", found), ("rest", ~found), ("all", np.ones_like(found)))
    }
    flips = _flips(trained, swapped, task) if swapped and len(swapped[0].arrays["rows"]) else None
    return bias_result(tuned[0], task, parts, flips, config)


def _flips(trained: Mapping[str, Sequence[Result]], swapped: Sequence[Result], task: Task) -> Arms:
    """Whether each answer changes with the words, of the texts that the swap changes; of scores, by how much."""
    rows = swapped[0].arrays["rows"]
    seeds = len(trained["full"])
    by_arm = [swapped[start : start + seeds] for start in range(0, len(swapped), seeds)]  # in the order of the plan

    def moved(run: Result, other: Result) -> np.ndarray:
        before = task.outputs_to_predictions(run.arrays["outputs"][rows])
        now = task.outputs_to_predictions(other.arrays["outputs"])
        return (before != now if task.labels else np.abs(now - before))[:, None].astype(float)

    runs = {
        arm: [moved(*pair) for pair in zip(results, others, strict=True)]
        for (arm, results), others in zip(trained.items(), by_arm, strict=True)
    }
    return Arms(runs, lambda means: means[..., 0])
