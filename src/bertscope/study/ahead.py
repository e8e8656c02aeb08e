"""The data of a study is read before its first step starts: what is wrong with it is told at once, with its line."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from bertscope.core.inputs import Inputs
from bertscope.core.step import Root, Step
from bertscope.core.store import Store
from bertscope.study.file import Study
from bertscope.study.graph import graph


def read_ahead(study: Study, store: Store) -> Inputs:
    """Read the data of the steps still to be made; what was read last stays open for them. Loads no torch."""

    def blamed(one: Step | Root) -> AbstractContextManager[None]:
        place = study.places.get(one.id) or (study.places.get(one.source) if isinstance(one, Root) else None)
        return place.blamed() if place else nullcontext()

    inputs = Inputs(store.path)
    inputs.read_ahead((step for step in graph(study.steps, store.has).values() if not store.has(step)), blamed)
    return inputs
