"""The answer of `forgetting`: one figure over the steps, and what is lost and won at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import fitted_on_pieces
from bertscope.analyses.forgetting.question import QUANTITIES, forgetting
from bertscope.core.estimate import Estimate
from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.intervals import interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, points, sure
from bertscope.data.task import Task
from bertscope.models.cast import Member


@dataclass(frozen=True)
class Line:
    """A point of a line over the steps."""

    quantity: str
    way: str
    step: int
    value: float
    low: float | None
    high: float | None
    n: int
    base: float
    """The same of the base; of the task's score, that of an answer without looking."""


@dataclass(frozen=True, eq=False)
class Lost:
    """Draws of the share of masked pieces that are guessed: the sample itself, then resamples of the texts."""

    base: np.ndarray
    as_it_is: np.ndarray
    mapped: np.ndarray
    """[1 + repeats, checkpoint]"""
    explained: list[float]
    """By checkpoint: the share of the variance that its map explains in other texts."""
    pieces: int
    truncated: int
    """How many texts were cut."""


def forgetting_result(
    models: Sequence[Member],
    examples: Examples,
    steps: Sequence[int],
    lines: Sequence[Line],
    lost: Lost,
    task: Task | None,
    further: Sequence[str],
    told: bool,
) -> Result:
    """`further` are notes; `told`: whether somebody said the steps, so that the checkpoints needn't."""
    table = pd.DataFrame([asdict(one) for one in lines])
    order = [quantity for quantity in QUANTITIES if quantity in set(table["quantity"])]
    table["place"] = table["quantity"].map(order.index)
    table = table.sort_values(["place", "way", "step"], kind="stable", ignore_index=True).drop(columns="place")
    table.insert(3, "shown", table["step"] + 1)
    maps = pd.DataFrame({"step": steps, "explained": lost.explained})
    fitted = fitted_on_pieces(lost.pieces, len(examples), models[0].encoder.hidden_size)
    subject = {"task": task.name} if task else {"task": examples.name or "texts"}
    return forgetting.result(
        tables={"lines": table, "maps": maps},
        headline=_headline(table, lost),
        figures=[_figure(table, task)],
        models=records(models),
        subject=subject,
        notes=[*examples.notes, *_notes(models, steps, told), *fitted, *further],
    )


def sentence(result: Result) -> Statement | None:
    forgotten = Estimate.of_number(result["forgotten"])
    said = (
        f"At the end of fine-tuning, {sure(forgotten, points)} points of the masked words that its base guesses are "
        f"forgotten; in the base's own coordinates {points(result['drifted'].value)} points are lost."
    )
    return Statement(said, forgotten.value, in_points)


def _headline(table: pd.DataFrame, lost: Lost) -> list[Number]:
    numbers = [_number("base", lost.base, lost.pieces)]
    numbers.append(_number("forgotten", lost.base - lost.mapped[:, -1], lost.pieces))
    numbers.append(_number("drifted", lost.base - lost.as_it_is[:, -1], lost.pieces))
    worst = int(np.argmin(lost.mapped[0]))
    numbers.append(Number("most_forgotten", float(lost.base[0] - lost.mapped[0, worst]), n=lost.pieces, unit="share"))
    last = table.groupby(["quantity", "way"], sort=False).tail(1).set_index(["quantity", "way"])
    for key, at in (
        ("pairs_forgotten", ("pairs", "mapped")),
        ("trees_lost", ("trees", "probe")),
        ("parts_of_speech_lost", ("parts_of_speech", "probe")),
    ):
        if at in last.index:
            row = last.loc[at]
            numbers.append(Number(key, float(row["base"] - row["value"]), n=int(row["n"]), unit="share"))
    scores = table[table["quantity"] == "score"]
    if len(scores) > 1:
        won = float(scores["value"].iloc[-1] - scores["value"].iloc[0])
        numbers.append(Number("learnt", won, n=int(scores["n"].iloc[-1]), unit="score"))
    return numbers


def _number(key: str, draws: np.ndarray, n: int) -> Number:
    low, high = interval(draws)
    return Number(key, float(draws[0]), float(low), float(high), n, "share")


def _notes(models: Sequence[Member], steps: Sequence[int], told: bool) -> list[str]:
    notes = list(dict.fromkeys(note for one in models for note in one.encoder.opening_notes))
    notes.append("one training: intervals are over texts, and say nothing about how trainings vary")
    origins = [one.record.origin for one in models[1:]]
    if not told and list(steps) != [None if origin is None else origin.step for origin in origins]:
        notes.append(f"the checkpoints don't all say their steps: they are counted, 1 to {steps[-1]}")
    return notes


def _figure(table: pd.DataFrame, task: Task | None) -> Figure:
    learnt = f" The task: {task.metric} on the test set." if task else ""
    shown = set(table["quantity"])
    guessed = "masked words and minimal pairs" if "pairs" in shown else "masked words"
    probed = "; what probes find in the best layer" if {"trees", "parts_of_speech"} & shown else ""
    over = "texts, pairs or sentences" if len(shown) > 1 else "texts"
    return Figure(
        "lines", "lines", x="shown", y="value", color="way", facet="quantity", low="low", high="high", log_x=True,
        key="forgetting", title="What is learnt and what is lost",
        caption=f"Along the fine-tuning, from its first checkpoint to its last: {guessed} by the base's masked-word "
        "head, as it is (coordinates that drifted count as lost) and after an affine map of the last states to the "
        f"base's, fitted on other texts (what is lost in spite of it is forgotten){probed}.{learnt} Bands: 95%, over "
        f"{over}.",
        labels={"shown": "steps + 1", "value": "share right", "way": "", "quantity": ""},
    )  # fmt: skip
