"""Which model, on which task, stored answers are about, and which of them say something of it: a control training, a
model of random weights or an arm that another answer was made of don't."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING, Protocol, TypeVar

from bertscope.core import lineage, registry
from bertscope.core.consequence import Consequence, Theme, consequences_of, ranked_with, spoken_of

if TYPE_CHECKING:
    from bertscope.core.model_record import ModelRecord
    from bertscope.core.result import Result
    from bertscope.core.step import Step

_SCORED: frozenset[Theme] = frozenset({"works", "fails", "price", "needs"})
"""Themes that are told of one task; what a model knows, looks at or changed in is the same whatever it reads."""
_TRAINED_COUNTS = 2
"""A model that does a task is what somebody has; its base is asked about beside it."""
_TRAINS = "finetune"
_COMPARES = "versus"


class Answered(Protocol):
    """A finished step and its result."""

    @property
    def step(self) -> Step: ...
    @property
    def result(self) -> Result: ...


One = TypeVar("One", bound=Answered)


@dataclass(frozen=True)
class Subject:
    model: ModelRecord
    task: str
    """Empty: none."""

    def is_told_by(self, one: Answered) -> bool:
        """Whether an answer says something of it."""
        if not _finds(one) or not self._speaks(one):
            return False
        if one.step.name == _TRAINS:
            return self._task_is(one.result) and self._was_made_by(one)
        return True

    def nearness(self, one: Answered) -> int:
        """How near an answer is to it: 0 where it says something of it, 1 of what it was made from, 2 of others."""
        if self.is_told_by(one):
            return 0
        record = one.result.models.get(spoken_of(one.result))
        return 1 if record and any(record.is_same(base) for base in self.model.descent()) else 2

    def says(self, answered: Iterable[One]) -> list[tuple[Consequence, One]]:
        """What follows from answers for it, the heaviest of each theme in the order of the themes. Of random weights
        nothing that is certain."""
        found = [
            (consequence, one)
            for one in _in_order(answered) if self.is_told_by(one)
            for consequence in consequences_of(one.result)
            if self._task_is(one.result) or consequence.theme not in _SCORED
        ]  # fmt: skip
        if self.model.is_random:
            found = [pair for pair in found if pair[0].is_open]
        return ranked_with(found)

    def _task_is(self, result: Result) -> bool:
        return result.subject.get("task", "") == self.task

    def _speaks(self, one: Answered) -> bool:
        result = one.result
        if result.question == _COMPARES:
            return any(record.is_same(self.model) for record in result.models.values())
        record = result.models.get(spoken_of(result))
        if record is None:
            return False
        if record.is_same(self.model):
            return True
        # What training it again, in another way, would have given.
        made_of = any(record.is_same(base) for base in list(self.model.descent())[1:])
        return made_of and registry.QUESTIONS[result.question].group == "training" and self._task_is(result)

    def _was_made_by(self, training: Answered) -> bool:
        """Whether that training made it, or, where it is what trainings begin with, is one of it as it is."""
        config, origin = training.step.config, self.model.origin
        if origin is None or origin.by != training.step.name:
            plain = config.get("init", "pretrained") == "pretrained"
            return plain and not config.get("frozen") and not config.get("without")
        parts = {*PurePath(self.model.source).parts, *PureWindowsPath(self.model.source).parts}
        if any(part.startswith(f"{_TRAINS}-") for part in parts):
            return training.step.id in parts
        recipe = origin.recipe
        return all(recipe.get(key) == value for key, value in config.items() if value is not None and key != "recipe")


def subject_of(answered: Sequence[Answered]) -> Subject | None:
    """The model that most questions were asked of, of those of which something can be said, and its task; None where
    nothing is about a model."""
    counts, records = Counter[str](), dict[str, "ModelRecord"]()
    seen: set[tuple[str, str]] = set()
    for one in _without_arms(answered):
        key = spoken_of(one.result)
        record = one.result.models[key]
        records.setdefault(record.id, record)
        if (record.id, one.result.question) not in seen:
            seen.add((record.id, one.result.question))
            counts[record.id] += _TRAINED_COUNTS if record.is_one_training else 1
    likely = sorted(counts, key=lambda id: (records[id].is_random, -counts[id]))
    found = [Subject(records[id], _task(records[id], answered)) for id in likely]
    return next((one for one in found if one.says(answered)), next(iter(found), None))


def _task(model: ModelRecord, answered: Sequence[Answered]) -> str:
    """What it was trained on, where something is asked on that; else what most was asked on."""
    tasks = Counter(
        one.result.subject.get("task", "") for one in answered
        if (key := spoken_of(one.result)) and one.result.models[key].is_same(model)
    )  # fmt: skip
    trained = model.trained_on
    if trained and trained.name in tasks:
        return trained.name
    return max(tasks, key=lambda task: (bool(task), tasks[task]), default="")


def _without_arms(answered: Sequence[One]) -> list[One]:
    """What finds something about a model, without what an answer about another model was made of."""
    about = [one for one in answered if _finds(one) and one.result.models]
    arms = {
        part.id: one.result.models[spoken_of(one.result)]
        for one in about if registry.QUESTIONS[one.result.question].group == "training"
        for part in lineage.ancestors(one.step)
    }  # fmt: skip
    return [
        one for one in about
        if one.step.id not in arms or arms[one.step.id].is_same(one.result.models[spoken_of(one.result)])
    ]  # fmt: skip


def _finds(one: Answered) -> bool:
    entry, question = registry.QUESTIONS.get(one.result.question), registry.still_declared(one.result.question)
    return entry is not None and bool(entry.group) and question is not None and question.keeps != "states"


def _in_order(answered: Iterable[One]) -> list[One]:
    """In the catalogue's order, and of a question the first made: the same whatever order a store has."""
    places = {name: place for place, name in enumerate(registry.QUESTIONS)}
    known = [one for one in answered if one.result.question in places]
    return sorted(known, key=lambda one: (places[one.result.question], one.step.id))
