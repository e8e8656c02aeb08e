"""The rows of hidden states as `geometry` needs them: by text, by group of texts, and by word type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.occurrences import Texts, in_windows, owners, word_forms, word_keys
from bertscope.core.resampling import group_bounds, left_out

if TYPE_CHECKING:
    from bertscope.analyses.geometry.question import GeometryConfig
    from bertscope.models.states_store import StatesStore

# Sets of occurrences for MEV, of a type that counts in full, and of any words for the baseline. They are so many as
# the interval takes their luck for that of the texts, eight times over: a fifth of the sets lose a word with a group.
_SETS, _RANDOM_SETS = 128, 8192
_NEGLIGIBLE = 1e-6  # a type that counts less than this needs no sets
_ROWS = 8192  # rows read at a time


@dataclass(frozen=True)
class Words:
    """A word type is a word in lower case; only types with enough occurrences have a number."""

    edges: np.ndarray
    """Where groups of neighbouring texts begin, and the end."""
    group: np.ndarray
    """[row]"""
    text: np.ndarray
    """[row]: the text, counted through the corpus; a pair has two."""
    keys: np.ndarray
    """[row]: a hash to sample by."""
    types: np.ndarray
    """Each type as it is written, rare ones first."""
    counts: np.ndarray
    """[type]"""
    order: np.ndarray
    """The types' rows, type after type."""
    by_group: np.ndarray
    """[group, type]: how often each type occurs."""
    weights: np.ndarray
    """[1 + groups, type]: how much each type counts in means over types, in all texts and without each group: the
    chance that it has enough occurrences among as many words as `corpus` says, drawn of those that are there. What is
    a mean over the types of all texts moves with their number, as rarer types come in; this doesn't."""
    corpus: int
    """Of how many words that is; all, where there are fewer than were asked for."""
    sets: np.ndarray
    """[set, occurrence]: rows of one type, as many as a type needs, drawn at random."""
    type_of_set: np.ndarray
    """[set], from the first type to the last."""
    random_sets: np.ndarray
    """[set, occurrence]: random rows of any words."""

    def blocks(self) -> Iterator[tuple[int, int]]:
        """From which row to which, in blocks of about equal size: whole texts, of one group."""
        starts = np.flatnonzero(np.diff(self.text, prepend=-1))
        for begin, end in pairwise(self.edges):
            inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, end)]
            first = inside[np.unique(np.searchsorted(inside, np.arange(begin, end, _ROWS)).clip(max=len(inside) - 1))]
            yield from zip(first.tolist(), [*first[1:].tolist(), int(end)], strict=True)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """From which type to which, so that their rows are about as many as those of a block."""
        ends = np.cumsum(self.counts)
        begin = 0
        while begin < len(ends):
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _ROWS, side="right")))
            yield begin, end
            begin = end


def read_words(store: StatesStore, texts: Texts, config: GeometryConfig) -> Words:
    owner = owners(store)
    edges = group_bounds(owner, config.groups)
    keys, number, names = _written(store, texts, config.seed)
    counts = np.bincount(number)
    frequent = np.flatnonzero(counts >= config.least)
    kept = np.array(sorted(frequent, key=lambda one: (counts[one], names[one])), dtype=int)
    renumbered = np.full(len(counts), -1)
    renumbered[kept] = np.arange(len(kept))
    number = renumbered[number]
    order = np.lexsort((np.arange(len(number)), number))[(number < 0).sum() :]
    group = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    cell = group[order] * len(kept) + np.repeat(np.arange(len(kept)), counts[kept])
    by_group = np.bincount(cell, minlength=(len(edges) - 1) * len(kept)).reshape(len(edges) - 1, len(kept))
    weights = _weights(by_group, np.diff(edges), config)
    sets, type_of_set = _sets(number, keys, counts[kept], weights[0], config)
    return Words(
        edges=edges,
        group=group,
        text=np.cumsum(np.diff(2 * owner + store.segments, prepend=-1) != 0) - 1,
        keys=keys,
        types=names[kept],
        counts=counts[kept],
        order=order,
        by_group=by_group,
        weights=weights,
        corpus=min(config.words, len(store)),
        sets=sets,
        type_of_set=type_of_set,
        random_sets=np.sort(_some_of(np.full(_RANDOM_SETS if len(kept) else 0, len(store)), config)),
    )


def _written(store: StatesStore, texts: Texts, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[row] each: a hash to sample by, and the number of the word's type; and the types, in the order in which they
    first occur. Of the texts no more is held than comes at a time."""
    keys, numbers, known = [], [], dict[str, int]()
    for first, some in in_windows(texts):
        part = store.texts(first, first + len(some))
        keys.append(word_keys(part, some, seed))
        forms = (form.lower() for form in word_forms(part, some))
        numbers.append(np.fromiter((known.setdefault(form, len(known)) for form in forms), int, len(part)))
    return np.concatenate(keys), np.concatenate(numbers), np.array([*known], dtype=object)


def _weights(by_group: np.ndarray, sizes: np.ndarray, config: GeometryConfig) -> np.ndarray:
    """By the hypergeometric distribution: the mean over all ways to draw that many words of those that are there."""
    from scipy.stats import hypergeom

    there = left_out(sizes)[:, None]
    return hypergeom.sf(config.least - 1, there, left_out(by_group), np.minimum(config.words, there))


def _sets(
    number: np.ndarray, keys: np.ndarray, counts: np.ndarray, weights: np.ndarray, config: GeometryConfig
) -> tuple[np.ndarray, np.ndarray]:
    """Random sets of each type's rows, the more the more it counts; of one that has no more, the only one."""
    many = np.where(counts > config.least, np.ceil(_SETS * weights), 1) * (weights > _NEGLIGIBLE)
    types = np.repeat(np.arange(len(counts)), many.astype(int))
    order = np.lexsort((keys, number))[(number < 0).sum() :]  # by a hash: the order of the texts doesn't matter
    first = np.cumsum(counts) - counts
    return np.sort(order[first[types][:, None] + _some_of(counts[types], config)]), types


def _some_of(sizes: np.ndarray, config: GeometryConfig) -> np.ndarray:
    """[set, occurrence]: for each set as many different numbers under its size as a type needs occurrences (Floyd's
    way: a number that was drawn before gives place to the highest that could be drawn)."""
    generator = np.random.default_rng(config.seed)
    drawn = np.empty((len(sizes), config.least), int)
    for place in range(config.least):
        highest = sizes - config.least + place
        number = generator.integers(highest + 1)
        drawn[:, place] = np.where((drawn[:, :place] == number[:, None]).any(1), highest, number)
    return drawn
