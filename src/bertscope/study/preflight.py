"""The data of a study is read before its first step starts: what is wrong with it is told at once, with its line."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from bertscope.core.inputs import Inputs
from bertscope.core.step import Root, Step, graph
from bertscope.core.store import Store
from bertscope.study.file import Study
from bertscope.study.located_yaml import Located


def preflight(study: Study, store: Store) -> Inputs:
    """Read the data of the steps still to be made; what was read last stays open for them. Loads no torch."""
    places = _places(study)

    def blamed(one: Step | Root) -> AbstractContextManager[None]:
        return places[one.id].blamed() if one.id in places else nullcontext()

    inputs = Inputs(store.path)
    inputs.preflight((step for step in graph(study.steps, store.has).values() if not store.has(step)), blamed)
    return inputs


def _places(study: Study) -> dict[str, Located]:
    """Where the file speaks of each step and root, by id: where it names it, or another part or cut of the same data,
    or else where it asks the first question that rests on it."""
    found = dict(study.places)
    for answer in (step for step in study.steps if step.id in study.places):
        for step in graph([answer]).values():
            found.setdefault(step.id, study.places[answer.id])
            for root in (value for value in step.inputs.values() if isinstance(value, Root)):
                found.setdefault(root.id, study.places.get(root.source, study.places[answer.id]))
    return found
