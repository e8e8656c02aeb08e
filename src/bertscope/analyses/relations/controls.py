"""For pairs of words that stand in a relation, pairs that don't and are like them in all else that attention sees.

A control has the shape of its pair (the same distance), words of the same parts of speech, and ends of as many
pieces; no word of it is punctuation, and it stands in the relation in neither order. So alike, few pairs have a
control in their own sentence (one of twenty in English Web Treebank): it is looked for there first, then in the
sentence that is nearest in length and in the place of the pair. For a relation every sentence gives one thing at
most, a pair or a control, or both of one pair: so the differences are independent of one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, hashed_texts, mixed
from bertscope.data.features import plain_words

SENTENCES = 4096
"""Controls are looked for in so many sentences at most, a random choice: what is kept of them stays bounded."""
SAMPLE, _CONTROL = np.uint64(2**32 + 2), np.uint64(2**32 + 1)  # apart from the numbers of resamples

Span = tuple[int, ...]
Pair = tuple[str, Span, Span, bool]
"""Relation, source, target, and whether it is a frame's element to what evokes the frame."""


@dataclass(frozen=True)
class Controls:
    """Which pairs have a control, and where: an entry each, in the pairs' order."""

    pair: np.ndarray
    """Its place among all pairs of the corpus."""
    row: np.ndarray
    """The example that its control is in."""
    ends: list[tuple[Span, Span]]
    """The words of the control's source and target."""
    key: np.ndarray
    """A number of its own, by which it is exchanged with its control where nothing is to be found; uint64."""


def pair_keys(ids: Sequence[str], starts: np.ndarray, seed: int) -> np.ndarray:
    """A number for each pair, by its example's id and its place among the example's."""
    row = np.repeat(np.arange(len(ids)), np.diff(starts))
    within = (np.arange(len(row)) - starts[row]).astype(np.uint64)
    return mixed(mixed(hashed(ids, seed), _CONTROL)[row], within)


def matched_controls(
    found: Sequence[Sequence[Pair]], examples: Examples, pieces: np.ndarray, *, seed: int = 0
) -> Controls:
    """A control for as many pairs as can have one. `pieces` has of each word of the corpus the number of tokens, 0 in
    a text that no model reads whole."""
    starts = np.cumsum([0, *map(len, found)])
    keys = pair_keys(examples.ids, starts, seed)
    words = _Words(examples, pieces, seed)
    by_shape: defaultdict[tuple[Span, Span], dict[str, list[tuple[int, int, int]]]] = defaultdict(dict)
    for row, (pairs, start) in enumerate(zip(found, starts.tolist(), strict=False)):
        if not words.drawn[row]:
            continue
        for number, (name, source, target, _) in enumerate(pairs, start):
            first = min(*source, *target)
            shape = tuple(word - first for word in source), tuple(word - first for word in target)
            by_shape[shape].setdefault(name, []).append((number, row, first))
    pools: defaultdict[str, list[_Pool]] = defaultdict(list)
    for which, (shape, relations) in enumerate(by_shape.items()):
        at, alike = words.alike(shape)
        turned = by_shape.get((shape[1], shape[0]), {})
        for name, mine in relations.items():
            pool = words.pool(at, alike, np.array(mine), np.array([*mine, *turned.get(name, ())]), which)
            pools[name].append(pool)
    shapes = list(by_shape)
    chosen = sorted(entry for parts in pools.values() for entry in _assigned(parts, keys, words.groups))
    ends = []
    for _, which, place in chosen:
        first = place - words.starts[words.row[place]]
        ends.append(tuple(tuple(word + int(first) for word in span) for span in shapes[which]))
    pair = np.array([number for number, *_ in chosen], dtype=np.int64)
    host = words.row[np.array([place for *_, place in chosen], dtype=np.int64)]
    return Controls(pair, host, ends, keys[pair])  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Pool:
    """Pairs of one relation and shape, and the places that could be their controls. Both are [entry, (pair or place,
    shape, sentence, length, place in the sentence)], with what they must have in common apart."""

    pairs: np.ndarray
    pair_keys: np.ndarray
    places: np.ndarray
    place_keys: np.ndarray


class _Words:
    """The words of the sentences in which controls are looked for, end to end."""

    def __init__(self, examples: Examples, pieces: np.ndarray, seed: int) -> None:
        assert examples.words is not None
        sizes = np.array([len(words) for words in examples.words])
        self.starts = np.cumsum(sizes) - sizes  # of each example in the corpus
        texts = hashed_texts(examples.text, seed)
        names, first, group = np.unique(texts, return_index=True, return_inverse=True)
        least = np.sort(mixed(names, SAMPLE))[:SENTENCES][-1] if len(names) else 0
        self.drawn = mixed(texts, SAMPLE) <= least
        """Of each example, whether it is one of them."""
        self.groups = len(names)
        self.row = np.repeat(np.arange(len(sizes)), sizes)
        self._group, self._stands_for = group, first[group]  # equal texts are one sentence: the first stands for it
        self._kind, usable = _kinds(examples)
        self._pieces = pieces
        self._usable = usable & (pieces > 0) & self.drawn[self.row]
        self._usable_words = np.flatnonzero(self._usable)
        before = np.concatenate([[0], np.cumsum(pieces)])
        self._length = (before[self.starts + sizes] - before[self.starts])[self.row]
        self._place = before[:-1] - before[self.starts][self.row]

    def alike(self, shape: tuple[Span, Span]) -> tuple[np.ndarray, np.ndarray]:
        """The words at which two such spans can begin, and what a pair there must share with its control."""
        ends = self._usable_words + max(map(max, shape))
        inside = ends < len(self.row)
        at, ends = self._usable_words[inside], ends[inside]
        at = at[self.row[at] == self.row[ends]]
        spans = [at[:, None] + np.array(span) for span in shape]
        at_all = np.concatenate(spans, 1)
        fits = self._usable[at_all].all(1)
        signature = np.zeros(len(at), dtype=np.uint64)
        for word in at_all.T:
            signature = mixed(signature, self._kind[word])
        for span in spans:
            signature = mixed(signature, self._pieces[span].sum(1).astype(np.uint64))
        return at[fits], signature[fits]

    def pool(self, at: np.ndarray, alike: np.ndarray, pairs: np.ndarray, related: np.ndarray, shape: int) -> _Pool:
        """Of pairs [pair, (its place among all, example, first word)], those that can have controls, and the places
        that could be some: none of them where `related` pairs are. `at` and `alike` as `alike` gives them."""
        number, row, first = pairs.T
        mine = self.starts[row] + first
        whole = np.isin(mine, at)
        number, mine = number[whole], mine[whole]
        shared = mixed(alike, np.uint64(shape))
        of_pairs = shared[np.searchsorted(at, mine)]
        taken = self.starts[self._stands_for[related[:, 1]]] + related[:, 2]
        free = np.isin(shared, of_pairs) & (self._stands_for[self.row[at]] == self.row[at]) & ~np.isin(at, taken)
        places = at[free]
        return _Pool(
            self._described(number, mine, shape), of_pairs, self._described(places, places, shape), shared[free]
        )

    def _described(self, number: np.ndarray, at: np.ndarray, shape: int) -> np.ndarray:
        columns = number, np.full(len(at), shape), self._group[self.row[at]], self._length[at], self._place[at]
        return np.stack(columns, 1)


def _kinds(examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Of each word of a corpus its part of speech as a number, where the corpus tells it, and whether it may be in a
    control: it isn't punctuation."""
    usable = plain_words(examples)
    if "pos" not in examples.marks:
        return np.zeros(len(usable), dtype=np.uint64), usable
    _, kind = np.unique([tag for tags in examples.marks["pos"] for tag in tags], return_inverse=True)
    return kind.astype(np.uint64), usable


def _assigned(pools: Sequence[_Pool], keys: np.ndarray, groups: int) -> list[tuple[int, int, int]]:
    """Pairs of one relation with their controls: (pair, shape, place of the control). The nearest of those that are
    alike, in the pair's own sentence if there is any; no sentence is used twice."""
    pairs, places = (np.concatenate([getattr(pool, name) for pool in pools]) for name in ("pairs", "places"))
    pair_keys, place_keys = (
        np.concatenate([getattr(pool, name) for pool in pools]) for name in ("pair_keys", "place_keys")
    )
    order = np.lexsort((places[:, 4], places[:, 2], place_keys))
    places, place_keys = places[order], place_keys[order]
    low, high = (np.searchsorted(place_keys, pair_keys, side).tolist() for side in ("left", "right"))
    used = np.zeros(groups, dtype=bool)
    chosen: list[tuple[int, int, int]] = []
    by_chance = np.argsort(keys[pairs[:, 0]], kind="stable").tolist()
    for at_home in (True, False):
        for at in by_chance:
            number, shape, group, length, place = pairs[at].tolist()
            if used[group] or low[at] == high[at]:
                continue
            alike = places[low[at] : high[at]]
            free = alike[:, 2] == group if at_home else ~used[alike[:, 2]] & (alike[:, 2] != group)
            if not free.any():
                continue
            alike = alike[free]
            nearest = alike[(np.abs(alike[:, 3] - length) + np.abs(alike[:, 4] - place)).argmin()]
            used[[group, nearest[2]]] = True
            chosen.append((number, shape, int(nearest[0])))
    return chosen
