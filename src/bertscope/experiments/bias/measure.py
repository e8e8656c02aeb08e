"""`bias`: three arms on three parts of the test set, and whether their answers change with the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertscope.core.result import Result
from bertscope.data.metrics import between
from bertscope.data.slices import mentions
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.bias.question import BiasConfig
from bertscope.experiments.bias.result import Part, bias_result
from bertscope.experiments.trainings import by_seed, found_again, only_model
from bertscope.training.told import as_told, moments_of


def measure(
    tuned: Sequence[Result],
    biased: Sequence[Result],
    controls: Sequence[Result],
    task: Task,
    config: BiasConfig,
    swapped: Sequence[Result] = (),
) -> Result:
    given = {"tuned": tuned, "controls": controls, "biased": biased}
    trained = {arm: by_seed(results, config.seeds) for arm, results in given.items()}
    found, task = mentions(task.test, config.words), as_told(task, tuned[0])
    moments = {arm: {seed: moments_of(task, run) for seed, run in runs.items()} for arm, runs in trained.items()}
    parts = {
        on: Part(rows, _on(rows, moments, task))
        for on, rows in (("slice", found), ("rest", ~found), ("all", np.ones_like(found)))
    }
    flips = _flips(trained, swapped, task) if swapped and len(swapped[0].arrays["rows"]) else None
    return bias_result(trained["tuned"][config.seeds[0]], task, parts, flips, config)


def _on(rows: np.ndarray, moments: Mapping[str, Mapping[int, np.ndarray]], task: Task) -> Arms[str]:
    """The arms on some of the test set's rows."""
    on = {arm: {seed: run[rows] for seed, run in runs.items()} for arm, runs in moments.items()}
    return Arms(on, task.value, within=between(task.metric))


def _flips(trained: Mapping[str, Mapping[int, Result]], swapped: Sequence[Result], task: Task) -> Arms[str]:
    """Whether each answer changes with the words, of the texts that the swap changes; of what changes by degrees, by
    how much."""
    wanted = [_learned(run) for runs in trained.values() for run in runs.values()]
    answers = found_again(swapped, _learned_by_model, wanted)

    def moved(run: Result) -> np.ndarray:
        other = answers[_learned(run)]
        before = task.outputs_to_predictions(run.arrays["outputs"][other.arrays["rows"]])
        now = task.outputs_to_predictions(other.arrays["outputs"])
        moved = task.output.flips(before, now) if task.can_flip else np.abs(now - before)
        return moved[:, None].astype(float)

    runs = {arm: {seed: moved(run) for seed, run in of_arm.items()} for arm, of_arm in trained.items()}
    return Arms(runs, lambda means: means[..., 0], within=(0.0, 1.0 if task.can_flip else np.inf))


def _learned(training: Result) -> tuple[str, int]:
    """What a training of this experiment is known by: the data that it read, and its seed."""
    return training.provenance["data"], int(training.subject["seed"])


def _learned_by_model(answers: Result) -> tuple[str, int]:
    """The same of the model that gave some answers."""
    origin = only_model(answers).origin
    assert origin and origin.data and origin.seed is not None
    return origin.data.id, origin.seed
