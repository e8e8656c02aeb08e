"""Where models and data come from, as steps tell it: what a step rests on, down to what existed before any step.

A model is a root, or the step that made it. What an input is, its question declares: no name of an input is known
here. Nothing is in words: who shows a model, or what it was trained on, names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from bertscope.core import registry
from bertscope.core.question import DATA
from bertscope.core.step import Root, Step


class _OfStep(Protocol):
    @property
    def step(self) -> Step: ...


Answer = TypeVar("Answer", bound=_OfStep)


def newest(answers: Iterable[Answer]) -> list[Answer]:
    """Each answer once: of those to the same inputs and settings that of the newest version of the question, and of
    several of that version the first."""
    by_recipe: dict[str, Answer] = {}
    for answer in answers:
        recipe = replace(answer.step, version=0).id
        if recipe not in by_recipe or by_recipe[recipe].step.version < answer.step.version:
            by_recipe[recipe] = answer
    return list(by_recipe.values())


def ancestors(step: Step) -> list[Step]:
    """The steps that it rests on, directly or not, each once: an input's own ones before the next input's."""
    found: dict[str, Step] = {}

    def add(one: Step) -> None:
        for needed in one.before():
            if needed.id not in found:
                found[needed.id] = needed
                add(needed)

    add(step)
    return list(found.values())


def roots(step: Step, *kinds: str) -> list[Root]:
    """What it began with, or its ancestors did: models, data, results. Each once, in the order in which the inputs
    name them; only those of some kinds, if any is given."""
    found: dict[tuple[str, str], Root] = {}  # what lies in two places is named by both
    visited = set[str]()

    def add(one: Step | Root) -> None:
        if isinstance(one, Root):
            if not kinds or one.kind in kinds:
                found.setdefault((one.id, one.source), one)
        elif one.id not in visited:
            visited.add(one.id)
            for value in one.inputs.values():
                add(value)

    add(step)
    return list(found.values())


def reads_results(step: Step) -> bool:
    """Whether it compares what other steps found."""
    return any(kind == "result" for _, kind, _ in _inputs(step))


def models_read(step: Step) -> list[Step | Root]:
    """The models that a step reads, or whose hidden states it reads: one for each such input, in their order. With
    random weights too, or on a second corpus, a model is there again."""
    found: list[Step | Root] = []
    for _, kind, value in _inputs(step):
        if registry.is_model(kind):
            found.append(value)
        elif kind == "states" and isinstance(value, Step):
            found += models_read(value)
    return found


def data_read(step: Step, *, but: Collection[str] = ()) -> list[Root]:
    """The data that a step reads, apart from inputs of the names in `but`; if it reads none, what those that it needs
    do."""
    own = [
        value for name, kind, value in _inputs(step)
        if isinstance(value, Root) and kind in DATA and name not in but
    ]  # fmt: skip
    return own or [root for needed in step.before() for root in data_read(needed, but=but)]


def descent(model: Step | Root) -> Iterator[Step | Root]:
    """A model, the one that it was made from, and so on down to the base, which is a root; what ends with a step was
    made from no model.

    >>> tuned = Step("finetune", 1, {}, {"base": Root("model", "pocket", "1"), "task": Root("task", "rte", "2")})
    >>> [one.id.partition("-")[0] for one in descent(Step("shrink", 1, {}, {"model": tuned}))]
    ['shrink', 'finetune', 'model']
    """
    yield model
    if isinstance(model, Step):
        required = registry.find(model.name).inputs
        parent = next((model.inputs[name] for name, one in required.items()
                       if registry.is_model(one.kind) and name in model.inputs), None)  # fmt: skip
        if parent is not None:
            yield from descent(parent)


def base(model: Step | Root) -> Root | None:
    """What a model began as: the pretrained one, or whatever was given; None if it was made from no model."""
    *_, last = descent(model)
    return last if isinstance(last, Root) else None


def _inputs(step: Step) -> Iterator[tuple[str, str, Step | Root]]:
    """Each input's name, what it is for the question, and the input. A stored step may have one that its question has
    no more: a root then says itself what it is, and of a step it reads the result."""
    question = registry.find(step.name)
    for name, value in step.inputs.items():
        if question.takes(name):
            yield name, question.input(name).kind, value
        else:
            yield name, value.kind if isinstance(value, Root) else "result", value
