"""The answer of `mislabelled`: the labels that are doubted, and how many exchanged ones the same doubt finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.intervals import share_interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent
from bertscope.data.task import Task
from bertscope.experiments.mislabelled.question import DETECTORS, LEVEL, mislabelled
from bertscope.training.row_map import how_learnt, texts

_LISTED, _POINTS = 1000, 60
"""Rows of the list, and points of a curve, at most."""


@dataclass(frozen=True, eq=False)
class Found:
    """What is said of each training row's label."""

    label: np.ndarray
    """[row]: as the trainings had it."""
    shares: np.ndarray
    """[row, label]: the probabilities, by the training without the row."""
    suggested: np.ndarray
    """[row]: the label that it would rather have; -1 where its own isn't doubted."""
    confidence: np.ndarray
    variability: np.ndarray
    """[row]: mean and standard deviation of p(label) over the epochs of the training on all rows."""
    correctness: np.ndarray
    """[row]: in which share of these it was predicted as labelled."""

    @property
    def of_label(self) -> np.ndarray:
        """[row]: the probability of its label, by the training without it."""
        return self.shares[np.arange(len(self.label)), self.label]

    @property
    def never_learnt(self) -> np.ndarray:
        return self.correctness == 0


@dataclass(frozen=True, eq=False)
class Detected:
    """How well exchanged labels are found in one way."""

    doubted: int
    found: int
    flipped: int
    expected: float
    """As many as `found`, if rows of each label were drawn at random."""
    p: float
    auc: float
    average_precision: float
    recall: np.ndarray
    precision: np.ndarray
    """[rank]: of so many rows from the most doubted on."""

    @property
    def is_more_than_chance(self) -> bool:
        return self.p < LEVEL

    def row(self) -> dict[str, float | int | bool]:
        recall, precision = self.found / self.flipped, self.found / max(1, self.doubted)
        ends = [
            share_interval(np.array(share), n)
            for share, n in ((recall, self.flipped), (precision, max(1, self.doubted)))
        ]
        return {
            "doubted": self.doubted, "found": self.found, "exchanged": self.flipped, "expected": self.expected,
            "recall": recall, "recall_low": float(ends[0][0]), "recall_high": float(ends[0][1]),
            "precision": precision, "precision_low": float(ends[1][0]), "precision_high": float(ends[1][1]),
            "precision_by_chance": self.expected / max(1, self.doubted), "p": self.p,
            "certain": self.is_more_than_chance, "auc": self.auc, "average_precision": self.average_precision,
        }  # fmt: skip


def mislabelled_result(
    run: Result, task: Task, plain: Found, planted: Found, flipped: np.ndarray, detected: Mapping[str, Detected]
) -> Result:
    """`run` is the training on all rows, `plain` what is said of the labels as they are."""
    checked = pd.DataFrame([{"detector": name, **one.row()} for name, one in detected.items()])
    trusted = detected["held_out"].is_more_than_chance
    doubted = np.flatnonzero(plain.suggested >= 0) if trusted else np.zeros(0, np.int64)
    tables = {
        "check": checked,
        "curve": pd.concat([_curve(name, one) for name, one in detected.items()], ignore_index=True),
        "doubted": _doubted(task, plain, doubted),
    }
    return mislabelled.result(
        tables=tables,
        arrays={
            "p_label": plain.of_label, "p_label_flipped": planted.of_label, "flipped": flipped.astype(np.uint8),
        },
        headline=_headline(checked.set_index("detector").loc["held_out"], len(doubted), plain),
        figures=_figures(float(flipped.mean())),
        models=run.models,
        subject={"task": task.name},
        notes=[*task.notes, *_notes(detected["held_out"], plain, len(doubted), trusted)],
    )  # fmt: skip


def sentence(result: Result) -> Statement | None:
    found, doubted = result["recall"], int(result["doubted"].value)
    row = result.tables["check"].set_index("detector").loc["held_out"]
    if not row["certain"]:
        said = (
            f"Of {int(row['exchanged']):,} labels exchanged on purpose, {int(row['found']):,} are found, no more "
            "than by chance: no label is doubted."
        )
    else:
        said = (
            f"Of {int(row['exchanged']):,} labels exchanged on purpose, {percent(found.value)} are found, at a "
            f"precision of {percent(row['precision'])} ({percent(row['precision_by_chance'])} by chance); in the "
            f"same way, {doubted:,} of the data's own labels {'is' if doubted == 1 else 'are'} doubted."
        )
    return Statement(said, found.value, percent)


def _doubted(task: Task, found: Found, rows: np.ndarray) -> pd.DataFrame:
    """The rows whose label is doubted, the least likely first."""
    rows = rows[np.argsort(found.of_label[rows], kind="stable")][:_LISTED]
    ids, names = [task.train.ids[row] for row in rows], np.array(task.labels, dtype=object)
    other = found.suggested[rows]
    return pd.DataFrame(
        {
            "row": ids, "text": texts(task.train, rows), "gold": names[found.label[rows]], "suggested": names[other],
            "p_label": found.of_label[rows].round(4), "p_suggested": found.shares[rows, other].round(4),
            "confidence": found.confidence[rows].round(4), "variability": found.variability[rows].round(4),
            "learnt": how_learnt(found.correctness[rows]),
        }
    )  # fmt: skip


def _curve(name: str, one: Detected) -> pd.DataFrame:
    """Precision against recall, at some ranks from few rows to all."""
    ranks = np.unique(np.geomspace(1, len(one.recall), _POINTS).round().astype(int)) - 1
    return pd.DataFrame(
        {"detector": name, "rows": ranks + 1, "recall": one.recall[ranks], "precision": one.precision[ranks]}
    )


def _headline(row: pd.Series, doubted: int, plain: Found) -> list[Number]:
    n, drawn = int(row["exchanged"]), int(row["doubted"])
    return [
        Number("recall", row["recall"], row["recall_low"], row["recall_high"], n, "share"),
        Number("precision", row["precision"], row["precision_low"], row["precision_high"], drawn, "share"),
        Number("precision_by_chance", row["precision_by_chance"], n=drawn, unit="share"),
        Number("beyond_chance", float(row["found"] - row["expected"]), n=n, unit="rows"),
        Number("doubted", doubted, n=len(plain.label)),
        Number("never_learnt", int(plain.never_learnt.sum()), n=len(plain.label)),
    ]


def _notes(one: Detected, plain: Found, doubted: int, trusted: bool) -> list[str]:
    notes = [
        "precision is a lower bound: rows that were mislabelled before count as wrongly doubted",
    ]
    if not trusted:
        would = int((plain.suggested >= 0).sum())
        found = f"exchanged labels are found no more often than by chance (p = {one.p:.2g})"
        notes.insert(0, f"{found}: the {would:,} rows that the rule would name aren't listed")
    elif doubted > _LISTED:
        notes.append(f"doubted: the first {_LISTED:,} of {doubted:,} rows")
    return notes


def _figures(share: float) -> list[Figure]:
    return [
        Figure(
            "lines", "curve", x="recall", y="precision", color="detector", key="curve",
            title="How exchanged labels are found",
            caption="Some labels were exchanged on purpose. Going from the row whose label is doubted most to the "
            "one doubted least: the share of these that has been found so far, and the share of exchanged labels "
            "among the rows so far. The dashed rule is their share among all rows.",
            labels={"recall": "share of exchanged labels found", "precision": "share of rows that are exchanged",
                    "detector": "doubted by"},
            rules={"all rows": share},
        ),
        Figure(
            "intervals", "check", x="recall", y="detector", low="recall_low", high="recall_high", key="check",
            title="How many are found",
            caption=f"The share of exchanged labels found, where a label is doubted by {DETECTORS['held_out']} "
            "(another label has more than its usual probability), or in no epoch predicted as labelled while it is "
            "trained on; with Wilson's 95% interval.",
            labels={"recall": "share of exchanged labels found", "detector": "doubted by"},
        ),
    ]  # fmt: skip
