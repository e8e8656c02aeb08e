"""A model's tags and a task's: which of them are the same.

They are matched by name, whatever the case and the order. Where a model ends entities with tags of their own
(`E-PER`, `S-PER`) these are what IOB2 has for them. What only one side has stays: a task's tag that the model lacks
is never predicted, and a model's that the task lacks is never right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.output import SILENT
from bertscope.data.outputs.label_names import NUMBERED
from bertscope.data.tag_schemes import with_types

_AS_IOB2 = {"S": "B", "U": "B", "E": "I", "L": "I"}
_SHOWN = 12


@dataclass(frozen=True)
class TagMatch:
    """Where a model has each tag of a task; and behind these, if it has others, those that `other_tags` names."""

    places: tuple[tuple[int, ...], ...]
    """Several that mean the same are one tag, and their probabilities add up; none where the model lacks it."""
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether they are all the same, in the same order."""
        return self.places == tuple((at,) for at in range(len(self.places)))

    def ordered(self, outputs: np.ndarray) -> np.ndarray:
        """The model's numbers [..., c] in the task's order."""
        if self.is_plain:
            return outputs
        columns = [
            np.logaddexp.reduce(outputs[..., list(at)], axis=-1) if at else np.full(outputs.shape[:-1], SILENT)
            for at in self.places
        ]
        return np.stack(columns, axis=-1).astype(outputs.dtype)


def match_tags(names: Sequence[str], labels: Sequence[str], task: str) -> TagMatch:
    """Match what a model calls its tags with the labels of a task, which messages call `task`."""
    theirs, mine = ([name.strip().casefold() for name in side] for side in (names, labels))
    if theirs == mine:
        return TagMatch(tuple((at,) for at in range(len(mine))))
    if all(map(NUMBERED.fullmatch, theirs)) and len(theirs) == len(mine):
        pairs = ", ".join(f"{one} is {other}" for one, other in zip(names, labels, strict=True))
        return TagMatch(tuple((at,) for at in range(len(mine))), (f"tags matched by their order: {pairs}",))
    entities = speak_of_entities(labels)
    if entities:
        theirs = [_as_iob2(name) for name in with_types([[name.strip() for name in names]])[0]]
    if not set(theirs) & set(mine) - {"o"}:
        raise UserError(
            f"the model's tags are {_some(names)}, and those of {task} {_some(labels)}; rename them in the data, or "
            "id2label in the model's config.json, or fine-tune it on this task"
        )
    places = [tuple(at for at, one in enumerate(theirs) if one == name) for name in mine]
    lacks = [label for label, at in zip(labels, places, strict=True) if not at]
    other = [at for at, one in enumerate(theirs) if one not in mine]
    types = [name.casefold() for name in types_of(labels)] if entities else []
    further = _others(theirs, other, types, entities) if other else []
    return TagMatch((*places, *further), _notes(task, lacks, [names[at] for at in other]))


def other_tags(labels: Sequence[str], places: int) -> list[str]:
    """What stands behind a task's labels at so many places: first all that is no entity, then, to begin and to go on,
    each type of entity that the task has and each that it lacks. A model may go on with what the task only begins.

    >>> other_tags(("O", "B-LOC"), 5)
    ['O', 'B-LOC', 'I-LOC', 'B-another 1', 'I-another 1']
    """
    own = types_of(labels)
    lacks = [f"another {at}" for at in range(1, max(places - 1, 0) // 2 - len(own) + 1)]
    return ["O", *(f"{letter}-{name}" for name in (*own, *lacks) for letter in "BI")]


def types_of(labels: Sequence[str]) -> list[str]:
    """The types of entities that IOB2 tags name.

    >>> types_of(("O", "B-PER", "I-PER", "B-LOC"))
    ['LOC', 'PER']
    """
    return sorted({label[2:] for label in labels if label != "O"})


def speak_of_entities(labels: Sequence[str]) -> bool:
    """Whether tags are IOB2.

    >>> speak_of_entities(("O", "B-PER", "I-PER")), speak_of_entities(("NOUN", "VERB"))
    (True, False)
    """
    return any(label != "O" for label in labels) and all(
        label == "O" or (label[:2] in ("B-", "I-") and len(label) > 2) for label in labels
    )


def _others(
    theirs: Sequence[str], other: Sequence[int], types: Sequence[str], entities: bool
) -> list[tuple[int, ...]]:
    """Where the model has what the task lacks, in the order of `other_tags`."""
    typed = [at for at in other if entities and theirs[at][:2] in ("b-", "i-")]
    lacks = sorted({theirs[at][2:] for at in typed} - set(types))
    named = (letter + name for name in (*types, *lacks) for letter in ("b-", "i-"))
    return [
        tuple(at for at in other if at not in typed),
        *(tuple(at for at in typed if theirs[at] == name) for name in named),
    ]


def _as_iob2(name: str) -> str:
    letter, _, type = name.partition("-")
    letter = _AS_IOB2.get(letter.upper(), letter) if type else letter
    return (f"{letter}-{type}" if type else letter).casefold()


def _notes(task: str, lacks: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if lacks:
        notes.append(
            f"the model has no {_some(lacks)}, which {task} has: such words are never right, and no part of the loss"
        )
    if other:
        notes.append(f"{task} has no {_some(other)}, which the model has: what it predicts of them is wrong")
    return tuple(notes)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} others" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
