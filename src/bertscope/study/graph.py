"""All the steps of a study, in an order in which they can be made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bertscope.core.step import Step


def graph(steps: Sequence[Step], stored: Callable[[Step], bool] | None = None) -> dict[str, Step]:
    """Every step once, by its id, after the steps it needs. What a `stored` one was made of isn't needed."""
    found: dict[str, Step] = {}

    def add(step: Step) -> None:
        if step.id in found:
            return
        if stored is None or not stored(step):
            for needed in step.before():
                add(needed)
        found[step.id] = step

    for step in steps:
        add(step)
    return found
