"""`mislabelled`: what trainings without a row say of its label, as it is and with some labels exchanged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.result import Result
from bertscope.data.relabelled import (
    by_chance,
    flipped_rows,
    folds_of,
    held_out_fold,
    one_label_each,
    with_flipped_labels,
)
from bertscope.data.task import Task
from bertscope.experiments.mislabelled.question import MislabelledConfig, check
from bertscope.experiments.mislabelled.result import Detected, Found, mislabelled_result
from bertscope.experiments.trainings import found_again

_ROUNDING = 1e-9
"""By what a mean of equal probabilities may be off."""


def measure(
    whole: Sequence[Result],
    whole_flipped: Sequence[Result],
    folds: Sequence[Result],
    folds_flipped: Sequence[Result],
    task: Task,
    config: MislabelledConfig,
) -> Result:
    check(task, config)
    noisy, flipped = with_flipped_labels(task, config.flip, config.seed), flipped_rows(task, config.flip, config.seed)
    plain = _judged(task, folds, whole[0], config.folds)
    planted = _judged(noisy, folds_flipped, whole_flipped[0], config.folds)
    detected = {
        "held_out": detected_by(planted.of_label, planted.suggested >= 0, flipped, planted.label),
        "while_trained": detected_by(planted.confidence, planted.never_learnt, flipped, planted.label),
    }
    return mislabelled_result(whole[0], task, plain, planted, flipped, detected)


def _judged(task: Task, folds: Sequence[Result], whole: Result, count: int) -> Found:
    """What is said of each training row's label: by the training that hasn't seen it, and by the one that has."""
    label, held = one_label_each(task), folds_of(task, count)
    known = {held_out_fold(task, fold, count).fingerprint: fold for fold in range(1, count + 1)}
    shares = np.zeros((len(label), len(task.labels)))
    for data, training in found_again(folds, lambda run: run.provenance["data"], list(known)).items():
        rows = np.flatnonzero(held == known[data] - 1)
        decided = task.output.decisions(training.arrays["outputs"], label[rows])
        assert decided is not None
        shares[rows] = decided.shares
    p, right = whole.arrays["row_probability"], whole.arrays["row_right"]
    return Found(
        label, shares, confident_others(shares, label), p.mean(0, dtype=np.float64), p.std(0, dtype=np.float64),
        right.mean(0),
    )  # fmt: skip


def confident_others(shares: np.ndarray, label: np.ndarray) -> np.ndarray:
    """[row]: the label that each row would rather have than its own, -1 where none (Northcutt et al. 2021).

    Of the labels whose probability is at least its mean over the rows so labelled, it is the likeliest; where that is
    the row's own, or there is none, its own isn't doubted.
    """
    usual = np.array([shares[label == one, one].mean() for one in range(shares.shape[1])])
    sure = np.where(shares >= usual - _ROUNDING, shares, -1.0)
    likeliest = sure.argmax(1)
    doubted = (sure.max(1) >= 0) & (likeliest != label)
    return np.where(doubted, likeliest, -1)


def detected_by(score: np.ndarray, doubted: np.ndarray, flipped: np.ndarray, label: np.ndarray) -> Detected:
    """How well exchanged labels are found by who doubts these rows, and orders all by a score, the lowest first."""
    order = np.argsort(score, kind="stable")
    hits = np.cumsum(flipped[order])
    precision, recall = hits / np.arange(1, len(hits) + 1), hits / hits[-1]
    found = int((doubted & flipped).sum())
    expected, p = by_chance(found, doubted, flipped, label)
    return Detected(
        int(doubted.sum()), found, int(flipped.sum()), expected, p, auc(score, flipped),
        float(precision[flipped[order]].mean()), recall, precision,
    )  # fmt: skip


def auc(score: np.ndarray, flipped: np.ndarray) -> float:
    """How often an exchanged label has a lower score than another one; ties count one half."""
    from scipy.stats import rankdata

    n = int(flipped.sum())
    above = rankdata(-score)[flipped].sum() - n * (n + 1) / 2
    return float(above / (n * (len(score) - n)))
