"""`truncate`: what models that lost layers say of the test set, what they weigh and how fast they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.comparison import size, texts_at_a_time
from bertscope.experiments.truncate.question import TruncateConfig
from bertscope.experiments.truncate.result import WHOLE, Shape, truncate_result
from bertscope.models.encoder import Encoder
from bertscope.models.latency import in_torch, sample_batches, time_in_turn
from bertscope.models.new_task_head import with_classifier
from bertscope.models.replay import predict_without
from bertscope.models.surgery import without_layers

_BATCHES = {1: 8, 32: 2}  # texts at a time, and how many such batches are timed
_ROUNDS, _SECONDS = 8, 1.0  # of timing each shape; at least 6 rounds, however long they take


def measure(
    base: Encoder, task: Task, tuned: Sequence[Result], config: TruncateConfig, models: Sequence[Encoder] = ()
) -> Result:
    shapes = [Shape(left_out, base.n_layers) for left_out in config.sets(base.n_layers)]
    forms = config.forms
    names = {
        (form, shape): f"{shape}, {form}" if len(forms) > 1 else str(shape) for form in forms for shape in shapes
    }
    if config.retrain:
        outputs = np.stack([result.arrays["outputs"] for result in tuned])  # form by shape by seed
        each = outputs.shape[1:]
    else:
        outputs = np.stack([switched_off(model, task, shapes) for model in models])  # form by seed, shape
        each = outputs.shape[2:]
        by_seed = outputs.reshape(len(forms), len(config.seeds), *outputs.shape[1:])
        outputs = by_seed.swapaxes(1, 2)
    moments = task.moments(outputs.reshape(len(names), len(config.seeds), *each))
    arms = Arms(dict(zip(names.values(), moments, strict=True)), task.value)
    return truncate_result(base, task, tuned, arms, names, latencies(base, task, shapes), config)


def switched_off(model: Encoder, task: Task, shapes: Sequence[Shape]) -> np.ndarray:
    """[shape, example, output]: what a fine-tuned model says of the test set without each set of layers."""
    sets = [[Unit("layer", number) for number in sorted(shape.left_out.numbers)] for shape in shapes]
    return task.outputs(predict_without(model, task.test, sets))


def latencies(base: Encoder, task: Task, shapes: Sequence[Shape]) -> pd.DataFrame:
    """How long each shape takes for a batch, side by side on this machine, and how many parameters it has.

    Time depends on the shape alone: the classifiers are new ones.
    """
    models = {}
    for shape in shapes:
        models[str(shape)] = with_classifier(without_layers(base, shape.left_out.numbers), task.labels)
        models[str(shape)].model.set_input_embeddings(base.model.get_input_embeddings())  # once in memory
    variants, rows = {name: in_torch(model) for name, model in models.items()}, []
    for texts, count in _BATCHES.items():
        batches = sample_batches(base, task.validation, texts, count=count)
        times = time_in_turn(variants, batches, rounds=_ROUNDS, seconds=_SECONDS)
        for shape, (name, model) in zip(shapes, models.items(), strict=True):
            faster, low, high = times.faster(name, WHOLE)
            rows.append(
                {"model": name, "removed": shape.removed, "from_top": shape.from_top, "texts": texts,
                 "load": texts_at_a_time(texts), "milliseconds": times.milliseconds(name), "faster": faster,
                 "low": low, "high": high, "rounds": times.seconds.shape[1], "parameters": size(model)}
            )  # fmt: skip
    return pd.DataFrame(rows)
