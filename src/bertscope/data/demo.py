"""`demo/...`: tasks and a corpus made on the spot, small and readable, for a first look and for the tests.

Whatever is made has gold annotation: words, parts of speech, trees, frames, named entities and gender.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.data.language import acceptability, corpus, entailment, paraphrase, qa, sentiment, similarity
from bertscope.data.language.sentence import Row
from bertscope.data.language.sentence import examples as annotated
from bertscope.data.span_task import SpanTask
from bertscope.data.structured import trees_task
from bertscope.data.task import Kind, Task

_Rows = Callable[[str, int, Random, set[str]], list[Row]]


@dataclass(frozen=True)
class _Recipe:
    """How a task is made."""

    rows: _Rows
    sizes: Mapping[str, int]
    kind: Kind | Literal["unlabelled"]
    labels: tuple[str, ...] = ()
    metric: str = ""
    version: int = 1
    """Raise it whenever the sentences change: stored results are identified by it."""


_RECIPES = {
    "demo/sentiment": _Recipe(sentiment.rows, sentiment.SIZES, "classification", sentiment.LABELS, "accuracy"),
    "demo/entailment": _Recipe(
        entailment.rows, entailment.SIZES, "classification", entailment.LABELS, "accuracy", version=2
    ),
    "demo/paraphrase": _Recipe(
        paraphrase.rows, paraphrase.SIZES, "classification", paraphrase.LABELS, "accuracy", version=2
    ),
    "demo/similarity": _Recipe(similarity.rows, similarity.SIZES, "regression", metric="pearson", version=2),
    "demo/acceptability": _Recipe(
        acceptability.rows, acceptability.SIZES, "classification", acceptability.LABELS, "matthews"
    ),
    "demo/qa": _Recipe(qa.rows, qa.SIZES, "spans", metric="token_f1", version=2),
    "demo/corpus": _Recipe(corpus.rows, corpus.SIZES, "unlabelled"),
}
NAMES = tuple(_RECIPES)
"""All that `demo/...` can be."""


def make(name: str, seed: int, kind: Kind | None = None) -> Task:
    """The demo task of that name; the same seed always gives the same sentences. The corpus is a task only with
    `kind="trees"`."""
    recipe = _recipe(name)
    if kind == "trees" and recipe.kind != "unlabelled":
        raise UserError(f"{name} has a task of its own; leave out --kind, or take the trees of demo/corpus")
    if recipe.kind == "unlabelled" and kind != "trees":
        tasks = ", ".join(other for other, each in _RECIPES.items() if each.metric)
        raise UserError(
            f"{name} has no labels: to train a parser on its trees, say --kind trees; or choose one of {tasks}"
        )
    splits = _splits(name, seed)
    parts = splits["train"], splits["validation"], splits["test"]
    if recipe.kind == "unlabelled":
        return trees_task(name, parts)
    if recipe.kind == "spans":
        return SpanTask(name, "spans", (), *parts, recipe.metric)
    return Task(name, recipe.kind, recipe.labels, *parts, recipe.metric)


def kind_and_labels(name: str) -> tuple[Kind, tuple[str, ...]]:
    """What kind of task it is when it is trained on, and its classes."""
    recipe = _recipe(name)
    return ("trees", ()) if recipe.kind == "unlabelled" else (recipe.kind, recipe.labels)


def can_train(name: str, kind: Kind | None = None) -> bool:
    """Whether it is a task; the corpus is one only where its trees are asked for."""
    return bool(_recipe(name).metric) or kind == "trees"


def is_labelled(name: str) -> bool:
    """Whether it has classes or scores, rather than spans or trees."""
    return _recipe(name).kind in ("classification", "regression")


def examples(name: str, split: str, seed: int = 0) -> Examples:
    """One split of a demo task, or of what isn't one: the questions and the corpus."""
    if split not in (known := _recipe(name).sizes):
        raise UserError(f"{name} has no split {split!r}; {did_you_mean(split, known)}")
    return _splits(name, seed)[split]


def identity(name: str) -> str:
    """What a demo task holds, apart from its seed."""
    return f"{name}-{_recipe(name).version}"


def _recipe(name: str) -> _Recipe:
    if name not in _RECIPES:
        raise UserError(f"no demo task {name!r}; {did_you_mean(name, _RECIPES, cutoff=0.7)}")
    return _RECIPES[name]


@lru_cache(maxsize=2 * len(NAMES))  # steps ask for the same sentences again and again; some 10 MB each
def _splits(name: str, seed: int) -> dict[str, Examples]:
    """All splits, drawn one after the other so that they share no sentence."""
    recipe = _recipe(name)
    random, seen = Random(f"{name} {seed}"), set[str]()
    made = {}
    for split, n in recipe.sizes.items():
        rows = recipe.rows(split, n, random, seen)
        label = None
        if recipe.metric and recipe.kind != "spans":
            kind = np.int64 if recipe.kind == "classification" else np.float64
            label = np.array([row.label for row in rows], dtype=kind)
        made[split] = annotated(split, rows, label)
    return made
