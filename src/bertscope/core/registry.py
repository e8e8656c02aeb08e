"""What is known by name: questions, and the kinds of things they are asked of.

Nothing is named here. `bertscope.catalogue`, at the package's top, knows the rooms and fills this in before anything
else of the package is imported, so that `core` can look up what it may not import.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from bertscope.core.question import Question

Group = Literal["rows", "attention", "parts", "layers", "training", "smaller", "stored"]


@dataclass(frozen=True)
class Entry:
    """A question's line in the catalogue."""

    folder: str
    """The package, or module, that declares it; its last word is the name, with hyphens for underscores."""
    line: str
    """The question it answers, as help and the page's headings print it."""
    group: Group | None = None
    """What it does: under which heading help lists its command. None: it is a step of some experiment."""

    @property
    def name(self) -> str:
        return self.folder.rpartition(".")[2].replace("_", "-")


@dataclass(frozen=True)
class Kind:
    """A kind of thing that questions are asked of. Each value is a target, `module:name`."""

    open: str
    """From a name, a path, or what Python users hold (a transformers model, a list of texts), and how it is read, to
    what `measure` gets."""
    root: str = ""
    """From the same to its identity; none where it is always made by a step."""
    accept: str = ""
    """What does that where users give something else than what a step has stored: a model, of which hidden states
    are to be had."""
    reading: str = ""
    """How it is read, as a dataclass of options, where that is data read otherwise than tasks are."""
    folder: str = ""
    """What a folder that holds one is by its seal; none where it is no folder of ours. No target."""


QUESTIONS: dict[str, Entry] = {}
"""By name, in the order in which the page tells them."""
KINDS: dict[str, Kind] = {}
SERVICES: dict[str, str] = {}
"""What core offers and another room does: `chart` draws a figure, `stored answer` plans, runs and stores a call."""


def fill(questions: Mapping[str, Entry], kinds: Mapping[str, Kind], services: Mapping[str, str]) -> None:
    """Make these known."""
    QUESTIONS.update(questions)
    KINDS.update(kinds)
    SERVICES.update(services)


def is_model(kind: str) -> bool:
    """Whether things of that kind are models: what a step keeps as a model serves as one."""
    return kind in KINDS and KINDS[kind].folder == "model"


def reading_options(kind: str) -> type:
    """The options that say how data of that kind is read, as commands and calls have them."""
    return resolve(KINDS[kind].reading or SERVICES["reading_options"])


def find(name: str) -> Question:
    """The question of that name, as it is declared."""
    if name not in QUESTIONS:
        raise UserError(f"no question {name!r}; {did_you_mean(name, QUESTIONS)}")
    return declared_in(QUESTIONS[name].folder)


def still_declared(name: str) -> Question | None:
    """What a question's code says of itself; a stored result outlives its code, and is shown without it."""
    try:
        return find(name)
    except (UserError, ImportError, AttributeError):
        return None


def declared_in(folder: str) -> Question:
    """The question that a package declares in its `question.py`, or a module itself."""
    module = importlib.import_module(folder)
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{folder}.question")
    return getattr(module, folder.rpartition(".")[2])


def resolve(target: str) -> Any:
    """The object that a `module:name` target names."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def opened(kind: str, value: Any, how: Mapping[str, Any] | None) -> Any:
    """What a question is given: a name or a path, opened, or what Python users hold."""
    known = KINDS[kind]
    if how is None and not isinstance(value, str | Path):
        return value
    return resolve(known.accept or known.open)(str(value) if isinstance(value, Path) else value, **how or {})
