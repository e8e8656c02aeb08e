"""Training data without the rows that mention certain words; or, to compare with, without as many drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.slices import mentions
from bertscope.data.task import Task


def without_words(task: Task, words: Sequence[str], at_random: int | None = None) -> Task:
    """The task without the rows of train and validation that mention one of the words; test stays whole.

    With a seed in `at_random`, as many rows of each label leave as mention a word, but which ones is drawn: what is
    left has the same size and the same balance of labels.
    """
    named = in_brief(words)
    found = [mentions(rows, words) for rows in (task.train, task.validation)]
    if not found[0].any():
        raise UserError(f"no training row of {task.name} mentions {named}; name words that occur in it with --words")
    gone = found
    if at_random is not None:
        generator = np.random.default_rng(at_random)
        gone = [_drawn(task, *part, generator) for part in zip((task.train, task.validation), found, strict=True)]
    train, validation = (
        rows.take(np.flatnonzero(~leave)) for rows, leave in zip((task.train, task.validation), gone, strict=True)
    )
    _refuse_too_little(task, train, validation, named)
    train_rows, validation_rows = (f"{one.sum():,} of {len(one):,}" for one in found)
    counts = f"{train_rows} training rows and {validation_rows} validation rows"
    if at_random is None:
        name, note = f"{task.name} without {named}", f"{counts} mention {named} and are left out"
    else:
        name = f"{task.name} cut at random"
        note = f"{counts} are left out at random: as many, label by label, as mention {named}"
    return replace(task, name=name, train=train, validation=validation, notes=(*task.notes, note))


def in_brief(words: Sequence[str]) -> str:
    """The first words of a list.

    >>> in_brief(["woman", "girl"]), in_brief(["woman", "girl", "wife", "mother"])
    ('woman or girl', 'woman, girl or 2 other words')
    """
    if len(words) <= 3:
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return f"{words[0]}, {words[1]} or {len(words) - 2} other words"


def _drawn(task: Task, rows: Examples, found: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """As many rows as were found, at random: as many of each label, where there are labels."""
    group = np.zeros(len(rows), int)
    if task.kind == "classification":
        assert rows.label is not None
        group = rows.label
    drawn = np.zeros_like(found)
    for one in np.unique(group):
        alike = np.flatnonzero(group == one)
        drawn[generator.choice(alike, found[alike].sum(), replace=False)] = True
    return drawn


def _refuse_too_little(task: Task, train: Examples, validation: Examples, named: str) -> None:
    """Every label must stay, or a model couldn't learn it and would be wrong on it for that reason alone."""
    lost, varies = list[int](), True
    if train.label is not None and task.train.label is not None:  # tags, trees and spans have none
        lost = sorted(set(task.train.label.tolist()) - set(train.label.tolist())) if task.labels else []
        varies = len(np.unique(train.label)) > 1
    if not len(train) or not len(validation):
        left = f"no {'validation' if len(train) else 'training'} row"
    elif lost:
        left = f"no training row labelled {task.labels[lost[0]]}"
    elif not varies:
        left = "only one score"
    else:
        return
    raise UserError(f"{task.name} has {left} without {named}; name fewer or rarer words with --words")
