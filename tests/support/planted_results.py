"""Made-up results in which an effect is known: functions of that effect and of how far its interval reaches, with the
tables that the real question stores."""

from __future__ import annotations

from collections.abc import Callable

from bertscope.core.number import Number
from bertscope.core.result import Result

BASE, TUNED, RANDOM, TASK = "pocket", "pocket tuned on toy", "pocket (random init)", "toy"
SURE = 1e-6
"""An interval that is all but a point."""
Planted = Callable[[float, float], list[Result]]


def result(question: str, tables: dict, headline: list[Number] = [], model: str = BASE, **subject: str) -> Result:  # noqa: B006
    return Result(question, 1, tables, headline=headline, subject={"model": model, "task": TASK} | subject)


def ends(value: float, reach: float, name: str = "value", low: str = "low", high: str = "high") -> dict:
    return {name: value, low: value - reach, high: value + reach}
