"""`demo/...`: tasks and a corpus made on the spot, small and readable, for a first look and for the tests.

Whatever is made has gold annotation: words, parts of speech, trees, frames, named entities and gender. What the tasks
are is known here; the grammar that makes the sentences is loaded when they are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from random import Random
from typing import Literal

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.data.structured import trees_task
from bertscope.data.tagged import entities_of_marks, make_tokens, with_tag
from bertscope.data.task import Kind, Task


@dataclass(frozen=True)
class _Recipe:
    """How a task is made: by the module of its name in `data/language`."""

    sizes: tuple[int, int, int]
    """Rows of train, validation and test."""
    kind: Kind | Literal["unlabelled"]
    labels: tuple[str, ...] = ()
    metric: str = ""
    tags: str = ""
    """The marks that are to be learnt, of a task of tags: its sentences are those of the corpus."""
    version: int = 1
    """Raise it whenever the sentences change: stored results are identified by it."""


_RECIPES: Mapping[str, _Recipe] = {
    # As many as taught the first pocket the rules in half a minute, and few enough that it still erred.
    "demo/sentiment": _Recipe((1200, 200, 400), "classification", ("negative", "positive"), "accuracy"),
    "demo/entailment": _Recipe(
        (3000, 300, 600), "classification", ("entailment", "neutral", "contradiction"), "accuracy", version=2
    ),
    "demo/paraphrase": _Recipe((2400, 300, 600), "classification", ("different", "same"), "accuracy", version=2),
    "demo/similarity": _Recipe((1800, 300, 600), "regression", metric="pearson", version=2),
    "demo/acceptability": _Recipe((1200, 300, 600), "classification", ("unacceptable", "acceptable"), "matthews"),
    "demo/qa": _Recipe((2000, 300, 600), "spans", metric="token_f1", version=2),
    "demo/entities": _Recipe((2000, 300, 600), "tokens", tags="entity"),
    "demo/pos": _Recipe((2000, 300, 600), "tokens", tags="pos"),
    "demo/topics": _Recipe((1000, 200, 400), "several", ("food", "reading", "trade", "travel"), "micro_f1"),
    "demo/choice": _Recipe((900, 200, 400), "choices", metric="accuracy"),
    "demo/corpus": _Recipe((2000, 500, 1000), "unlabelled"),
}


@dataclass(frozen=True)
class _Paired:
    """How minimal pairs are made: by `data/language/minimal.py`."""

    sizes: tuple[int, int, int]
    notes: tuple[str, ...] = ()
    """What a reader of results must know."""
    version: int = 1


PAIRED: Mapping[str, _Paired] = {
    "demo/minimal": _Paired(
        (600, 150, 600),
        ("in sentiment and always_never, neither text is wrong: which counts as clean was drawn at random",),
    ),
    "demo/minimal-entailment": _Paired(
        (600, 150, 600), ("neither text is wrong: which counts as clean was drawn at random",)
    ),
}
"""Minimal pairs, which are no task."""
TEXT = "demo/language"
"""Plain text in the demo language, which is no task either: `data/language/text.py`."""
NAMES = tuple(_RECIPES)
"""All that `demo/...` can be."""
SPLITS = ("train", "validation", "test")


def make(name: str, seed: int, kind: Kind | None = None) -> Task:
    """The demo task of that name; the same seed always gives the same sentences. The corpus is a task only with
    `kind="trees"`."""
    recipe = _recipe(name)
    if kind == "trees" and recipe.kind != "unlabelled":
        raise UserError(f"{name} has a task of its own; leave out --kind, or take the trees of demo/corpus")
    if recipe.kind == "unlabelled" and kind != "trees":
        tasks = ", ".join(other for other in _RECIPES if can_train(other))
        raise UserError(
            f"{name} has no labels: to train a parser on its trees, say --kind trees; or choose one of {tasks}"
        )
    train, validation, test = (_generated(name, seed)[split] for split in SPLITS)
    if recipe.kind == "unlabelled":
        return trees_task(name, (train, validation, test))
    if recipe.kind == "tokens":
        return make_tokens(name, (train, validation, test))
    return Task(name, recipe.kind, recipe.labels, train, validation, test, recipe.metric)


def can_train(name: str, kind: Kind | None = None) -> bool:
    """Whether it is a task; the corpus is one only where its trees are asked for."""
    return _recipe(name).kind != "unlabelled" or kind == "trees"


def examples(name: str, split: str, seed: int = 0) -> Examples:
    """One split of a demo task, or of what isn't one: the questions and the corpus."""
    _recipe(name)
    if split not in SPLITS:
        raise UserError(f"{name} has no split {split!r}; {did_you_mean(split, SPLITS)}")
    return _generated(name, seed)[split]


def identity(name: str) -> str:
    """What a demo task holds, apart from its seed."""
    return f"{name}-{_recipe(name).version}"


def pairs(name: str, split: str, seed: int = 0) -> tuple[tuple[Examples, Examples], tuple[str, ...]]:
    """One split of minimal pairs, the clean and the corrupted texts, and what each pair is about."""
    if split not in SPLITS:
        raise UserError(f"{name} has no split {split!r}; {did_you_mean(split, SPLITS)}")
    return _paired(name, seed)[split]


def pairs_identity(name: str) -> str:
    """What they hold, apart from their seed."""
    return f"{name}-{PAIRED[name].version}"


@lru_cache(maxsize=4)
def _paired(name: str, seed: int) -> dict[str, tuple[tuple[Examples, Examples], tuple[str, ...]]]:
    from bertscope.data.language import minimal
    from bertscope.data.language.sentence import examples as annotated

    random, seen, splits = Random(f"{name} {seed}"), set[str](), {}
    for split, n in zip(SPLITS, PAIRED[name].sizes, strict=True):
        drawn = minimal.pairs(name, split, n, random, seen)
        sides = []
        for side, rows in enumerate(([pair.clean for pair in drawn], [pair.corrupted for pair in drawn])):
            label = np.array([row.label for row in rows], np.int64) if rows[0].second else None
            found = annotated(split, rows, label)
            assert found.words is not None
            changed = tuple(
                tuple("changed" if place == pair.at else "" for place in range(len(words)))
                for pair, words in zip(drawn, found.words, strict=True)
            )
            answers = tuple(pair.answers[side] for pair in drawn)
            sides.append(replace(found, marks={**found.marks, "changed": changed}, columns={"answer": answers}))
        splits[split] = ((sides[0], sides[1]), tuple(pair.phenomenon for pair in drawn))
    return splits


def _recipe(name: str) -> _Recipe:
    if name in PAIRED:
        raise UserError(f"{name} holds minimal pairs, which are no task; ask minimal-pairs or patch of it")
    if name == TEXT:
        raise UserError(f"{name} is plain text, which pretrain learns from; demo/corpus has sentences like it")
    if name not in _RECIPES:
        raise UserError(f"no demo task {name!r}; {did_you_mean(name, _RECIPES, cutoff=0.7)}")
    return _RECIPES[name]


@lru_cache(maxsize=2 * len(NAMES))  # steps ask for the same sentences again and again; some 10 MB each
def _generated(name: str, seed: int) -> dict[str, Examples]:
    """All splits, drawn one after the other so that they share no sentence."""
    from bertscope.data.language.sentence import examples as annotated

    recipe = _recipe(name)
    grammar = import_module(f"bertscope.data.language.{'corpus' if recipe.tags else name.removeprefix('demo/')}")
    random, seen = Random(f"{name} {seed}"), set[str]()
    splits = {}
    for split, n in zip(SPLITS, recipe.sizes, strict=True):
        rows = grammar.rows(split, n, random, seen)
        label = None
        if recipe.metric and recipe.kind != "spans":
            kind = np.float64 if recipe.kind == "regression" else np.int64
            label = np.array([row.label for row in rows], dtype=kind)
            if recipe.kind == "several":
                label = np.array([[place in row.labels for place in range(len(recipe.labels))] for row in rows], kind)
        splits[split] = _tagged(annotated(split, rows, label), recipe.tags)
    return splits


def _tagged(found: Examples, marks: str) -> Examples:
    """The sentences, with one kind of their marks as the tags to be learnt, if there are any."""
    if not marks:
        return found
    return with_tag(found, entities_of_marks(found) if marks == "entity" else found.marks[marks])
