"""The rows of hidden states as `geometry` needs them: by text, by group of texts, and by word type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.occurrences import owners, word_forms, word_keys
from bertscope.core.resampling import group_bounds

if TYPE_CHECKING:
    from bertscope.analyses.geometry.question import GeometryConfig
    from bertscope.core.examples import Examples
    from bertscope.models.states_store import StatesStore

_SETS = 32  # random sets of one size at most, behind the baseline of MEV
_ROWS = 8192  # rows read at a time


@dataclass(frozen=True)
class Sets:
    """Sets of as many occurrences each."""

    rows: np.ndarray
    """[set, occurrence]"""
    weight: float
    """How much each set counts."""


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
    sets: tuple[Sets, ...]
    """The types' occurrences by their number, in the order of the types; of frequent types a sample."""
    random_sets: tuple[Sets, ...]
    """Random occurrences of any words, in sets as large, and together as heavy."""

    @cached_property
    def by_group(self) -> np.ndarray:
        """[group, type]: how often each type occurs."""
        groups, types = len(self.edges) - 1, len(self.types)
        cell = self.group[self.order] * types + np.repeat(np.arange(types), self.counts)
        return np.bincount(cell, minlength=groups * types).reshape(groups, types)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """From which row to which, in blocks of about equal size: whole texts, of one group."""
        starts = np.flatnonzero(np.diff(self.text, prepend=-1))
        for begin, end in pairwise(self.edges):
            inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, end)]
            cuts = inside[np.unique(np.searchsorted(inside, np.arange(begin, end, _ROWS)).clip(max=len(inside) - 1))]
            yield from zip(cuts.tolist(), [*cuts[1:].tolist(), int(end)], strict=True)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """From which type to which, so that their rows are about as many as those of a block."""
        ends = np.cumsum(self.counts)
        begin = 0
        while begin < len(ends):
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _ROWS, side="right")))
            yield begin, end
            begin = end


def read_words(store: StatesStore, examples: Examples, config: GeometryConfig) -> Words:
    owner = owners(store)
    edges = group_bounds(owner, config.groups)
    keys = word_keys(store, examples, config.seed)
    number, names = pd.factorize(np.array([form.lower() for form in word_forms(store, examples)], dtype=object))
    counts = np.bincount(number)
    frequent = np.flatnonzero(counts >= config.least)
    kept = np.array(sorted(frequent, key=lambda one: (counts[one], names[one])), dtype=int)
    renumbered = np.full(len(counts), -1)
    renumbered[kept] = np.arange(len(kept))
    number = renumbered[number]
    order = np.lexsort((np.arange(len(number)), number))[(number < 0).sum() :]
    sets = _sets(number, keys, counts[kept], config.occurrences)
    return Words(
        edges=edges,
        group=np.repeat(np.arange(len(edges) - 1), np.diff(edges)),
        text=np.cumsum(np.diff(2 * owner + store.segments, prepend=-1) != 0) - 1,
        keys=keys,
        types=names[kept],
        counts=counts[kept],
        order=order,
        sets=sets,
        random_sets=_random_sets(sets, len(store), config.seed),
    )


def _sets(number: np.ndarray, keys: np.ndarray, counts: np.ndarray, most: int) -> tuple[Sets, ...]:
    """Each type's rows, by a hash the first `most` of them; types of the same number of rows together."""
    order = np.lexsort((keys, number))[(number < 0).sum() :]
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows, sizes = order[rank < most], counts.clip(max=most)
    found, start = [], 0
    for size, many in zip(*np.unique(sizes, return_counts=True), strict=True):
        found.append(Sets(np.sort(rows[start : start + size * many].reshape(many, size)), 1.0))
        start += size * many
    return tuple(found)


def _random_sets(sets: tuple[Sets, ...], n: int, seed: int) -> tuple[Sets, ...]:
    generator = np.random.default_rng(seed)
    drawn = []
    for many, size in (one.rows.shape for one in sets):
        few = min(many, _SETS)
        rows = [generator.choice(n, size, replace=False, shuffle=False) for _ in range(few)]
        drawn.append(Sets(np.sort(rows), many / few))
    return tuple(drawn)
