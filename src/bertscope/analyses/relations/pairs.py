"""The pairs of words, or of spans of words, that stand in a relation; their controls; and the two halves of a corpus.

A *unit* is a word or a span of several. An example's words are units 0, 1, ...; its spans are counted on from there.
Everything is in flat arrays, a pair an entry, in the examples' order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.relations.controls import Pair, Span, matched_controls
from bertscope.analyses.relations.question import ELEMENT, need_relations
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.hashing import hashed_texts, mixed, to_unit

if TYPE_CHECKING:
    from bertscope.analyses.relations.measure import Surveyed

OFFSETS = np.array([sign * far for far in range(1, 11) for sign in (-1, 1)])
"""Fixed offsets that a pair may be told by, the nearest first: of equally good ones the first is chosen."""
NONE = -1
_HALF = np.uint64(2**32)  # apart from the numbers of resamples


@dataclass(frozen=True)
class Pairs:
    """Every pair of some texts. A source is a dependent or a frame's element, a target its governor or what evokes
    the frame."""

    names: tuple[str, ...]
    """The relations; of a part of a corpus, those of the whole."""
    starts: np.ndarray
    """Where each example's pairs begin, and the last one's end."""
    relation: np.ndarray
    ends: np.ndarray
    """[pair, 2]: source and target, as units."""
    with_control: np.ndarray
    """The pairs that have a control (see `controls.py`)."""
    compared: np.ndarray
    """Their places among all pairs of the corpus that have one."""
    control_relation: np.ndarray
    """Of each of these, its relation."""
    control_keys: np.ndarray
    """Of each of these, a number of its own, uint64."""
    control_starts: np.ndarray
    """Where the controls that lie in each example begin, and the last one's end."""
    control_of: np.ndarray
    """[control]: whose it is, as a place among all that have one."""
    control_ends: np.ndarray
    """[control, 2]: its source and target, as units."""
    near: np.ndarray
    """[pair, 2]: bit k is 1 where `OFFSETS[k]` leads from the source to the target, and from the target to the
    source. A span is left from its nearer end."""
    framed: np.ndarray
    """Whether it is a frame's element, not the tree's or own annotation's."""
    has_frames: bool
    """Whether any of the corpus is."""
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
    examples: Examples,
    pieces: np.ndarray,
    *,
    subtypes: bool = False,
    core: bool = True,
    validation_share: float = 0.5,
    seed: int = 0,
    surveyed: Surveyed | None = None,
    first: int = 0,
) -> Pairs:
    """The pairs that the trees and the links of a corpus tell.

    pieces     of each word of the corpus the number of its tokens, 0 in a text that isn't read
    subtypes   keep `nsubj:pass` apart from `nsubj`
    core       leave out a frame's elements that aren't core
    surveyed   of a part of a corpus: what is known of the whole, in which it begins with the `first` example
    """
    need_relations(examples)
    assert examples.words is not None
    found = [list(annotated(examples, row, subtypes, core)) for row in range(len(examples))]
    starts = np.cumsum([0, *map(len, found)])
    if surveyed is None:
        refuse_none(starts[-1], LinkCounts().with_those_of(examples, core=core).notes())
        listed = sorted({pair[0] for pairs in found for pair in pairs})
        controls = matched_controls(found, examples, pieces, seed=seed)
        with_control, compared = controls.pair, np.arange(len(controls.pair))
        controls = replace(controls, pair=compared)
    else:
        listed = [*surveyed.names]
        with_control, compared, controls = surveyed.here(first, starts)
    names = {name: at for at, name in enumerate(listed)}
    units = [_Units(len(words)) for words in examples.words]
    numbers = [_numbers(pair, names, units[row]) for row, pairs in enumerate(found) for pair in pairs]
    flat = np.array(numbers, dtype=np.int32).reshape(-1, 6)
    placed = [
        (units[row][source], units[row][target])
        for row, (source, target) in zip(controls.row.tolist(), controls.ends, strict=True)
    ]
    by_row = np.argsort(controls.row, kind="stable")
    spans = [list(one.spans) for one in units]
    return Pairs(
        names=tuple(names),
        starts=starts,
        relation=flat[:, 0],
        ends=flat[:, 1:3],
        near=flat[:, 3:5],
        framed=flat[:, 5].astype(bool),
        has_frames=bool(flat[:, 5].any()) if surveyed is None else surveyed.has_frames,
        with_control=with_control,
        compared=compared,
        control_relation=flat[with_control, 0] if surveyed is None else surveyed.relation,
        control_keys=controls.key,
        control_starts=np.searchsorted(controls.row[by_row], np.arange(len(examples) + 1)),
        control_of=controls.pair[by_row],
        control_ends=np.array(placed, dtype=np.int32).reshape(-1, 2)[by_row],
        span_starts=np.cumsum([0, *map(len, spans)]),
        word_starts=np.cumsum([0, *(len(words) for units in spans for words in units)]),
        span_words=np.array([word for units in spans for words in units for word in words], dtype=np.int64),
        n_words=np.array([len(words) for words in examples.words], dtype=np.int64),
        chooses=to_unit(mixed(hashed_texts(examples.text, seed), _HALF)) < validation_share,
    )


def refuse_none(pairs: int, left_out: Sequence[str]) -> None:
    """Refuse a corpus without a pair, with why it has none."""
    if not pairs:
        why = "".join(f" ({note})" for note in left_out)
        raise UserError(f"no word of these texts stands in a relation to another{why}; check the annotation")


@dataclass(frozen=True)
class LinkCounts:
    """How many links make no pairs."""

    links: int = 0
    overlap: int = 0
    not_core: int = 0

    def with_those_of(self, examples: Examples, *, core: bool = True) -> LinkCounts:
        links = [link for row in examples.links or () for link in row]
        not_core = sum(core and not link.core for link in links)
        return LinkCounts(self.links + len(links), self.overlap + sum(map(_overlap, links)), self.not_core + not_core)

    def notes(self) -> list[str]:
        reasons = {"have a word at both ends": self.overlap, "aren't core": self.not_core}
        return [f"{count:,} of {self.links:,} links {why}: left out" for why, count in reasons.items() if count]


def notes_on(links: LinkCounts, pairs: int, compared: int, *, has_pos: bool) -> list[str]:
    """Notes on links that make no pairs, on how many pairs are compared with a control, and on what that is like."""
    told = links.notes()
    told += [
        f"{compared:,} of {pairs:,} pairs are compared with a control pair: the same distance, parts of speech and "
        "numbers of pieces, no punctuation; at most one pair of a sentence for each relation"
    ]
    if not has_pos:
        told.append("the corpus has no parts of speech: control pairs may be of other ones")
    return told


def _overlap(link: Link) -> bool:
    """A link between overlapping spans can't be told by attention to other words."""
    return bool(set(link.source) & set(link.target))


def _numbers(pair: Pair, names: Mapping[str, int], units: _Units) -> tuple[int, ...]:
    """Relation, source and target, the offsets both ways, and whether it is of a frame."""
    name, source, target, framed = pair
    return names[name], units[source], units[target], _near(source, target), _near(target, source), framed


def annotated(examples: Examples, row: int, subtypes: bool, core: bool) -> Iterator[Pair]:
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
        if len(words) == 1:
            return words[0]
        return self.spans.setdefault(words, self._n_words + len(self.spans))


def _near(source: Span, target: Span) -> int:
    """The offsets that lead from one span to the other, as bits."""
    found = 0
    for word in target:
        offset = word - source[-1] if word > source[-1] else word - source[0]
        if 0 < abs(offset) <= 10:
            found |= 1 << (2 * abs(offset) - 2 + (offset > 0))
    return found
