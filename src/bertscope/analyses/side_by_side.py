"""Checkpoints that are read side by side: whether they can be, what tables call them, what a result is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from bertscope.core.errors import UserError
from bertscope.core.model_record import by_key

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.core.result import Result
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


def side_by_side(encoders: Sequence[Encoder]) -> dict[str, Encoder]:
    """The encoders by what tables call them: their ids."""
    if not encoders:
        raise UserError("no model is given; name one, or give one")
    first = encoders[0]
    for encoder in encoders:
        if not any(encoder.head_counts):
            raise UserError(f"{encoder.name} has no heads left: it has no attention to look at")
        if encoder.n_layers != first.n_layers:
            raise UserError(
                f"{first.name} has {first.n_layers} layers and {encoder.name} {encoder.n_layers}: they can't be read "
                "side by side; ask about one at a time"
            )
    return by_key(encoders)


def subject(data: Examples | Task, *, weighted: bool = False) -> dict[str, str]:
    """What a result says that it is about, beside its models."""
    return ({"task": data.name} if data.name else {}) | ({"attention": "norm-weighted"} if weighted else {})


def is_weighted(result: Result) -> bool:
    """Whether its attention is weighted by what it carries."""
    return "attention" in result.subject


def figure_key(base: str, model: str, models: Collection[str]) -> str:
    """What a figure of one model is asked for by: where there are several, with the model's id."""
    return f"{base}_{model.replace('-', '_')}" if len(models) > 1 else base
