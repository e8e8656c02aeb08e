"""All the steps that some answers rest on, each once."""

from __future__ import annotations

from collections.abc import Iterable

from bertscope.core.step import Step


def graph(steps: Iterable[Step]) -> dict[str, Step]:
    """Every step once, by its id, inputs before those who need them."""
    found: dict[str, Step] = {}

    def add(step: Step) -> None:
        if step.id not in found:
            for needed in step.before():
                add(needed)
            found[step.id] = step

    for step in steps:
        add(step)
    return found
