"""`errors`: the rows themselves, and the training rows that are most like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.errors.question import LONGEST, TOP
from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.output import Output
from bertscope.core.result import Result
from bertscope.data.answers_in_words import gold_in_words, predicted_in_words
from bertscope.data.row_slices import RowSlices
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.row_pass import RowPass, nearest, row_vectors


@dataclass(frozen=True, eq=False)
class Answered:
    """What a model says of a split, and what is right."""

    examples: Examples
    output: Output
    read: RowPass
    outputs: np.ndarray
    """In the order of the task's labels."""
    gold: np.ndarray
    predicted: np.ndarray
    decisions: Decisions | None
    """None where what is kept holds no probabilities."""

    @classmethod
    def of(cls, task: Task, examples: Examples, read: RowPass) -> Answered:
        outputs, output = task.outputs(read.predictions), task.output
        gold = task.gold(examples, outputs)
        predicted, decided = task.outputs_to_predictions(outputs), output.decisions(outputs, gold)
        said = cls(examples, output, read, outputs, gold, predicted, decided if decided else None)
        silent = np.isnan(said.right)
        if silent.all():  # nothing is right or wrong: scores
            return said
        return replace(said, read=replace(read, losses=np.where(silent, np.nan, read.losses)))

    @property
    def right(self) -> np.ndarray:
        """[n]: the share of what is decided in each row that is right; whether all of it is where there are no
        decisions. NaN where nothing is right or wrong."""
        decided = self.decisions
        if decided is None:
            return self.output.correct(self.predicted, self.gold)
        n = len(self.examples)
        hits, count = np.bincount(decided.example, decided.right, n), np.bincount(decided.example, minlength=n)
        return np.divide(hits, count, out=np.full(n, np.nan), where=count > 0)


def texts(examples: Examples, rows: Sequence[int] | np.ndarray) -> list[str]:
    """The texts of some rows, a pair's with a bar between them, cut where they are long."""

    def told(row: int) -> str:
        both = [examples.text[row], *([examples.pair[row]] if examples.pair is not None else [])]
        return " | ".join(both)[:LONGEST]

    return [told(int(row)) for row in rows]


def row_table(said: Answered, most: int) -> pd.DataFrame:
    """A line for each row, up to so many."""
    examples = said.examples.take(range(min(most, len(said.examples))))
    n, decided = len(examples), said.decisions
    columns: dict[str, Any] = {
        "row": list(examples.ids),
        "text": [text[:LONGEST] for text in examples.text],
        **({"pair": [text[:LONGEST] for text in examples.pair]} if examples.pair is not None else {}),
        "gold": [told[:LONGEST] for told in gold_in_words(said.output, examples)],
        "predicted": [told[:LONGEST] for told in predicted_in_words(said.output, examples, said.predicted[:n])],
    }
    if decided is not None:
        columns |= {"p": decided.lowest(decided.confidence, n), "p_gold": decided.lowest(decided.of_gold, n)}
    columns["loss"] = said.read.losses[:n]
    correct = said.output.correct(said.predicted, said.gold)[:n]
    if not np.isnan(correct).all():
        columns["right"] = pd.array([None if np.isnan(one) else bool(one) for one in correct], dtype="boolean")
    return pd.DataFrame(columns)


def decision_table(said: Answered, at: np.ndarray, **further: object) -> pd.DataFrame:
    """Some decisions, each with the row that it is made in, and where in it, if it has several."""
    decided, examples = said.decisions, said.examples
    assert decided is not None
    owner = decided.example[at]
    columns: dict[str, object] = dict(further) | {"row": [examples.ids[row] for row in owner]}
    if (places := _places(said)) is not None:
        columns["place"] = [places[one] for one in at]
    columns["text"] = texts(examples, owner)
    for name, which in (("gold", decided.gold[at]), ("predicted", decided.predicted[at])):
        columns[name] = _named(said, which, owner)
    columns |= {"p": decided.confidence[at], "p_gold": decided.of_gold[at]}
    return pd.DataFrame(columns)


def _named(said: Answered, which: np.ndarray, owner: np.ndarray) -> list[str]:
    """Labels of decisions; candidates, which have no names, by their texts."""
    assert said.decisions is not None
    if names := said.decisions.names:
        return [names[place] for place in which.tolist()]
    choices = said.examples.choices or ()
    return [choices[row][place][:LONGEST] for row, place in zip(owner.tolist(), which.tolist(), strict=True)]


def _places(said: Answered) -> list[str] | None:
    """What each decision is about, where a row has several: its word, or its label; None where it has one."""
    decided, examples = said.decisions, said.examples
    assert decided is not None
    if len(np.unique(decided.example)) == len(decided):
        return None
    starts = np.searchsorted(decided.example, decided.example)
    within = np.arange(len(decided)) - starts
    if examples.words is None:
        return [said.output.labels[place] for place in within]
    # Words that aren't read are no decisions: which of a sentence's words are, its outputs say.
    counted = np.argwhere((said.gold >= 0) & (said.predicted >= 0))
    return [f"{examples.words[row][word]} ({word + 1})" for row, word in counted.tolist()]


def extreme_tables(said: Answered) -> dict[str, pd.DataFrame]:
    """The surest mistakes and the least sure answers; without probabilities, the rows with the largest loss."""
    if (decided := said.decisions) is None:
        worst = np.argsort(-np.nan_to_num(said.read.losses, nan=-np.inf), kind="stable")[:TOP]
        worst = worst[np.isfinite(said.read.losses[worst])]
        few = said.examples.take(worst)
        columns = {
            "row": list(few.ids),
            "text": texts(few, range(len(few))),
            "gold": [told[:LONGEST] for told in gold_in_words(said.output, few)],
            "predicted": [told[:LONGEST] for told in predicted_in_words(said.output, few, said.predicted[worst])],
            "loss": said.read.losses[worst],
        }
        return {"largest_losses": pd.DataFrame(columns)}
    sure = np.argsort(-decided.confidence, kind="stable")
    mistakes = sure[~decided.right[sure]][:TOP]
    return {
        "confident_mistakes": decision_table(said, mistakes),
        "least_sure": decision_table(said, sure[::-1][:TOP]),
    }


def doubted_table(splits: dict[str, Answered]) -> pd.DataFrame:
    """The labels that the model gives the lowest probability, of splits that it wasn't trained on."""
    parts = []
    for split, said in splits.items():
        assert said.decisions is not None
        doubt = 1 - said.decisions.of_gold
        at = np.argsort(-doubt, kind="stable")[:TOP]
        parts.append(decision_table(said, at, split=split).assign(doubt=doubt[at]))
    table = pd.concat(parts, ignore_index=True).rename(columns={"gold": "given"})
    return table.sort_values("doubt", ascending=False, kind="stable", ignore_index=True).head(TOP)


def neighbour_table(model: Encoder, task: Task, said: Answered, count: int, most: int, rows: int) -> pd.DataFrame:
    """The training rows whose last layer is nearest to each row's, of at most so many, drawn by their ids."""
    train = task.train
    if len(train) > most:
        train = train.take(np.sort(np.argsort(hashed(train.ids, 0), kind="stable")[:most]))
    others = row_vectors(model, task.output, train, label="training rows")
    assert said.read.vectors is not None
    places, cosines = nearest(said.read.vectors[:rows], others, count)
    flat, n = places.ravel(), len(places)
    every, right = texts(train, range(len(train))), gold_in_words(task.output, train)
    return pd.DataFrame(
        {
            "row": np.repeat(np.array(said.examples.ids[:n], dtype=object), places.shape[1]),
            "rank": np.tile(np.arange(1, places.shape[1] + 1), n),
            "other": [train.ids[place] for place in flat],
            "text": [every[place] for place in flat],
            "gold": [right[place][:LONGEST] for place in flat],
            "similarity": cosines.ravel().astype(np.float64),
        }
    )


def trained_p(training: Result, task: Task) -> dict[str, float]:
    """By its id, the mean over epochs of the probability that each training row's label had in a training."""
    if training.question != "finetune" or "row_probability" not in training.arrays:
        raise UserError(
            f"the result of {training.question} doesn't say how its training rows fared; give that of a finetune of "
            "rows with one label each"
        )
    p = training.arrays["row_probability"].mean(0, dtype=np.float64)
    if training.provenance.get("data") != task.fingerprint or len(p) != len(task.train):
        raise UserError(f"the training read other rows than {task.name} has; give that of the same data and options")
    return dict(zip(task.train.ids, p.round(4).tolist(), strict=True))


def row_slices_table(slices: RowSlices, examples: Examples, most: int) -> pd.DataFrame:
    """Which of the slices each row belongs to."""
    rows = [(examples.ids[row], name) for name, held in slices.rows() for row in held.tolist() if row < most]
    return pd.DataFrame(rows, columns=["row", "slice"])
