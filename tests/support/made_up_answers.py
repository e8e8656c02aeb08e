"""Answers of made-up checkpoints, with numbers that are as sure as a test wants them."""

from __future__ import annotations

import numpy as np

from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.registry import find
from bertscope.core.result import Result


def number(key: str, value: float, sure: bool = True, n: int = 50, **of: str) -> Number:
    noise = 0.001 * np.random.default_rng(0).standard_normal(100)
    draws = np.append(value, value + noise * (1 + value)) if sure else None
    return Number(key, value, value - 0.01, value + 0.01, n, "share", of=of, draws=draws)


def answer(place: int, *numbers: Number, question: str = "errors", **more) -> Result:
    record = ModelRecord(f"model{place}", f"model {place}", source=f"/run/checkpoint-{10 * place}")
    about = {"models": {record.id: record}, "subject": {"task": "reviews"}} | more
    return find(question).result(headline=list(numbers), **about)
