"""Named entities of tags, and how many of them are right.

Tags are IOB2: `B-PER` begins an entity, `I-PER` goes on with it, `O` is none. A model's tags need not be well formed.
Read leniently, as conlleval does and as published F1s are, an `I-PER` that nothing begins begins an entity itself.
Read strictly, only a `B-` begins one, and such words are none. The two are `seqeval`'s default and its mode `strict`
with the scheme IOB2.

An entity is right if its first word, its last word and its type are. Counts are kept by sentence: F1 is a function
of their sums, so that sentences can be resampled.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

COUNTED = ("right", "predicted", "gold")
"""What the last axis of counts has: entities that are right (true positives), those predicted, those there are."""
ERRORS = ("wrong_type", "wrong_boundary", "other_overlap", "missed", "spurious")


def entity_types(tags: Sequence[str]) -> tuple[str, ...]:
    """The types that IOB2 tags speak of, by the alphabet.

    >>> entity_types(("O", "B-PER", "I-PER", "B-LOC"))
    ('LOC', 'PER')
    """
    return tuple(sorted({_parts(tag)[1] for tag in tags if tag != "O"}))


def entities_in(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """The entities of one sentence's IOB2 tags, read leniently: first word, last word and type.

    >>> entities_in(("B-PER", "I-PER", "O", "I-LOC", "B-LOC"))
    [(0, 1, 'PER'), (3, 3, 'LOC'), (4, 4, 'LOC')]
    """
    names = sorted(set(tags))
    given = np.array([names.index(tag) for tag in tags], dtype=np.int64)
    found, types = _found(given, np.array([0, len(tags)]), names, strict=False), entity_types(names)
    return [(first, last, types[type]) for first, last, type in sorted(found.listed())]


def entity_counts(
    predicted: np.ndarray, gold: np.ndarray, starts: np.ndarray, tags: Sequence[str], strict: bool = False
) -> np.ndarray:
    """How many entities of each sentence are right, predicted and there: float64 [..., sentences, 3].

    `predicted` [..., words] and `gold` [words] are places in `tags`, sentence after sentence; sentence i has the
    words from `starts[i]` to `starts[i + 1]`. Gold is read in the same way as what is predicted.
    """
    return _counts(predicted, gold, starts, tags, strict, by_type=False)[..., 0, :]


def entity_counts_by_type(
    predicted: np.ndarray, gold: np.ndarray, starts: np.ndarray, tags: Sequence[str], strict: bool = False
) -> np.ndarray:
    """The same for each type in the order of `entity_types`: float64 [..., sentences, types, 3]."""
    return _counts(predicted, gold, starts, tags, strict, by_type=True)


def error_kinds(
    predicted: np.ndarray, gold: np.ndarray, starts: np.ndarray, tags: Sequence[str], strict: bool = False
) -> dict[str, int]:
    """How many entities are `right`, and how many go wrong in which way; each is used once.

    Right ones are set aside first. Of the rest, a predicted and a true entity are paired that have the same words
    and another type (`wrong_type`), then the same type and some word in common (`wrong_boundary`), then some word in
    common (`other_overlap`); `missed` true ones and `spurious` predicted ones remain. Each step makes as many pairs
    as there can be.
    """
    if np.ndim(predicted) != 1:
        raise ValueError("errors are told apart for one array of tags [words]")
    starts = np.asarray(starts)
    here, there = (_found(each, starts, tags, strict).listed() for each in (predicted, gold))
    right = here & there
    here, there = here - right, there - right
    found = {"right": len(right)}
    for kind, alike in _ALIKE.items():
        pairs = _paired(here, there, alike)
        here, there = here - {one for one, _ in pairs}, there - {other for _, other in pairs}
        found[kind] = len(pairs)
    return found | {"missed": len(there), "spurious": len(here)}


@dataclass(frozen=True)
class _Found:
    """The entities that tags have, each at its first word: [..., words]."""

    begins: np.ndarray
    last: np.ndarray
    """Where the entity that begins at a word has its last one."""
    type: np.ndarray
    """Of each word, counted from 0; -1 where it is outside."""

    def listed(self) -> set[_Entity]:
        """The entities of one array of tags."""
        first = np.flatnonzero(self.begins)
        columns = (first, self.last[first], self.type[first])
        return {_Entity(*one) for one in zip(*(column.tolist() for column in columns), strict=True)}


class _Entity(NamedTuple):
    first: int
    last: int
    type: int


def _found(given: np.ndarray, starts: np.ndarray, tags: Sequence[str], strict: bool) -> _Found:
    given, words = np.asarray(given), np.shape(given)[-1]
    if starts[0] != 0 or starts[-1] != words or np.any(np.diff(starts) < 0):
        raise ValueError(f"sentences begin at 0 and end at {words}, not at {starts[0]} and {starts[-1]}")
    if given.size and not (given.min() >= 0 and given.max() < len(tags)):
        raise ValueError(f"tags are places among {len(tags)} names, not {given.min()} to {given.max()}")
    types = entity_types(tags)
    parts = [_parts(tag) for tag in tags]
    inside = np.array([part == "I" for part, _ in parts], dtype=bool)[given]
    type = np.array([types.index(name) if part != "O" else -1 for part, name in parts], dtype=np.int16)[given]
    opens = np.isin(np.arange(words), starts)
    # An I goes on with the word before it if that is of its type, and in its sentence; otherwise it begins anew.
    goes_on = inside & ~opens
    goes_on[..., 1:] &= type[..., 1:] == type[..., :-1]
    begins = (type >= 0) & ~goes_on
    return _Found(begins & ~inside if strict else begins, _last(goes_on), type)


def _last(goes_on: np.ndarray) -> np.ndarray:
    """From each word on, the first one with which the next doesn't go on."""
    words = goes_on.shape[-1]
    places = np.where(goes_on[..., 1:], np.int32(words), np.arange(words - 1, dtype=np.int32))
    end = np.full_like(places, words - 1, shape=(*places.shape[:-1], 1))
    return np.minimum.accumulate(np.concatenate([places, end], axis=-1)[..., ::-1], axis=-1)[..., ::-1]


def _counts(
    predicted: np.ndarray, gold: np.ndarray, starts: np.ndarray, tags: Sequence[str], strict: bool, *, by_type: bool
) -> np.ndarray:
    """Counts [..., sentences, groups, 3], where all types are one group, or each its own."""
    starts = np.asarray(starts)
    here, there = (_found(each, starts, tags, strict) for each in (predicted, gold))
    at = np.flatnonzero(there.begins)
    right = here.begins[..., at] & (here.type[..., at] == there.type[at]) & (here.last[..., at] == there.last[at])
    begun = np.searchsorted(at, starts)  # the sentences' places among the true entities
    groups = range(len(entity_types(tags))) if by_type else (None,)
    counts = np.empty((*right.shape[:-1], len(starts) - 1, len(groups), len(COUNTED)))
    for place, group in enumerate(groups):
        one, other = (each.begins if group is None else each.begins & (each.type == group) for each in (here, there))
        of_group = right if group is None else right & (there.type[at] == group)
        counts[..., place, 0] = _sums(of_group, begun)
        counts[..., place, 1] = _sums(one, starts)
        counts[..., place, 2] = _sums(other, starts)
    return counts


def _sums(holds: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """How often something holds from each start to the next; also where that is nowhere."""
    running = np.zeros((*holds.shape[:-1], holds.shape[-1] + 1), dtype=np.int32)
    np.cumsum(holds, axis=-1, out=running[..., 1:])
    return np.diff(running[..., starts], axis=-1)


def _paired(
    here: Iterable[_Entity], there: Iterable[_Entity], alike: Callable[[_Entity], Any]
) -> list[tuple[_Entity, _Entity]]:
    """As many pairs as there can be of entities that are alike and have a word in common.

    Those of one side have no word in common with each other, so that it is enough to go from left to right and to
    pair the first two that meet: whatever else one of them could be paired with comes later.
    """
    groups = defaultdict[Any, tuple[deque[_Entity], deque[_Entity]]](lambda: (deque(), deque()))
    for place, side in enumerate((here, there)):
        for one in sorted(side):
            groups[alike(one)][place].append(one)
    pairs = []
    for left, right in groups.values():
        while left and right:
            if left[0].last < right[0].first:
                left.popleft()
            elif right[0].last < left[0].first:
                right.popleft()
            else:
                pairs.append((left.popleft(), right.popleft()))
    return pairs


def _parts(tag: str) -> tuple[str, str]:
    """O, B or I, and the type.

    >>> _parts("B-creative-work"), _parts("O")
    (('B', 'creative-work'), ('O', ''))
    """
    part, _, name = tag.partition("-")
    if part not in ("O", "B", "I") or (part == "O") != (not name):
        raise ValueError(f"{tag!r} is no IOB2 tag, such as O, B-PER or I-PER")
    return part, name


_ALIKE: dict[str, Callable[[_Entity], Any]] = {
    "wrong_type": lambda entity: (entity.first, entity.last),
    "wrong_boundary": lambda entity: entity.type,
    "other_overlap": lambda entity: None,
}
"""Which of two entities with a word in common each kind of error pairs: those of which this is the same."""
