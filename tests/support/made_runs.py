"""Results of trainings that never ran, and of what their models answer: each says which training it is of."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertscope.core.config import to_json
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.result import Result
from bertscope.training.finetune.question import FinetuneConfig

BASE = ModelRecord("base", "pocket")


def made_tuning(
    outputs: np.ndarray, *, data: str = "rows", taken: dict[str, float] | None = None, **settings: Any
) -> Result:
    """A fine-tuning on some data, of which `taken` says what it took."""
    config = FinetuneConfig(**settings)
    return Result(
        "finetune", 2, arrays={"outputs": outputs}, models={BASE.id: BASE}, subject={"seed": str(config.seed)},
        provenance={"settings": to_json(config), "data": data} | (taken or {}),
    )  # fmt: skip


def made_model(name: str, *, data: str = "rows", by: str = "finetune", **recipe: Any) -> ModelRecord:
    """What is recorded of a model that was trained from the base."""
    return ModelRecord(name, name, Origin(by, BASE, DataRecord(data, data), recipe.get("seed", 0), recipe=recipe))
