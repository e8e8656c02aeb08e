"""What a result rests on: the models and data at the beginning of its steps. The page's switch chooses among them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bertscope.core.step import Root, Step

_DATA = ("task", "examples", "data")


def models(step: Step) -> list[str]:
    """The pretrained models (or folders) it began with, whatever became of them on the way."""
    return sorted({_named(root.source) for root in _roots(step) if root.kind == "model"})


def tasks(step: Step) -> list[str]:
    """The tasks and corpora it read, in training or in measuring."""
    return sorted({_named(root.source.partition("@")[0]) for root in _roots(step) if root.kind in _DATA})


def one_seed(step: Step) -> bool:
    """Whether it is an experiment over trainings of which there is only one."""
    seeds = step.config.get("seeds")
    return isinstance(seeds, (list, tuple)) and len(seeds) == 1


def _roots(step: Step) -> Iterator[Root]:
    for value in step.inputs.values():
        if isinstance(value, Root):
            yield value
        else:
            yield from _roots(value)


def _named(source: str) -> str:
    """Names and hub ids as they are; of a path, which says where somebody's files lie, the last part."""
    return Path(source).name if Path(source).is_absolute() else source
