"""Made-up results in which an effect is known: functions of that effect and of how far its interval reaches, with the
tables that the real question stores."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

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


def ablate(kind: str, best: bool) -> Planted:
    """A part with the effect, and one whose effect is certainly less (or more)."""

    def results(value: float, reach: float) -> list[Result]:
        other = -0.9 if best else 0.9
        rows = [
            {"kind": kind, "certain": wide < abs(effect), **ends(effect, wide, "effect")}
            for effect, wide in ((value, reach), (other, SURE))
        ]
        scores = [Number("score", 0.9, 0.88, 0.92, 400), Number("chance", 0.5)]
        return [result("ablate", {"effects": pd.DataFrame(rows)}, scores, mode="uniform")]

    return results
