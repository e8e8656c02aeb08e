"""`course`: from the answers of the checkpoints to lines, and to when each got where it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import pandas as pd

from bertscope.analyses.course.followed import Followed
from bertscope.analyses.course.question import TO_FIRST, TO_LAST, CourseConfig
from bertscope.analyses.course.result import Line, course_result
from bertscope.core import registry
from bertscope.core.consequence import spoken_of
from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.words import labelled

_PASSING = ("model", "against")
"""Of what numbers are of: the checkpoint itself, and what it is compared with."""
_WHICHEVER = "whichever"
"""What is said in the place of a part, or a layer, that isn't the same at each step."""


@dataclass(frozen=True)
class _Asked:
    """Answers of some checkpoints of the series, in their order."""

    results: Sequence[Result]
    steps: Sequence[int]
    to: str = ""
    """With which end of the series each is compared; empty where they aren't, or with another model."""
    ends_at: int | None = None
    """The step of that end, of which it isn't asked."""


def measure(answers: Sequence[Result], config: CourseConfig, to_last: Sequence[Result] = ()) -> Result:
    question = _question([*answers, *to_last])
    groups = _groups(answers, to_last, config.steps or _named_steps(answers), question)
    lines = [line for group in groups for line in _lines(group, question)]
    return course_result(question, lines, _tables(groups, question), _checkpoints(groups), answers)


def _question(results: Sequence[Result]) -> Question:
    names = list(dict.fromkeys(one.question for one in results))
    if len(names) > 1:
        raise UserError(f"a series follows the answers to one question, not to {' and '.join(names)}; name one's")
    versions = {one.version for one in results}
    if len(versions) > 1:
        raise UserError(f"these answers to {names[0]} are of versions {sorted(versions)}; ask the older ones again")
    question = registry.find(names[0])
    if question.over_steps is None:
        raise UserError(f"{question.name} can't be followed over a series of checkpoints")
    if len({tuple(sorted(one.subject.items())) for one in results}) > 1:
        raise UserError(f"these answers to {names[0]} aren't of the same data and settings; name those that are")
    return question


def _named_steps(answers: Sequence[Result]) -> tuple[int, ...]:
    """The steps in the names of the folders of the answers' last models."""
    found = []
    for one in answers:
        record = one.models[spoken_of(one)]
        start, _, number = PurePath(record.source).name.rpartition("-")
        if start != "checkpoint" or not number.isdecimal():
            raise UserError(f"{record.source or record.name} doesn't say its step in its name; say --steps")
        found.append(int(number))
    return CourseConfig(tuple(found)).steps


def _groups(
    answers: Sequence[Result], to_last: Sequence[Result], steps: tuple[int, ...], question: Question
) -> list[_Asked]:
    """The answers with their steps. Of a question that compares, one fewer than there are steps: the first with
    itself isn't asked."""
    assert question.over_steps is not None
    if len(steps) < 2:
        raise UserError("a series has two checkpoints or more; name more")
    if len(answers) == len(steps):
        groups = [_Asked(answers, steps)]
    elif question.over_steps.against and len(answers) == len(steps) - 1:
        groups = [_Asked(answers, steps[1:], TO_FIRST, steps[0])]
    else:
        raise UserError(f"there are {len(steps)} steps for {len(answers)} answers; give a step for each")
    return [*groups, _Asked(to_last, steps[:-1], TO_LAST, steps[-1])] if to_last else groups


def _checkpoints(groups: Sequence[_Asked]) -> dict[int, ModelRecord]:
    """By their steps: those that the answers speak of, and the one that they are compared with where it is an end of
    the series."""
    first = groups[0]
    found = {step: one.models[spoken_of(one)] for step, one in zip(first.steps, first.results, strict=True)}
    if first.ends_at is not None:
        found = {first.ends_at: next(iter(first.results[0].models.values()))} | found
    return found


def _lines(group: _Asked, question: Question) -> list[Line]:
    """Each headline number over the steps; what is the same throughout, and was never drawn, is no line."""
    assert question.over_steps is not None
    found: list[Line] = []
    keys = dict.fromkeys(number.key for one in group.results for number in one.headline)
    for key in keys:
        numbers = [[number for number in one.headline if number.key == key] for one in group.results]
        apart = _told_apart(numbers)
        every = [dict(of) for of in dict.fromkeys(tuple(_of(each, apart).items()) for at in numbers for each in at)]
        for of, label in zip(every, _labels(key, every, numbers, question), strict=True):
            at_steps = [next((each for each in at if _of(each, apart) == of), None) for at in numbers]
            unit = next(each.unit for each in at_steps if each is not None)
            line = Line(key, of, label, unit, group.to, tuple(group.steps), tuple(at_steps),
                        question.over_steps.same.get(key))  # fmt: skip
            if any(each is not None and each.draws is not None for each in at_steps) or line.moves:
                found.append(_with_end(line, group))
    return found


def _labels(
    key: str, every: Sequence[Mapping[str, str]], numbers: Sequence[Sequence[Number]], question: Question
) -> list[str]:
    """What the lines of a key are called, by what tells them apart; what isn't the same at each step is any."""
    there = next(each for at in numbers for each in at)
    told = [Number(key, 0.0, label=there.label, of=dict.fromkeys(there.of, _WHICHEVER) | {**of}) for of in every]
    return [one.label for one in labelled(told, question.numbers, question.words)]


def _told_apart(numbers: Sequence[Sequence[Number]]) -> list[str]:
    """By what the numbers of a key are told apart in an answer: what they are of, without what was picked at each
    step anew, such as the head that matters most."""
    names = list(dict.fromkeys(name for at in numbers for each in at for name in each.of if name not in _PASSING))
    for name in [*names]:
        values = {tuple(sorted(str(each.of.get(name)) for each in at)) for at in numbers if at}
        rest = [other for other in names if other != name]
        if len(values) > 1 and all(len({tuple(_of(each, rest).items()) for each in at}) == len(at) for at in numbers):
            names = rest
    return names


def _of(number: Number, names: Sequence[str]) -> dict[str, str]:
    return {name: number.of[name] for name in names if name in number.of}


def _with_end(line: Line, group: _Asked) -> Line:
    """With what the number is of the end that the others are compared with and itself."""
    if group.ends_at is None or line.same is None:
        return line
    value = line.same
    drawn = next((each.draws for each in line.numbers if each is not None and each.draws is not None), None)
    end = Number(line.key, value, value, value, unit=line.unit, of=line.of,
                 draws=None if drawn is None else np.full(len(drawn), value))  # fmt: skip
    if group.to == TO_FIRST:
        return replace(line, steps=(group.ends_at, *line.steps), numbers=(end, *line.numbers))
    return replace(line, steps=(*line.steps, group.ends_at), numbers=(*line.numbers, end))


def _tables(groups: Sequence[_Asked], question: Question) -> list[Followed]:
    """What is followed of the answers' tables, each step's rows under one another."""
    assert question.over_steps is not None
    found = []
    for one in question.over_steps.followed:
        frames = []
        for group in groups:
            for step, result in zip(group.steps, group.results, strict=True):
                if one.table in result.tables and {one.value, *one.by, *one.where} <= {*result.tables[one.table]}:
                    rows = _spoken_of(result, result.tables[one.table])
                    for name, value in one.where.items():
                        rows = rows[rows[name] == value]
                    columns = [name for name in (*one.by, one.value, one.low, one.high) if name in rows]
                    to = {"to": group.to} if len(groups) > 1 else {}
                    frames.append(rows[columns].assign(step=step, **to))
        if frames:
            found.append(Followed(one, pd.concat(frames, ignore_index=True)))
    return found


def _spoken_of(result: Result, rows: pd.DataFrame) -> pd.DataFrame:
    """Where a table has several models, the rows of the one that the answer speaks of: random weights beside a
    checkpoint aren't another checkpoint."""
    several = "checkpoint" in rows and rows["checkpoint"].nunique() > 1
    return rows[rows["checkpoint"] == spoken_of(result)] if several else rows
