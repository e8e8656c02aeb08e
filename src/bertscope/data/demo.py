"""`demo/sentiment`: a task made on the spot, small and readable, for a first look and for the tests."""

from __future__ import annotations

from random import Random

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.data.metrics import PRIMARY
from bertscope.data.sentiment import sentences
from bertscope.data.task import Task

VERSION = 1
"""Raise it whenever the sentences change: stored results are identified by it."""

SIZES = {"fit": 1200, "select": 200, "report": 400}
"""As many as teach the pocket model the rules in half a minute, and few enough that it still errs."""
_NAMES = ("demo/sentiment",)


def make(name: str, seed: int) -> Task:
    """The demo task of that name; the same seed always gives the same sentences."""
    identity(name)
    random, seen = Random(f"{name} {seed}"), set[str]()
    fit, select, report = (
        _examples(split, list(sentences(rows, random, seen, new_words=split == "report")))
        for split, rows in SIZES.items()
    )
    return Task(name, "classification", ("negative", "positive"), fit, select, report, PRIMARY["classification"])


def identity(name: str) -> str:
    """What a demo task holds, apart from its seed."""
    if name not in _NAMES:
        raise UserError(f"no demo task {name!r}; {did_you_mean(name, _NAMES)}")
    return f"{name}-{VERSION}"


def _examples(split: str, rows: list[tuple[str, int]]) -> Examples:
    text, label = zip(*rows, strict=True)
    ids = tuple(f"{split}:{row}" for row in range(1, len(rows) + 1))
    return Examples(ids, text, label=np.array(label, dtype=np.int64))
