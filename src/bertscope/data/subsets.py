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


def labels_of_rows(task: Task, rows: Examples) -> np.ndarray | None:
    """The one label that each row has; None where a row has a score, several labels, a span, a tree."""
    if not task.labels:
        return None
    gold = task.output.gold(rows)
    return gold if gold.ndim == 1 and gold.dtype.kind in "iu" else None


def _drawn(task: Task, rows: Examples, found: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """As many rows as were found, at random: as many of each label, where each row has one."""
    labels = labels_of_rows(task, rows)
    group = np.zeros(len(rows), int) if labels is None else labels
    drawn = np.zeros_like(found)
    for one in np.unique(group):
        alike = np.flatnonzero(group == one)
        drawn[generator.choice(alike, found[alike].sum(), replace=False)] = True
    return drawn


def _present(label: np.ndarray) -> set[int]:
    """Which labels some row has."""
    return set((np.flatnonzero(label.any(0)) if label.ndim > 1 else label).tolist())


def _refuse_too_little(task: Task, train: Examples, validation: Examples, named: str) -> None:
    """Every label must stay, or a model couldn't learn it and would be wrong on it for that reason alone."""
    left = ""
    if not len(train) or not len(validation):
        left = f"no {'validation' if len(train) else 'training'} row"
    elif task.labels and train.label is not None and task.train.label is not None:
        lost = sorted(_present(task.train.label) - _present(train.label))
        left = f"no training row labelled {task.labels[lost[0]]}" if lost else ""
    elif train.label is not None and train.label.dtype.kind == "f" and len(np.unique(train.label)) < 2:
        left = "only one score"
    if not left:
        return
    raise UserError(f"{task.name} has {left} without {named}; name fewer or rarer words with --words")
