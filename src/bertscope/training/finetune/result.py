"""The answer of `finetune`: the scores before and after, beside baselines, and the curves of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.core.config import to_json
from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord
from bertscope.core.result import Result
from bertscope.data.answers_in_words import gold_in_words, predicted_in_words
from bertscope.data.baselines import baselines
from bertscope.training.finetune.question import LONGEST, ROWS, FinetuneConfig, finetune

if TYPE_CHECKING:
    from bertscope.core.predictions import Predictions
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.training.history import History


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
            **({"checkpoints": pd.DataFrame(history.checkpoints)} if history.kept else {}),
        },
        headline=[arms[key].keyed(key) for key in _HEADLINE if key in arms],
        figures=_figures(task, history.chance),
        models={base.id: base},
        subject={"task": task.name, "seed": str(settings.seed)} | _changed(settings),
        notes=[*task.notes],
        provenance={
            "settings": to_json(settings), "data": learned.id, "training_seconds": history.seconds,
            "activation_bytes": history.activations, "peak_bytes": history.peak, "precision": history.precision,
        },
    )  # fmt: skip


def rows_table(before: tuple[Task, Predictions], after: tuple[Task, Predictions]) -> pd.DataFrame:
    """What is predicted of each row of the test set before and after, by the task as the model then answers it."""
    task, _ = after
    rows = task.test.take(range(min(ROWS, len(task.test))))
    columns: dict[str, Any] = {"row": list(rows.ids), "gold": _short(gold_in_words(task.output, rows))}
    shares: dict[str, np.ndarray] = {}
    names = {"predicted_before": ("p_before", "p_gold_before"), "predicted": ("p_after", "p_gold")}
    for (column, told), (asked, said) in zip(names.items(), (before, after), strict=True):
        outputs = asked.outputs(said)
        predicted, gold = asked.outputs_to_predictions(outputs), asked.gold(None, outputs)
        few = asked.test.take(range(len(rows)))
        columns[column] = _short(predicted_in_words(asked.output, few, predicted[: len(rows)]))
        if decided := asked.output.decisions(outputs, gold):
            for name, values in zip(told, (decided.confidence, decided.of_gold), strict=True):
                # Four digits are more than anybody reads, and a third of the bytes.
                shares[name] = decided.lowest(values, len(rows)).round(4).astype(np.float32)
    return pd.DataFrame(columns | shares)


def _short(words: list[str]) -> list[str]:
    return [text[:LONGEST] for text in words]


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
            "examples; epoch 0 is before any training. The dashed rule is what an answer without looking at the "
            "text scores.",
            labels=words, rules={task.output.blind_answer: chance},
        ),
        Figure(
            "lines", "steps", x="step", y="loss", key="loss", title="Training loss",
            caption="The mean loss over the steps since the last point, dropout on.", labels=words,
        ),
    ]  # fmt: skip
