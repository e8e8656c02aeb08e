"""What is known of a model: what it is (the digest of its content) and where it came from.

It is recorded once, by whoever makes the model, inside the model's own config; results carry it along. A name is for
eyes: nothing is looked up by it, and nothing is read off it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from bertscope.core.files import canonical_json, digest_text

Thing = TypeVar("Thing", bound="Recorded")
Init = Literal["pretrained", "random"]
_TRAINED = ("classifier", "token-classifier", "span-qa", "parser", "multiple-choice")
"""Task heads that only a training on labelled data gives."""


@dataclass(frozen=True)
class DataRecord:
    """What a model was trained on."""

    id: str
    """The digest of what it learned from."""
    name: str
    kind: str = ""
    """What was learned: `classification`, `regression`, `spans`, `trees`; `texts` where nothing was labelled."""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Origin:
    """How a model was made."""

    by: str = ""
    """The question that made it, `random` for weights that were drawn, `cut` for parts taken away; empty: somebody
    else, of whose work only the base is known."""
    base: ModelRecord | None = None
    """What it began as."""
    data: DataRecord | None = None
    seed: int | None = None
    init: Init = "pretrained"
    """Whether it began with the base's weights, or with random ones."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """Epochs, learning rate and what else was set."""
    frozen: str = ""
    removed: str = ""
    """Layers that were held still, or left out."""
    step: int | None = None
    """Of a checkpoint along a training: after how many of its steps. None: at its end."""


@dataclass(frozen=True)
class ModelRecord:
    """A model, as results and other models' records speak of it."""

    id: str
    """The digest of its content; empty where only the name is known."""
    name: str
    origin: Origin | None = None
    """None: not recorded."""
    task_head: str = "none"
    source: str = ""
    """Where it was found: a folder, a hub id. Empty: in memory."""
    made: str = ""
    """When its weights were written, in UTC (ISO 8601). Empty: not known."""
    content: str = ""
    """The digest of its weights, config and tokenizer in memory: the same whether it was read from files or not."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ModelRecord:
        """What `to_json` gave; what a newer version has noted beside it is left out."""
        known = {name: value for name, value in record.items() if name in cls.__dataclass_fields__}
        return cls(**(known | {"origin": _origin(record.get("origin"))}))

    def wherever(self) -> ModelRecord:
        """The same without where it was found, and when it was written."""
        return replace(self, source="", made="")

    def descent(self) -> Iterator[ModelRecord]:
        """The model, what it was made from, and so on, as far as that is recorded."""
        yield self
        if self.origin and self.origin.base:
            yield from self.origin.base.descent()

    @property
    def first(self) -> ModelRecord:
        """The pretrained model that it was made from, or is; one that is known by its name alone doesn't count."""
        *_, first = [self, *(one for one in self.descent() if one.id)]
        return first

    @property
    def origins(self) -> list[Origin]:
        """How it, and what it was made from, was made: the last first."""
        return [one.origin for one in self.descent() if one.origin]

    @property
    def is_random(self) -> bool:
        """Whether it began with random weights, or has nothing else."""
        return any(origin.init == "random" or origin.by == "random" for origin in self.origins)

    @property
    def is_one_training(self) -> bool:
        """Whether what is found of it is found of one training: another could give something else. Of a model from
        elsewhere, its task head says so."""
        return any(origin.data for origin in self.origins) or self.task_head in _TRAINED

    @property
    def trained_on(self) -> DataRecord | None:
        """What its last training read."""
        return next((origin.data for origin in self.origins if origin.data), None)

    def came_of(self, other: ModelRecord) -> bool | None:
        """Whether it was made from the other one; None where it isn't recorded, or not surely, what it was made
        from."""
        *_, last = chain = list(self.descent())
        if any(one.is_same(other) for one in chain[1:]):
            return True
        # What lies where the base lay may have been written to since: that it is another content proves nothing.
        replaced = any(one.source and one.source == other.source for one in chain[1:])
        return None if last is self or not last.id or replaced else False

    def is_same(self, other: ModelRecord) -> bool:
        """By content; where that isn't known, by where it is found."""
        if self.id and other.id:
            return self.id == other.id or bool(self.content and self.content == other.content)
        return bool(self.source) and self.source == other.source

    @property
    def place(self) -> str:
        """What trainings share that differ by their seed alone: base, data, recipe and step; of what was made
        otherwise, or isn't recorded, where it is found."""
        origin = self.origin
        if not origin or not origin.base or not origin.data:
            return self.source or self.id
        recipe = {name: value for name, value in origin.recipe.items() if name != "seed"}
        made = [origin.by, origin.init, origin.base.content or origin.base.id or origin.base.source, origin.data.id]
        made += [] if origin.step is None else [str(origin.step)]
        return digest_text(canonical_json([*made, recipe]))


class Recorded(Protocol):
    """What has a record: an encoder, its hidden states."""

    @property
    def record(self) -> ModelRecord: ...


def by_key(things: Iterable[Thing]) -> dict[str, Thing]:
    """Models, or their hidden states, by what tables and numbers call them: their ids; one that is given again gets a
    key of its own."""
    told = list(things)
    return dict(zip(records(told), told, strict=True))


def records(things: Iterable[Recorded]) -> dict[str, ModelRecord]:
    """Their records by these keys: what a result about them has as `models`. Each is made once: a model's weights are
    hashed for it."""
    found: dict[str, ModelRecord] = {}
    for record in (thing.record for thing in things):
        key, again = record.id, 2
        while key in found:
            key, again = f"{record.id}-{again}", again + 1
        found[key] = record
    return found


def _origin(record: Mapping[str, Any] | None) -> Origin | None:
    if record is None:
        return None
    known = {name: value for name, value in record.items() if name in Origin.__dataclass_fields__}
    base, data = record.get("base"), record.get("data")
    return Origin(**(known | {
        "base": ModelRecord.from_json(base) if base else None,
        "data": DataRecord(**(dict(data) | {"labels": tuple(data["labels"])})) if data else None,
    }))  # fmt: skip
