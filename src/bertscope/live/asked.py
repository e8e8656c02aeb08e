"""What the page asks. Whoever needs both sides reads `messages`, which has what it is told, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Off = Literal["zero", "uniform", "mean"]
"""What a part that is off leaves behind; `mean` needs data to take it from."""
Order = Literal["wrong", "unsure", "file"]
Method = Literal["integrated", "gradient", "leave_out"]


@dataclass(frozen=True)
class Reading:
    """What both checkpoints read."""

    text: str
    pair: str | None = None
    """The second text; of questions, the text that they are asked of."""
    choices: list[str] = field(default_factory=list)
    """Candidates, where the model chooses among some."""


@dataclass(frozen=True)
class Change:
    """What is different in a checkpoint from what is on disk."""

    off: list[str] = field(default_factory=list)
    """Parts that are switched off: `head:4.2`, `mlp:5`, `layer:12`."""
    mode: Off = "zero"
    graft: list[str] = field(default_factory=list)
    """Parts that are taken from the other checkpoint: `head:4.2`, `heads:4` (a layer's attention), `mlp:5`,
    `layer:12`, `embeddings`."""


@dataclass(frozen=True)
class LookAt:
    reading: Reading
    changes: list[Change] = field(default_factory=list)
    """One for each checkpoint, in order; those that lack are as they are on disk."""
    maps: bool = True
    """Whether attention maps are wanted, too."""


@dataclass(frozen=True)
class Explain:
    reading: Reading
    changes: list[Change] = field(default_factory=list)
    method: Method = "integrated"
    towards: str | None = None
    """The label that is explained; by default what each checkpoint predicts."""
    word: int = 0
    """Of models that say something of each word: what they say of this one, from 1; 0: of the surest."""


@dataclass(frozen=True)
class Compare:
    readings: list[Reading]
    """At most ten."""
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True)
class Patch:
    """A word was changed: which part carries the difference?"""

    reading: Reading
    other: Reading
    """The same with another word in its place: as many tokens."""
    model: int = 0


@dataclass(frozen=True)
class AskRows:
    search: str = ""
    order: Order = "wrong"
    first: int = 0
    count: int = 20


@dataclass(frozen=True)
class AskHead:
    layer: int
    head: int
    model: int = 0
