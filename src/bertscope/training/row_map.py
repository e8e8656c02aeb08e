"""What `finetune` tells of its training rows: how sure the model was of each one's label, epoch by epoch.

    row_probability, row_right   arrays [epoch, row], all of the training set's rows in their order
    training_rows                a row's mean and spread of p(label) over epochs, and how often it was the likeliest
    never_learnt                 the rows whose label was the likeliest in no epoch

A map of rows needs 5 epochs or more: of fewer, only the arrays are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.hashing import hashed
from bertscope.core.result import Result
from bertscope.data.answers_in_words import gold_in_words
from bertscope.data.task import Task
from bertscope.training.finetune.question import LONGEST

ENOUGH_EPOCHS = 5
"""For a mean and a spread over epochs."""
DRAWN, LISTED = 2000, 100
"""How many rows the map has at most, drawn by a hash of their ids, and how many that were never learnt are listed."""
_SEED = 0


def tell_course(result: Result, task: Task, p: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> None:
    """Put into a training's result what became of each training row's label in each epoch [row]."""
    result.arrays |= {"row_probability": np.stack(p), "row_right": np.stack(right).astype(np.uint8)}
    if len(p) < ENOUGH_EPOCHS:
        return
    whole = course_table(task.train.ids, result.arrays["row_probability"], result.arrays["row_right"])
    drawn = np.sort(np.argsort(hashed(task.train.ids, _SEED), kind="stable")[:DRAWN])
    result.tables["training_rows"] = _with_gold(task, whole.iloc[drawn], drawn)
    lost = np.flatnonzero(whole["correctness"] == 0)
    worst = lost[np.argsort(whole["confidence"].to_numpy()[lost], kind="stable")]
    listed = _with_gold(task, whole.iloc[worst[:LISTED]], worst[:LISTED])
    listed.insert(1, "text", texts(task.train, worst[:LISTED]))
    result.tables["never_learnt"] = listed.drop(columns=["correctness", "learnt", "region"])
    result.figures.append(_map(len(whole), len(drawn), len(lost), len(p)))
    if len(whole) > len(drawn):
        result.notes.append(f"training_rows: {len(drawn):,} of {len(whole):,}, drawn by a hash of their ids")


def course_table(ids: Sequence[str], p: np.ndarray, right: np.ndarray) -> pd.DataFrame:
    """A line for each row, from its p(label) and whether that was the likeliest [epoch, row].

    Regions as in a data map: ambiguous is the third of the rows whose p varies most; of the others easy are those
    with a mean p of .5 or more, hard the rest.
    """
    confidence, variability, correctness = p.mean(0, dtype=np.float64), p.std(0, dtype=np.float64), right.mean(0)
    most = np.argsort(-variability, kind="stable")[: len(variability) // 3]
    region = np.where(confidence >= 0.5, "easy", "hard").astype(object)
    region[most[variability[most] > 0]] = "ambiguous"
    return pd.DataFrame(
        {
            "row": list(ids), "confidence": confidence.round(4), "variability": variability.round(4),
            "correctness": correctness.round(4), "learnt": how_learnt(correctness), "region": region,
        }
    )  # fmt: skip


def how_learnt(correctness: np.ndarray) -> np.ndarray:
    """In how many epochs rows were predicted as labelled, of the share of them."""
    return np.select([correctness == 0, correctness == 1], ["never", "always"], "sometimes")


def _with_gold(task: Task, table: pd.DataFrame, at: np.ndarray) -> pd.DataFrame:
    gold = [told[:LONGEST] for told in gold_in_words(task.output, task.train.take(at))]
    table = table.reset_index(drop=True)
    table.insert(1, "gold", gold)
    return table


def texts(examples: Examples, rows: np.ndarray) -> list[str]:
    """The texts of some rows, a pair's with a bar between them, cut where they are long."""
    both = [examples.text] if examples.pair is None else [examples.text, examples.pair]
    return [" | ".join(column[row] for column in both)[:LONGEST] for row in rows.tolist()]


def _map(rows: int, drawn: int, lost: int, epochs: int) -> Figure:
    some = f"{drawn:,} of {rows:,} training rows" if drawn < rows else f"The {rows:,} training rows"
    return Figure(
        "points", "training_rows", x="variability", y="confidence", color="learnt", key="training_map",
        title="Training rows over time",
        caption=f"{some} by the probability that the model gave their label while it was trained, in {epochs} "
        "epochs: its mean, and its standard deviation over epochs. At the top left are easy rows, at the right "
        "ambiguous ones, at the bottom left hard ones, whose labels may be wrong; "
        f"{lost:,} {'row was' if lost == 1 else 'rows were'} never predicted as labelled.",
        labels={"confidence": "mean p(label)", "variability": "standard deviation of p(label)",
                "learnt": "predicted as labelled"},
    )  # fmt: skip
