"""The answer of `course`: lines over steps, when each got where it ended, and what changed in which layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.course.followed import LABELS, Followed, followed_figures
from bertscope.analyses.course.question import course
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.onset import Onset, final_change, is_certain, onset
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.statement import Statement

_ROUNDING = 1e-6  # so far may rounding take what compares a model with itself
_IN_ONE = 5  # lines that one picture can hold; more get a picture each


@dataclass(frozen=True)
class Line:
    """A headline number at each step."""

    key: str
    of: Mapping[str, str]
    label: str
    unit: str
    to: str
    """With which end of the series each checkpoint is compared; empty where none is."""
    steps: tuple[int, ...]
    numbers: tuple[Number | None, ...]
    """None where a checkpoint has no such number."""
    same: float | None = None
    """Of what compares two models: what it is of a model and itself."""

    @property
    def values(self) -> list[float]:
        return [np.nan if one is None else one.value for one in self.numbers]

    @property
    def moves(self) -> bool:
        """Whether it isn't the same at each step."""
        return len({value for value in self.values if not np.isnan(value)}) > 1

    @cached_property
    def draws(self) -> np.ndarray | None:
        """[1 + repeats, step], resampled alike; None where some step has none, or other examples."""
        drawn = [None if one is None else one.draws for one in self.numbers]
        there = [one for one in drawn if one is not None]
        examples = {one.n for one in self.numbers if one is not None and one.n is not None}
        if len(there) < len(drawn) or len({len(one) for one in there}) > 1 or len(examples) > 1:
            return None
        return np.stack(there, 1)

    @property
    def n(self) -> int | None:
        return next((one.n for one in self.numbers if one is not None and one.n is not None), None)

    @cached_property
    def change(self) -> Estimate:
        """The last minus the first."""
        if self.draws is None:
            return Estimate(self.values[-1] - self.values[0])
        return final_change(self.draws, self.n)

    @property
    def has_known_end(self) -> bool:
        """Whether it begins or ends with a model beside itself. That is a constant, mostly the end of a scale, from
        which any two models differ that aren't equal: the change is an effect size, not tested against 0."""
        ends = (self.values[0], self.values[-1])
        return self.same is not None and any(abs(end - self.same) <= _ROUNDING for end in ends)

    @property
    def is_tested(self) -> bool:
        return self.draws is not None and not self.has_known_end

    @property
    def is_certain(self) -> bool:
        return self.is_tested and is_certain(self.change)

    @cached_property
    def onset(self) -> Onset | None:
        if self.draws is None or (self.has_known_end and abs(self.change.value) <= _ROUNDING):
            return None
        return onset(self.draws, self.n, tested=not self.has_known_end)


def course_result(
    question: Question,
    lines: Sequence[Line],
    followed: Sequence[Followed],
    checkpoints: Mapping[int, ModelRecord],
    answers: Sequence[Result],
) -> Result:
    """It is about the last checkpoint: what the training made. `checkpoints` are all of them by their steps."""
    names = _names(lines)
    onsets = _onsets_table(lines, names)
    by_layer = [figure for one in followed for figure in followed_figures(one, question)]
    known = [{"step": step, "model": one.id, "name": one.name} for step, one in checkpoints.items()]
    tables = {"lines": _lines_table(lines, names), "onsets": onsets, "checkpoints": pd.DataFrame(known)}
    *_, made = checkpoints.values()
    certain, tested = sum(line.is_certain for line in lines), sum(line.is_tested for line in lines)
    numbers = [Number("lines", len(lines)), Number("certain", certain, n=tested)]
    for line, name in zip(lines, names, strict=True):
        if not (line.is_certain or line.has_known_end):
            continue
        found, of = line.onset, {"line": name}
        if found is not None:
            low, high = line.steps[found.earliest - 1], line.steps[found.latest]
            numbers.append(Number("onset", line.steps[found.place], low, high, line.n, of=of))
        change = line.change
        numbers.append(Number("final_change", change.value, change.low, change.high, line.n, line.unit, of=of))
    return course.result(
        tables=tables | {one.name: one.table for one in followed},
        headline=numbers,
        figures=[*_line_figures(tables["lines"]), *_onset_figure(onsets), *by_layer],
        models={made.id: made},
        subject=answers[-1].subject | {"question": question.name, "checkpoints": str(len(checkpoints))},
        notes=_notes(lines, answers, [*checkpoints][-len(answers) :], names),
    )


def _names(lines: Sequence[Line]) -> list[str]:
    """What lines are called: with what they are compared with, where that is either end."""
    several = len({line.to for line in lines}) > 1
    return [f"{line.label}, {course.words['to'][line.to]}" if several and line.to else line.label for line in lines]


def _lines_table(lines: Sequence[Line], names: Sequence[str]) -> pd.DataFrame:
    rows = [
        {"number": number, "line": name, "key": line.key, "step": step, "value": one.value, "low": one.low,
         "high": one.high, "n": one.n, "unit": line.unit}
        for number, (line, name) in enumerate(zip(lines, names, strict=True), start=1)
        for step, one in zip(line.steps, line.numbers, strict=True) if one is not None
    ]  # fmt: skip
    columns = ["number", "line", "key", "step", "value", "low", "high", "n", "unit"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float, "n": "Int64"})


def _onsets_table(lines: Sequence[Line], names: Sequence[str]) -> pd.DataFrame:
    rows = []
    for number, (line, name) in enumerate(zip(lines, names, strict=True), start=1):
        found, change = line.onset, line.change
        row = {"number": number, "line": name, "key": line.key, "first": line.values[0], "last": line.values[-1],
               "change": change.value, "change_low": change.low, "change_high": change.high,
               "certain": line.is_certain, "known_end": line.has_known_end,
               "has_onset": found is not None}  # fmt: skip
        if found is not None:
            row |= {
                "after": line.steps[found.place - 1], "onset": line.steps[found.place],
                "low": line.steps[found.earliest - 1], "high": line.steps[found.latest],
            }  # fmt: skip
        rows.append(row)
    places = ["after", "onset", "low", "high"]
    said = ["certain", "known_end", "has_onset"]
    columns = ["number", "line", "key", "first", "last", "change", "change_low", "change_high", *said, *places]
    ends = dict.fromkeys(("change_low", "change_high"), float)
    kinds = {**ends, **dict.fromkeys(places, "Int64"), **dict.fromkeys(said, bool)}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def _notes(lines: Sequence[Line], answers: Sequence[Result], steps: Sequence[int], names: Sequence[str]) -> list[str]:
    unsure = [name for line, name in zip(lines, names, strict=True) if line.draws is None]
    known = [name for line, name in zip(lines, names, strict=True) if line.has_known_end]
    notes = [
        f"numbers are followed over {len(answers)} answers on the same texts; "
        f"{sum(line.is_tested for line in lines)} lines are each tested at 5% for a change, not corrected for "
        "their number"
    ]
    if known:
        notes.append(
            f"not tested for a change: {_few(known)}; at one end a model is compared with itself, and any other that "
            "isn't equal differs from that: the changes are effect sizes"
        )
    if unsure:
        notes.append(
            f"no onset is told of {_few(unsure)}: these are counts, or the largest of many, or their range holds "
            "more than other texts would change, or a checkpoint lacks them, or its answer is older than this "
            "question"
        )
    return [*notes, *_their_notes(answers, steps)]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _their_notes(answers: Sequence[Result], steps: Sequence[int]) -> list[str]:
    """What the answers note, and at which steps, where not all do: what holds at the start needn't at the end."""
    at: dict[str, list[int]] = {}
    for step, one in zip(steps, answers, strict=True):
        for note in dict.fromkeys(one.notes):
            at.setdefault(note, []).append(step)
    return [
        note if len(found) == len(answers)
        else f"at step{'s' if len(found) > 1 else ''} {', '.join(f'{step:,}' for step in found)}: {note}"
        for note, found in at.items()
    ]  # fmt: skip


def _line_figures(lines: pd.DataFrame) -> list[Figure]:
    """One for each unit: what has another unit has another scale."""
    figures = []
    for place, unit in enumerate(lines["unit"].unique()):
        some = lines[lines["unit"] == unit]["line"].nunique()
        own = unit == "" or some > _IN_ONE  # what has no unit is counted, or a mixture
        by: Any = {"facet": "line"} if own else {"color": "line"}
        figures.append(
            Figure(
                "lines", "lines", x="step", y="value", low="low", high="high", where={"unit": unit},
                **by,
                title=f"Over the steps of the training{f' ({unit})' if unit else ''}",
                caption="What is found at each checkpoint on the same texts, with its 95% interval where it has one.",
                labels=LABELS | {"value": unit}, key=f"lines_{place}" if place else "lines",
            )
        )  # fmt: skip
    return figures


def _onset_figure(onsets: pd.DataFrame) -> list[Figure]:
    return [] if not onsets["has_onset"].any() else [
        Figure(
            "intervals", "onsets", x="onset", y="line", low="low", high="high", where={"has_onset": True},
            title="When each got to where it ended",
            caption="The first checkpoint from which on a number stays near its last value (within a tenth of its "
            "whole change), and the checkpoints between which that certainly lies (95%); only numbers that changed "
            "for certain, or that compare a model with an end of the series.",
            labels=LABELS | {"onset": "step"}, key="onsets",
        )
    ]  # fmt: skip


def sentence(result: Result) -> Statement | None:
    onsets, question = result.tables["onsets"], result.subject["question"]
    steps, certain = result.tables["lines"]["step"], result["certain"]
    changed = (
        f"{certain.value:.0f} of {certain.n} numbers of {question} that can be tested changed for certain"
        if certain.n
        else f"no number of {question} can be tested for a change"
    )
    told = f"From step {steps.min():,} to step {steps.max():,}, {changed}"
    known = onsets[onsets["has_onset"]].sort_values(["onset", "high"], kind="stable")
    if len(known):
        first, last = known.iloc[0], known.iloc[-1]
        if len(known) > 1 and first["onset"] == last["onset"]:
            told += f"; all of them reached their final level between steps {first['after']:,} and {first['onset']:,}"
        else:
            told += f"; first {_told(first)}" + (f", last {_told(last)}" if len(known) > 1 else "")
    return Statement(f"{told}.", certain.value, lambda count: f"{count:.0f}")


def _told(row: pd.Series) -> str:
    return (
        f"{row['line']} reached its final level, between steps {row['after']:,} and {row['onset']:,} (95%: "
        f"{row['low']:,} to {row['high']:,})"
    )
