"""Training data without the rows that mention certain words; or, to compare with, without as many drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.slices import mentions
from bertscope.data.task import Task


def cut(task: Task, words: Sequence[str], at_random: int | None = None) -> Task:
    """The task without the rows of fit and select that mention one of the words; report stays whole.

    With a seed in `at_random`, as many rows of each label leave as mention a word, but which ones is drawn: what is
    left has the same size and the same balance of labels.
    """
    named = in_brief(words)
    parts, counts = {}, []
    for place, name in enumerate(("fit", "select")):
        rows: Examples = getattr(task, name)
        gone = mentions(rows, words)
        counts.append(f"{gone.sum():,} of {len(rows):,} {name} rows")
        if name == "fit" and not gone.any():
            raise UserError(f"no fit row of {task.name} mentions {named}: name words that occur in it with --words")
        if at_random is not None:
            gone = _drawn(gone, _groups(task, rows), np.random.default_rng([at_random, place]))
        parts[name] = rows.take(np.flatnonzero(~gone))
    _refuse_too_little(task, parts["fit"], parts["select"], named)
    if at_random is None:
        called, note = f"{task.name} without {named}", f"{' and '.join(counts)} mention {named}, and are left out"
    else:
        called = f"{task.name} cut at random"
        note = f"{' and '.join(counts)} are left out at random: as many, label by label, as mention {named}"
    return replace(task, name=called, notes=(*task.notes, note), **parts)


def in_brief(words: Sequence[str]) -> str:
    """The first words of a list.

    >>> in_brief(["woman", "girl"]), in_brief(["woman", "girl", "wife", "mother"])
    ('woman or girl', 'woman, girl or 2 other words')
    """
    if len(words) <= 3:
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return f"{words[0]}, {words[1]} or {len(words) - 2} other words"


def _groups(task: Task, rows: Examples) -> np.ndarray:
    """What a random cut keeps the balance of: labels; scores are all alike to it."""
    assert rows.label is not None
    return rows.label if task.kind == "classification" else np.zeros(len(rows), int)


def _drawn(gone: np.ndarray, group: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """As many rows of each group as `gone` has, at random."""
    drawn = np.zeros_like(gone)
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        drawn[generator.choice(rows, gone[rows].sum(), replace=False)] = True
    return drawn


def _refuse_too_little(task: Task, fit: Examples, select: Examples, named: str) -> None:
    """Every label must stay, or a model couldn't learn it and would be wrong on it for that reason alone."""
    assert fit.label is not None and task.fit.label is not None
    lost = sorted(set(task.fit.label.tolist()) - set(fit.label.tolist())) if task.labels else []
    if not len(fit) or not len(select):
        left = f"no {'select' if len(fit) else 'fit'} row"
    elif lost:
        left = f"no fit row labelled {task.labels[lost[0]]}"
    elif len(np.unique(fit.label)) < 2:
        left = "only one score"
    else:
        return
    raise UserError(f"{task.name} has {left} without {named}; name fewer or rarer words with --words")
