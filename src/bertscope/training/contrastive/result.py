"""The answer of `contrastive`: the score before and after, and the curves of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bertscope.core.config import to_json
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.training.contrastive.question import contrastive
from bertscope.training.finetune.question import FinetuneConfig

if TYPE_CHECKING:
    from bertscope.training.history import History


def contrastive_result(
    history: History,
    settings: FinetuneConfig,
    metric: str,
    models: dict[str, ModelRecord],
    subject: dict[str, str],
    notes: list[str],
) -> Result:
    epochs = pd.DataFrame(history.epochs)
    kept = history.best if settings.keep == "best" else -1
    followed = (
        "the validation set's Spearman" if metric == "spearman" else "how often a held-out text finds its positive"
    )
    return contrastive.result(
        tables={"epochs": epochs, "steps": pd.DataFrame(history.steps)},
        headline=[
            Number(name, float(row["score"]), float(row["low"]), float(row["high"]), unit=metric)
            for name, row in (("before", epochs.iloc[0]), ("after", epochs.iloc[kept]))
        ],
        figures=[
            Figure(
                "lines", "epochs", x="epoch", y="score", low="low", high="high", key="learning_curve",
                title="Learning curve",
                caption=f"After each epoch, {followed}, with its 95% bootstrap interval; epoch 0 is before any "
                "training.",
                labels={"score": metric}, rules={"chance": history.chance},
            ),
            Figure(
                "lines", "steps", x="step", y="loss", key="loss", title="Training loss",
                caption="The mean contrastive loss over the steps since the last point, dropout on.",
            ),
        ],
        models=models,
        subject=subject,
        notes=notes,
        provenance={"settings": to_json(settings), "training_seconds": history.seconds},
    )  # fmt: skip
