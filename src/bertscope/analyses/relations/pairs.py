"""The pairs of words, or of spans of words, that stand in a relation; their controls; and the two halves of a corpus.

A *unit* is a word or a span of several. An example's words are units 0, 1, ...; its spans are counted on from there.
Everything is in flat arrays, a pair an entry, in the examples' order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertscope.analyses.relations.question import ELEMENT, need_relations
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.hashing import hashed, hashed_texts, mixed, to_unit

OFFSETS = np.array([sign * far for far in range(1, 11) for sign in (-1, 1)])
"""Fixed offsets that a pair may be told by, the nearest first: of equally good ones the first is chosen."""
NONE = -1
_HALF, _CONTROL = np.uint64(2**32), np.uint64(2**32 + 1)  # apart from the numbers of resamples

Span = tuple[int, ...]
_Pair = tuple[str, Span, Span, bool]
"""Relation, source, target, and whether it is a frame's element to what evokes the frame."""


@dataclass(frozen=True)
class Pairs:
    """Every pair of a corpus. A source is a dependent or a frame's element, a target its governor or what evokes
    the frame."""

    names: tuple[str, ...]
    """The relations."""
    starts: np.ndarray
    """Where each example's pairs begin, and the last one's end."""
    relation: np.ndarray
    ends: np.ndarray
    """[pair, 2]: source and target, as units."""
    controls: np.ndarray
    """[pair, 2]: two units of the same example with the same words between them that don't stand in this relation; a
    random choice by the example's id. `NONE` where there are none."""
    near: np.ndarray
    """[pair, 2]: bit k is 1 where `OFFSETS[k]` leads from the source to the target, and from the target to the
    source. A span is left from its nearer end."""
    framed: np.ndarray
    """Whether it is a frame's element, not the tree's or own annotation's."""
    span_starts: np.ndarray
    """Where each example's spans begin in `word_starts`, and the last one's end."""
    word_starts: np.ndarray
    """Where each span's words begin in `span_words`, and the last one's end."""
    span_words: np.ndarray
    n_words: np.ndarray
    """How many words each example has."""
    chooses: np.ndarray
    """Whether the example is in the half that chooses heads, directions and offsets; by its text, so that a sentence
    that is there twice isn't in both halves."""


def gathered(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the entries of these rows are in a flat array, and for each the place of its row among `rows`."""
    counts = starts[rows + 1] - starts[rows]
    place = np.repeat(np.arange(len(rows)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[rows][place] + within, place


def collect_pairs(
    examples: Examples, *, subtypes: bool = False, core: bool = True, validation_share: float = 0.5, seed: int = 0
) -> Pairs:
    """The pairs that the trees and the links of a corpus tell.

    subtypes   keep `nsubj:pass` apart from `nsubj`
    core       leave out a frame's elements that aren't core
    """
    need_relations(examples)
    assert examples.words is not None
    found = [list(_annotated(examples, row, subtypes, core)) for row in range(len(examples))]
    if not any(found):
        why = "".join(f" ({note})" for note in links_left_out(examples, core=core))
        raise UserError(f"no word of these texts stands in a relation to another{why}; check the annotation")
    names = {name: at for at, name in enumerate(sorted({pair[0] for pairs in found for pair in pairs}))}
    starts = np.cumsum([0, *map(len, found)])
    chance = _chances(examples.ids, starts, seed)
    columns: list[tuple[int, ...]] = []
    spans: list[list[Span]] = []
    for words, pairs, start in zip(examples.words, found, starts.tolist(), strict=False):
        units = _Units(len(words))
        controls = _controls(pairs, len(words), chance[start : start + len(pairs)])
        columns += [_numbers(pair, control, names, units) for pair, control in zip(pairs, controls, strict=True)]
        spans.append(list(units.spans))
    flat = np.array(columns, dtype=np.int32)
    return Pairs(
        names=tuple(names),
        starts=starts,
        relation=flat[:, 0],
        ends=flat[:, 1:3],
        controls=flat[:, 3:5],
        near=flat[:, 5:7],
        framed=flat[:, 7].astype(bool),
        span_starts=np.cumsum([0, *map(len, spans)]),
        word_starts=np.cumsum([0, *(len(words) for units in spans for words in units)]),
        span_words=np.array([word for units in spans for words in units for word in words], dtype=np.int64),
        n_words=np.array([len(words) for words in examples.words]),
        chooses=to_unit(mixed(hashed_texts(examples.text, seed), _HALF)) < validation_share,
    )


def links_left_out(examples: Examples, *, core: bool = True) -> list[str]:
    """Notes on links that make no pairs."""
    links = [link for row in examples.links or () for link in row]
    reasons = {
        "have a word at both ends": sum(_overlap(link) for link in links),
        "aren't core": sum(core and not link.core for link in links),
    }
    return [f"{count:,} of {len(links):,} links {why}: left out" for why, count in reasons.items() if count]


def _overlap(link: Link) -> bool:
    """A link between overlapping spans can't be told by attention to other words."""
    return bool(set(link.source) & set(link.target))


def _chances(ids: Sequence[str], starts: np.ndarray, seed: int) -> list[float]:
    """For each pair the chance that chooses its control: by its example's id and its place among the example's."""
    row = np.repeat(np.arange(len(ids)), np.diff(starts))
    within = (np.arange(len(row)) - starts[row]).astype(np.uint64)
    return to_unit(mixed(mixed(hashed(ids, seed), _CONTROL)[row], within)).tolist()


def _numbers(
    pair: _Pair, control: tuple[Span, Span] | None, names: Mapping[str, int], units: _Units
) -> tuple[int, ...]:
    """Relation, source and target, those of the control, the offsets both ways, and whether it is of a frame."""
    name, source, target, framed = pair
    one, other = control or ((), ())
    return (
        names[name], units[source], units[target], units[one], units[other],
        _near(source, target), _near(target, source), framed,
    )  # fmt: skip


def _annotated(examples: Examples, row: int, subtypes: bool, core: bool) -> Iterator[_Pair]:
    """An example's pairs: those of its tree, then those of its links."""
    if examples.governors is not None:
        governors = examples.governors[row]
        marks = examples.marks["relation"][row] if "relation" in examples.marks else ("head",) * len(governors)
        for word, (governor, mark) in enumerate(zip(governors, marks, strict=True)):
            if governor != ROOT:
                yield mark if subtypes else mark.partition(":")[0], (word,), (governor,), False
    if examples.links is not None:
        for link in examples.links[row]:
            if (link.core or not core) and not _overlap(link):
                yield ELEMENT if link.frame else link.name, link.source, link.target, bool(link.frame)


class _Units:
    """Numbers for an example's words and spans."""

    def __init__(self, n_words: int) -> None:
        self._n_words = n_words
        self.spans: dict[Span, int] = {}

    def __getitem__(self, words: Span) -> int:
        if len(words) < 2:
            return words[0] if words else NONE
        return self.spans.setdefault(words, self._n_words + len(self.spans))


def _controls(pairs: Sequence[_Pair], n_words: int, chance: Sequence[float]) -> list[tuple[Span, Span] | None]:
    """For each pair the same two spans, moved together along the sentence to where no pair of this relation is."""
    taken: defaultdict[tuple[str, Span, Span], set[int]] = defaultdict(set)
    shapes = []
    for name, source, target, _ in pairs:
        first = min(*source, *target)
        shape = name, tuple(word - first for word in source), tuple(word - first for word in target)
        taken[shape].add(first)
        shapes.append(shape)
    controls: list[tuple[Span, Span] | None] = []
    for shape, luck in zip(shapes, chance, strict=True):
        _, source, target = shape
        places = n_words - max(*source, *target)
        start = int(luck * (places - len(taken[shape])))
        if places == len(taken[shape]):
            controls.append(None)
            continue
        for place in sorted(taken[shape]):  # the start-th of the free places
            start += place <= start
        controls.append((tuple(word + start for word in source), tuple(word + start for word in target)))
    return controls


def _near(source: Span, target: Span) -> int:
    """The offsets that lead from one span to the other, as bits."""
    found = 0
    for word in target:
        offset = word - source[-1] if word > source[-1] else word - source[0]
        if 0 < abs(offset) <= 10:
            found |= 1 << (2 * abs(offset) - 2 + (offset > 0))
    return found
