"""What is to be computed, and its identity.

A step's id is its name, its version and the hash of its config and of its inputs' ids. Roots (a model folder,
a data file) are identified by content, derived things by their recipe: so a file that moves is still the same
file, and a result is found again by what made it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bertscope.core.files import canonical_json, digest_text, stamp

FILE = "step.json"
"""Where a stored step's folder says what it is."""
FORMAT = 4
"""Of what a stored step's folder holds: its files, and the words in them. Raise it when what was stored before
can't be read any more."""


@dataclass(frozen=True)
class Root:
    """Something that exists already: a model or a data set, by what it holds."""

    kind: str
    """`model` or `task`."""
    source: str
    """Where it is found: what `load` or `read_task` is given. Not part of the identity."""
    digest: str
    """What it holds."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it is read: columns, limit, seed."""
    held: Any = field(default=None, compare=False, repr=False)
    """The thing itself, where it was given as an object of this process: it is opened from that, not by its name."""

    @property
    def given(self) -> Any:
        """What it is opened from, and its identity is taken of: the object, or where it is found."""
        return self.source if self.held is None else self.held

    @property
    def id(self) -> str:
        return f"{self.kind}-{digest_text(canonical_json([self.kind, self.digest, dict(self.options)]))}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "source": self.source,
            "digest": self.digest,
            "options": dict(self.options),
        }


@dataclass(frozen=True)
class Step:
    """One computation: a question, its config and its inputs."""

    name: str
    version: int
    config: Mapping[str, Any]
    inputs: Mapping[str, Step | Root]

    @cached_property
    def id(self) -> str:
        inputs = {name: value.id for name, value in self.inputs.items()}
        recipe = [self.name, self.version, dict(self.config), inputs]
        return f"{self.name}-{digest_text(canonical_json(recipe))}"

    def __repr__(self) -> str:
        return f"<Step {self.id}>"

    def before(self) -> Iterator[Step]:
        """The steps this one needs, directly."""
        return (value for value in self.inputs.values() if isinstance(value, Step))

    def to_json(self) -> dict[str, Any]:
        inputs = {name: value.to_json() for name, value in self.inputs.items()}
        return {"name": self.name, "version": self.version, "config": dict(self.config), "inputs": inputs}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Step:
        inputs: dict[str, Step | Root] = {
            name: cls.from_json(value) if "name" in value else Root(**value)
            for name, value in record["inputs"].items()
        }
        return cls(record["name"], record["version"], record["config"], inputs)


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


def is_current(marker: Path) -> bool:
    """Whether this step is one that this version can read; asked of every step, several times in a run."""
    return format_of(marker) == FORMAT


def format_of(marker: Path) -> int | None:
    """The format of a stored step; that of those that don't say it is 1, and None that of what can't be read."""
    try:
        return _format_of(marker, stamp(marker))
    except OSError:
        return None


@lru_cache(maxsize=10_000)
def _format_of(marker: Path, stamp: tuple[int, ...]) -> int | None:
    try:
        return json.loads(marker.read_text(encoding="utf-8")).get("format", 1)
    except (ValueError, AttributeError):
        return None
