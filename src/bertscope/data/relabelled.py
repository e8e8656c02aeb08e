"""Training data to doubt labels with: some labels exchanged on purpose, and a part of the rows held out of training.

Both are drawn by hashes of the rows, so that every fold of a task has the same labels exchanged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed, hashed_texts
from bertscope.data.subsets import labels_of_rows
from bertscope.data.task import Task

_OTHER_LABEL, _FOLD = 1, 2
"""What is added to a seed for what is drawn beside it."""


def one_label_each(task: Task) -> np.ndarray:
    """The labels of the training rows; refused is a task whose rows haven't one each."""
    labels = labels_of_rows(task, task.train)
    if labels is None or task.kind != "classification":
        raise UserError(f"{task.name} has no single label for each row; only such labels can be exchanged or doubted")
    return labels


def flipped_rows(task: Task, share: float, seed: int) -> np.ndarray:
    """[train row]: whether its label is exchanged; of so large a share of the rows, and one at least."""
    n = len(task.train)
    flipped = np.zeros(n, dtype=bool)
    flipped[np.argsort(hashed(task.train.ids, seed), kind="stable")[: max(1, round(share * n))]] = True
    return flipped


def with_flipped_labels(task: Task, share: float, seed: int) -> Task:
    """The task with so large a share of its training rows labelled as another label, each other one equally likely;
    validation and test stay as they are."""
    labels, flipped, others = one_label_each(task), flipped_rows(task, share, seed), len(task.labels) - 1
    if not others:
        raise UserError(f"{task.name} has one label: there is no other to exchange it with")
    step = 1 + hashed(task.train.ids, seed + _OTHER_LABEL) % np.uint64(others)
    wrong = np.where(flipped, (labels + step.astype(np.int64)) % len(task.labels), labels)
    note = f"{flipped.sum():,} of {len(labels):,} training rows are labelled wrong on purpose"
    name = f"{task.name} with {100 * share:g}% of labels flipped"
    return replace(task, name=name, train=replace(task.train, label=wrong), notes=(*task.notes, note))


def folds_of(task: Task, folds: int) -> np.ndarray:
    """[train row]: in which of so many folds it is, from 0; rows of the same text are in one."""
    return (hashed_texts(task.train.text, _FOLD) % np.uint64(folds)).astype(np.int64)


def held_out_fold(task: Task, fold: int, folds: int) -> Task:
    """The task that is trained on all folds but one (from 1), which is its test set."""
    held = folds_of(task, folds) == fold - 1
    train, test = (task.train.take(np.flatnonzero(rows)) for rows in (~held, held))
    gold = one_label_each(task)
    missing = sorted(set(gold.tolist()) - set(gold[~held].tolist()))
    if missing or not len(test):
        what = f"no row labelled {task.labels[missing[0]]} to train on" if missing else "no row"
        raise UserError(f"{task.name} has {what} in fold {fold} of {folds}; ask for fewer folds, or give more rows")
    note = f"fold {fold} of {folds}: {len(test):,} training rows are held out, and are the test set here"
    name = f"{task.name}, fold {fold} of {folds}"
    return replace(task, name=name, train=train, test=test, notes=(*task.notes, note))


def by_chance(found: int, doubted: np.ndarray, flipped: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """How many exchanged labels would be found if as many rows of each label were drawn at random as are doubted, and
    how likely as many as here are then: exact, a sum of hypergeometric numbers.

    Within labels, since a rare label is doubted more, and exchanged labels are more often rare than others: whoever
    knew the labels' shares alone would find some.
    """
    from scipy.stats import hypergeom

    expected, chances = 0.0, np.ones(1)
    for one in np.unique(label):
        rows = label == one
        total, wrong, drawn = int(rows.sum()), int((rows & flipped).sum()), int((rows & doubted).sum())
        expected += drawn * wrong / total
        chances = np.convolve(chances, hypergeom.pmf(np.arange(min(wrong, drawn) + 1), total, wrong, drawn))
    return expected, float(min(1.0, chances[found:].sum()))
