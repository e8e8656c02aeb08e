"""The answer of `finetune`: the scores before and after, beside baselines, and the curves of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bertscope.core.config import to_json
from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord
from bertscope.core.result import Result
from bertscope.data.baselines import baselines
from bertscope.training.finetune.question import FinetuneConfig, finetune

if TYPE_CHECKING:
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.training.loop import History


_HEADLINE = (
    "after",
    "before",
    "bag_of_words",
    "closest_sentence",
    "right_chain",
    "left_chain",
    "word_lookup",
    "chance",
)
"""In this order; which baselines there are, the kind of task says."""


def finetune_result(
    base: ModelRecord,
    task: Task,
    learned: DataRecord,
    settings: FinetuneConfig,
    before: Scores,
    after: Scores,
    history: History,
) -> Result:
    """`learned` is what the model was trained on: by it others know the same data again."""
    without_model = {name: task.score(outputs) for name, outputs in baselines(task).items()}
    arms = without_model | {"before": before, "after": after}
    beside = [
        {"arm": name, "metric": metric, "score": value}
        for name, score in arms.items()
        for metric, value in score.secondary.items()
    ]
    return finetune.result(
        tables={
            "scores": pd.DataFrame([{"arm": name, **score.row} for name, score in arms.items()]),
            "epochs": pd.DataFrame(history.epochs),
            "steps": pd.DataFrame(history.steps),
            "beside": pd.DataFrame(beside, columns=["arm", "metric", "score"]),
        },
        headline=[arms[key].keyed(key) for key in _HEADLINE if key in arms],
        figures=_figures(task, history.chance),
        models={base.id: base},
        subject={"task": task.name, "seed": str(settings.seed)} | _changed(settings),
        notes=[*task.notes],
        provenance={
            "settings": to_json(settings), "data": learned.id, "training_seconds": history.seconds,
            "activation_bytes": history.activations, "peak_bytes": history.peak,
        },
    )  # fmt: skip


def _changed(settings: FinetuneConfig) -> dict[str, str]:
    """What tells this training from a plain one, in a result's subject."""
    plain = FinetuneConfig()
    names = ("init", "without", "classifier", "pooler", "dropout", "frozen", "frozen_dropout")
    return {name: str(value) for name in names if (value := getattr(settings, name)) != getattr(plain, name)}


def _figures(task: Task, chance: float) -> list[Figure]:
    words = {"score": task.metric, "step": "step", "loss": "loss on the training set", "epoch": "epoch"}
    return [
        Figure(
            "lines", "epochs", x="epoch", y="score", low="low", high="high", key="learning_curve",
            title="Learning curve",
            caption=f"The validation set's {task.metric} after each epoch, with its 95% bootstrap interval over "
            "examples; epoch 0 is before any training. The dashed rule is an answer without looking at the text.",
            labels=words, rules={task.output.blind_answer: chance},
        ),
        Figure(
            "lines", "steps", x="step", y="loss", key="loss", title="Training loss",
            caption="The mean loss over the steps since the last point, dropout on.", labels=words,
        ),
    ]  # fmt: skip
