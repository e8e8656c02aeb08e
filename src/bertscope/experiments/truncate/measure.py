"""`truncate`: what models that lost layers say of the test set, what they weigh and how fast they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.data.metrics import between
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.comparison import size, texts_at_a_time
from bertscope.experiments.trainings import found_again, settings_of
from bertscope.experiments.truncate.question import WHOLE, TaskHeadForm, TruncateConfig
from bertscope.experiments.truncate.result import Planned, Shape, Trained, truncate_result
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.latency import in_torch, sample_batches, time_in_turn
from bertscope.models.surgery import without_layers
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.task_kinds import with_task_head
from bertscope.training.told import as_told, moments_of

_BATCHES = {1: 8, 32: 2}  # texts at a time, and how many such batches are timed
_ROUNDS, _SECONDS = 8, 1.0  # of timing each shape; at least 6 rounds, however long they take


def measure(
    base: Encoder, task: Task, tuned: Sequence[Result], config: TruncateConfig, models: Sequence[Encoder] = ()
) -> Result:
    shapes = [Shape(left_out, base.n_layers) for left_out in config.sets(base.n_layers)]
    planned = [Planned(shape, form) for form in config.forms for shape in shapes]
    trained: Trained = {}
    task = as_told(task, tuned[0])
    if config.retrain:
        wanted = [(*one.key, seed) for one in planned for seed in config.seeds]
        trained = found_again(tuned, lambda one: _run(settings_of(one)), wanted)
        moments = {run: moments_of(task, result) for run, result in trained.items()}
    else:
        wanted = [(WHOLE, form.key, seed) for form in config.forms for seed in config.seeds]
        tops = found_again(models, lambda one: _run(settings_of(one.record)), wanted)
        moments = {
            (shape.key, top, seed): found
            for (_, top, seed), model in tops.items()
            for shape, found in zip(shapes, switched_off(model, task, shapes), strict=True)
        }
    runs = {one.key: {seed: moments[*one.key, seed] for seed in config.seeds} for one in planned}
    arms = Arms(runs, task.value, columns=("arm", "top"), within=between(task.metric))
    return truncate_result(base, task, trained, arms, planned, latencies(base, task, shapes), config)


def _run(settings: FinetuneConfig) -> tuple[str, str, int]:
    """Which arm, with what on top, and which seed a training is of."""
    form = TaskHeadForm(settings.classifier, settings.dropout, settings.pooler)
    return settings.without or WHOLE, form.key, settings.seed


def switched_off(model: Encoder, task: Task, shapes: Sequence[Shape]) -> np.ndarray:
    """[shape, example, k]: the moments of a fine-tuned model on the test set without each set of layers."""
    task = task.asked_of(model)
    sets = [[Unit("layer", number) for number in sorted(shape.left_out.numbers)] for shape in shapes]
    return judge_without(model, task.output, task.test, sets).moments


def latencies(base: Encoder, task: Task, shapes: Sequence[Shape]) -> pd.DataFrame:
    """How long each shape takes for a batch, side by side on this machine, and how many parameters it has.

    Time depends on the shape alone: the task heads are new ones.
    """
    models = {}
    for shape in shapes:
        models[shape.key] = with_task_head(without_layers(base, shape.left_out.numbers), task)
        models[shape.key].model.set_input_embeddings(base.model.get_input_embeddings())  # once in memory
    first = models[shapes[0].key]
    asked = task.asked_of(first)
    variants, rows = {key: in_torch(model, asked.output) for key, model in models.items()}, []
    for texts, count in _BATCHES.items():
        batches = sample_batches(first, asked.validation, texts, count=count, output=asked.output)
        times = time_in_turn(variants, batches, rounds=_ROUNDS, seconds=_SECONDS)
        for shape in shapes:
            faster, low, high = times.faster(shape.key, WHOLE)
            rows.append(
                {"arm": shape.key, "removed": shape.removed, "from_top": shape.from_top, "texts": texts,
                 "load": texts_at_a_time(texts), "milliseconds": times.milliseconds(shape.key), "faster": faster,
                 "low": low, "high": high, "rounds": times.seconds.shape[1], "parameters": size(models[shape.key])}
            )  # fmt: skip
    return pd.DataFrame(rows)
