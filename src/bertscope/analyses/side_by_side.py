"""Checkpoints that are read side by side: whether they can be, what tables call them, what a result is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bertscope.core.errors import UserError

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


def side_by_side(encoders: Sequence[Encoder]) -> dict[str, Encoder]:
    """The encoders by the names that the tables call them: their own, numbered where two have the same."""
    named = dict(zip(distinct_names(encoder.name for encoder in encoders), encoders, strict=True))
    first, layers = next((name, encoder.n_layers) for name, encoder in named.items())
    for name, encoder in named.items():
        if not any(encoder.head_counts):
            raise UserError(f"{name} has no heads left: it has no attention to look at")
        if encoder.n_layers != layers:
            raise UserError(
                f"{first} has {layers} layers and {name} {encoder.n_layers}: they can't be read side by side; "
                "ask about one at a time"
            )
    return named


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names, numbered where several are the same."""
    seen: list[str] = []
    for plain in names:
        name, number = plain, 2
        while name in seen:
            name, number = f"{plain} ({number})", number + 1
        seen.append(name)
    return seen


def subject(names: Sequence[str], data: Examples | Task, *, weighted: bool = False) -> dict[str, str]:
    """What a result says that it is about."""
    about = {"model": " and ".join(names)} | ({"task": data.name} if data.name else {})
    return about | ({"attention": "norm-weighted"} if weighted else {})
