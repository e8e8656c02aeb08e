"""Models side by side: what each weighs, how fast it is, how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.core.intervals import interval, percentile_ends
from bertscope.core.resampling import Value, metric_draws
from bertscope.core.statistics import paired_effects
from bertscope.models.export import OnnxModel, weight_bytes
from bertscope.models.latency import Inputs, Variant, in_torch, time_in_turn

if TYPE_CHECKING:
    from bertscope.core.predictions import Predictions
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


WHOLE, WHOLE_INT8, CUT, CUT_INT8 = "whole", "whole_int8", "cut", "cut_int8"
"""The model as it was given, as it was cut, and the int8 forms of both."""
FORMS = (WHOLE_INT8, CUT, CUT_INT8)
"""What can take the whole model's place, from what is done least to it."""


@dataclass(frozen=True)
class Contender:
    """A model as it would be deployed."""

    name: str
    """Its key, which tables have as `arm`."""
    way: str
    """How it came about, as a key too: the series it belongs to in figures."""
    parameters: int
    megabytes: float
    """Of its weights, on disk."""
    run: Variant
    validation: Predictions
    test: Predictions
    called: str = ""
    """What people call it, where its key has no words of its own."""
    estimate: str = ""
    """What the search estimated, of one that is called by it until it is measured."""

    @classmethod
    def of(cls, name: str, way: str, encoder: Encoder, task: Task, *, timed: Encoder | None = None) -> Contender:
        """A model in torch; `timed` is the same one where its speed is measured."""
        validation, test = (encoder.predict(split, task.output) for split in (task.validation, task.test))
        run = in_torch(timed or encoder, task.output)
        return cls(name, way, size(encoder), weight_bytes(encoder) / 1e6, run, validation, test)

    @classmethod
    def of_onnx(cls, name: str, way: str, path: Path, encoder: Encoder, task: Task) -> Contender:
        """The encoder's ONNX file, run by onnxruntime."""
        run = OnnxModel(path, encoder)
        validation, test = (run.predict(split, task.output) for split in (task.validation, task.test))
        return cls(name, way, size(encoder), path.stat().st_size / 1e6, run, validation, test)


def size(encoder: Encoder) -> int:
    """How many parameters a model has, embeddings and classifier included."""
    return sum(parameter.numel() for parameter in encoder.model.parameters())


def measured(
    contenders: Sequence[Contender], task: Task, batches: Mapping[int, Sequence[Inputs]], *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What each model weighs and scores, a row each; and how fast each is, a row for each number of texts at a time.

    Changes and ratios are against the first.
    """
    first = contenders[0]
    moments = np.stack([task.moments(each.test) for each in contenders])
    found = paired_effects(task.value, moments[0], moments, permutations=0, seed=seed)
    kept, kept_low, kept_high = skill_kept(task.value, moments, task.blind_moments(), seed=seed)
    scores = [task.score(each.test) for each in contenders]
    models = pd.DataFrame(
        {
            "arm": [each.name for each in contenders],
            "way": [each.way for each in contenders],
            "parameters": [each.parameters for each in contenders],
            "megabytes": [each.megabytes for each in contenders],
            "validation": [
                float(task.value(task.moments(each.validation, task.validation).mean(0))) for each in contenders
            ],
            "score": [score.value for score in scores],
            "low": [score.low for score in scores],
            "high": [score.high for score in scores],
            "change": found.effect,
            "change_low": found.low,
            "change_high": found.high,
            "kept": kept,
            "kept_low": kept_low,
            "kept_high": kept_high,
        }
    )
    rows = []
    for texts, some in batches.items():
        times = time_in_turn({each.name: each.run for each in contenders}, some)
        for each in contenders:
            faster, low, high = times.faster(each.name, first.name)
            rows.append(
                {"arm": each.name, "texts": texts, "load": texts_at_a_time(texts),
                 "milliseconds": times.milliseconds(each.name), "faster": faster, "low": low, "high": high,
                 "rounds": times.seconds.shape[1]}
            )  # fmt: skip
    return models, pd.DataFrame(rows)


def skill_kept(
    value: Value, moments: np.ndarray, constant: np.ndarray, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The share of the first model's score above a constant answer's that each has, and the ends of its interval.
    `moments` is [model, n, k], `constant` [n, k].

    A ratio of two differences, all of which are resampled alike. Where the first model isn't clearly above the
    constant answer, what it is divided by may be 0: there is no interval, and none of a share that isn't above 0.
    """
    draws = metric_draws(value, np.concatenate([moments, constant[None]]), seed=seed)
    skill = draws[:, :-1] - draws[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = skill / np.where(skill[:, :1] > 0, skill[:, :1], np.nan)
    lowest, _ = percentile_ends(skill[1:, 0])
    low, high = interval(shares) if lowest > 0 else (np.full(len(moments), np.nan),) * 2
    return shares[0], low, high


def texts_at_a_time(texts: int) -> str:
    """What tables and figures call a number of texts that go through a model together."""
    return f"{texts} text{'s' * (texts > 1)} at a time"


def front(cost: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Which models no other one beats: none is as good for less, or better for as little."""
    at_least = (score[None] >= score[:, None]) & (cost[None] <= cost[:, None])
    strictly = (score[None] > score[:, None]) | (cost[None] < cost[:, None])
    beaten = (at_least & strictly).any(axis=1)
    return np.logical_not(beaten)
