"""The answer of `explain`: what is explained, and what each word did for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.explain.parts import Part
from bertscope.analyses.explain.question import ExplainConfig, explain
from bertscope.analyses.side_by_side import subject
from bertscope.core.attributions import Attributions
from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.intervals import bootstrap_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


def explain_result(
    model: Encoder, data: Task | Examples, examples: Examples, some: Examples, found: Attributions,
    config: ExplainConfig, parts: Sequence[Part] = (),
) -> Result:  # fmt: skip
    """`some` of the examples were explained; `parts` are what else was asked."""
    tables = {"targets": targets_table(found, some), "words": words_table(found, some)}
    return explain.result(
        tables=tables | {name: table for part in parts for name, table in part.tables.items()},
        headline=[*_headline(found, config), *(number for part in parts for number in part.headline)],
        figures=[_texts(), *(figure for part in parts for figure in part.figures)],
        models=records([model]),
        subject=subject(examples) if isinstance(data, Examples) else {"task": data.name},
        notes=[
            *examples.notes,
            *_notes(model, examples, some, found),
            *(note for part in parts for note in part.notes),
        ],
    )


def _texts() -> Figure:
    return Figure(
        "texts", "words", x="word", y="row", side="target", facet="of", token="text", value="attribution",
        key="texts", title="The words that made each prediction",
        caption="What is explained stands before its text. Blue words with a line under them are for it, orange ones "
        "with dots against it, the more the stronger they are beside the text's strongest word; under the mouse, or "
        "by the arrow keys, is a word's attribution.", labels={"attribution": "attribution"},
    )  # fmt: skip


def targets_table(found: Attributions, examples: Examples) -> pd.DataFrame:
    """A row for each target: `target` counts those of a text from 1."""
    return pd.DataFrame({
        "row": _rows(found, examples), "target": _counted(found), "of": found.explained, "whole": found.whole,
        "baseline": found.baseline, "gap": found.gap, "missed": found.missed, "nodes": found.nodes,
    })  # fmt: skip


def words_table(found: Attributions, examples: Examples) -> pd.DataFrame:
    """A row for each word of each target, in the order of the text; `word` counts from 1."""
    owner = found.owner
    return pd.DataFrame({
        "row": _rows(found, examples)[owner], "target": _counted(found)[owner], "word": found.word + 1,
        "text": found.text, "attribution": found.values, "of": np.array(found.explained, dtype=object)[owner],
    })  # fmt: skip


def _rows(found: Attributions, examples: Examples) -> np.ndarray:
    """[t]: the example's id."""
    return np.array(examples.ids, dtype=object)[found.targets.example]


def _counted(found: Attributions) -> np.ndarray:
    """[t]: which of its example's it is, from 1."""
    example = found.targets.example
    return np.arange(len(example)) - np.searchsorted(example, example) + 1


def _headline(found: Attributions, config: ExplainConfig) -> list[Number]:
    example, owner = found.targets.example, found.owner
    size = np.abs(found.values)
    total, top = np.bincount(owner, size, len(found)), np.zeros(len(found))
    np.maximum.at(top, owner, size)
    share = np.divide(top, total, out=np.full(len(found), np.nan), where=total > 0)
    texts = len(np.unique(example))
    numbers = [
        _mean("top_word_share", share, example, "share"),
        _mean("above_masked", found.whole - found.baseline, example, "logits"),
        Number("texts", texts),
        Number("targets", len(found)),
    ]
    if config.method == "integrated":
        numbers.append(Number("missed_share", float(found.missed.mean()), n=len(found), unit="share"))
    return [number for number in numbers if number is not None]


def _mean(key: str, values: np.ndarray, example: np.ndarray, unit: str) -> Number | None:
    """The mean over texts of the mean over their targets; texts in which no word did anything have no share."""
    known = ~np.isnan(values)
    kinds, text = np.unique(example[known], return_inverse=True)
    if not len(kinds):
        return None
    means = np.bincount(text, values[known]) / np.bincount(text)
    number = Number(key, float(means.mean()), n=len(means), unit=unit)
    if len(means) < 2:
        return number
    low, high = bootstrap_interval(lambda moments: moments[..., 0], means[:, None])
    return replace(number, low=low, high=high)


def _notes(model: Encoder, examples: Examples, some: Examples, found: Attributions) -> list[str]:
    notes = []
    if len(some) < len(examples):
        notes.append(f"{len(some):,} of {len(examples):,} texts are explained, by a hash of their ids")
    if silent := len(some) - len(np.unique(found.targets.example)):
        notes.append(f"{silent:,} texts have no word, or nothing that is predicted of them, and are left out")
    if cut := int((found.unread > 0).sum()):
        words = int(found.unread.sum())
        notes.append(f"{words:,} words of {cut:,} texts aren't read by {model.name}, and have no attribution")
    if missed := int(found.missed.sum()):
        most = int(found.nodes.max())
        notes.append(f"the words of {missed:,} of {len(found):,} predictions don't add up with {most} points")
    return notes
