"""What `similarity` compares: the same words in two spaces, a space being one layer of one checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from bertscope.analyses.occurrences import common_words, owners
from bertscope.analyses.similarity.measures import cka, plain_cosine, rsa
from bertscope.core.resampling import group_bounds
from bertscope.models.evaluating import best_device

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.states_store import StatesStore

RSA, CKA, PLAIN = "RSA", "CKA", "plain cosine (defeated by rotation)"


@dataclass(frozen=True)
class Corpus:
    """Some texts, and what every checkpoint makes of them."""

    name: str
    stores: dict[str, StatesStore]
    examples: Examples
    seed: int

    @cached_property
    def words(self) -> np.ndarray:
        """[checkpoint, word]: the rows of the words that all have, in a random order."""
        return common_words(self.stores, self.examples, self.seed)

    def size(self, asked: int) -> int:
        """How many words are compared: as many as asked for, or all there are."""
        return min(asked, self.words.shape[1])


@dataclass(frozen=True, order=True)
class Space:
    checkpoint: str
    layer: int


@dataclass(frozen=True)
class Sides:
    """Two spaces to compare."""

    one: Space
    other: Space
    pair: str
    """What tables call the two checkpoints."""


def by_layer(stores: dict[str, StatesStore], which: str) -> list[Sides]:
    """Layer k of one checkpoint beside layer k of another; of a single checkpoint each layer beside the one below."""
    if len(stores) == 1:
        name, store = next(iter(stores.items()))
        return [Sides(Space(name, layer), Space(name, below), name) for below, layer in pairwise(store.layers)]
    return [
        Sides(Space(one, layer), Space(other, layer), f"{one} and {other}")
        for one, other in _pairs(stores, which)
        for layer in stores[one].layers
        if layer in stores[other].layers
    ]


def every_two_layers(stores: dict[str, StatesStore], which: str) -> list[Sides]:
    """Within each checkpoint, and between those that are compared."""
    within = [(name, name) for name in stores]
    return [
        Sides(Space(one, layer), Space(other, beside), one if one == other else f"{one} · and {other}")
        for one, other in [*within, *_pairs(stores, which)]
        for layer in stores[one].layers
        for beside in stores[other].layers
    ]


def three_layers(sides: Sequence[Sides]) -> list[Sides]:
    """The lowest, the middle and the highest block of each pair."""
    chosen = []
    for pair in dict.fromkeys(each.pair for each in sides):
        blocks = [each for each in sides if each.pair == pair and each.one.layer > 0]
        chosen += [blocks[at] for at in sorted({0, (len(blocks) - 1) // 2, len(blocks) - 1})]
    return chosen


def _pairs(stores: dict[str, StatesStore], which: str) -> list[tuple[str, str]]:
    return [pair for pair in combinations(stores, 2) if which == "all" or pair[0] == next(iter(stores))]


class Sample:
    """The same n words in every space of a corpus."""

    def __init__(self, corpus: Corpus, n: int, groups: int) -> None:
        rows = corpus.words[:, :n]
        rows = rows[:, np.argsort(rows[0])]  # a text's words together again
        self._stores, self._rows = corpus.stores, dict(zip(corpus.stores, rows, strict=True))
        first = next(iter(corpus.stores.values()))
        self._edges = group_bounds(owners(first)[rows[0]], groups)

    def compare(self, sides: Sequence[Sides], *, plain: bool = False) -> dict[str, np.ndarray]:
        """The draws [1 + groups, comparison] of RSA and CKA; if asked for, also of the plain cosine, which is NaN
        between spaces of different width."""
        spaces = sorted({space for each in sides for space in (each.one, each.other)})
        place = {space: at for at, space in enumerate(spaces)}
        vectors = [self._vectors(space) for space in spaces]
        pairs = [(place[each.one], place[each.other]) for each in sides]
        found = {RSA: rsa(vectors, pairs, self._edges), CKA: cka(vectors, pairs, self._edges)}
        alike = [at for at, (one, other) in enumerate(pairs) if vectors[one].shape == vectors[other].shape]
        if plain and alike:
            found[PLAIN] = np.full_like(found[RSA], np.nan)
            found[PLAIN][:, alike] = plain_cosine(vectors, [pairs[at] for at in alike], self._edges)
        return found

    def _vectors(self, space: Space) -> torch.Tensor:
        rows = self._rows[space.checkpoint]
        return torch.from_numpy(self._stores[space.checkpoint].vectors(space.layer)[rows]).to(best_device())
