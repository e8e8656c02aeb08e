"""The pairs of words, or of spans of words, that stand in a relation; their controls; and the two halves of a corpus.

A *unit* is a word or a span of several. An example's words are units 0, 1, ...; its spans are counted on from there.
Everything is in flat arrays, a pair an entry, in the examples' order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bertscope.analyses.relations.controls import Pair, Span, matched_controls
from bertscope.analyses.relations.question import ELEMENT, need_relations
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.hashing import hashed_texts, mixed, to_unit

OFFSETS = np.array([sign * far for far in range(1, 11) for sign in (-1, 1)])
"""Fixed offsets that a pair may be told by, the nearest first: of equally good ones the first is chosen."""
NONE = -1
_HALF = np.uint64(2**32)  # apart from the numbers of resamples


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
    with_control: np.ndarray
    """The pairs that have a control (see `controls.py`)."""
    control_keys: np.ndarray
    """Their own numbers, uint64."""
    control_starts: np.ndarray
    """Where the controls that lie in each example begin, and the last one's end."""
    control_of: np.ndarray
    """[control]: whose it is, as a place in `with_control`."""
    control_ends: np.ndarray
    """[control, 2]: its source and target, as units."""
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
    examples: Examples,
    pieces: np.ndarray,
    *,
    subtypes: bool = False,
    core: bool = True,
    validation_share: float = 0.5,
    seed: int = 0,
) -> Pairs:
    """The pairs that the trees and the links of a corpus tell.

    pieces     of each word of the corpus the number of its tokens, 0 in a text that isn't read
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
    controls = matched_controls(found, examples, pieces, seed=seed)
    units = [_Units(len(words)) for words in examples.words]
    flat = np.array(
        [_numbers(pair, names, units[row]) for row, pairs in enumerate(found) for pair in pairs], dtype=np.int32
    )
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
        with_control=controls.pair,
        control_keys=controls.key,
        control_starts=np.searchsorted(controls.row[by_row], np.arange(len(examples) + 1)),
        control_of=by_row,
        control_ends=np.array(placed, dtype=np.int32).reshape(-1, 2)[by_row],
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


def notes_on(pairs: Pairs, examples: Examples, *, core: bool = True) -> list[str]:
    """Notes on links that make no pairs, on how many pairs are compared with a control, and on what that is like."""
    n, compared = len(pairs.relation), len(pairs.with_control)
    told = links_left_out(examples, core=core)
    told += [
        f"{compared:,} of {n:,} pairs are compared with a control pair: the same distance, parts of speech and "
        "numbers of pieces, no punctuation; of each relation at most one pair of a sentence"
    ]
    if "pos" not in examples.marks:
        told.append("the corpus has no parts of speech: control pairs may be of other ones")
    return told


def _overlap(link: Link) -> bool:
    """A link between overlapping spans can't be told by attention to other words."""
    return bool(set(link.source) & set(link.target))


def _numbers(pair: Pair, names: Mapping[str, int], units: _Units) -> tuple[int, ...]:
    """Relation, source and target, the offsets both ways, and whether it is of a frame."""
    name, source, target, framed = pair
    return names[name], units[source], units[target], _near(source, target), _near(target, source), framed


def _annotated(examples: Examples, row: int, subtypes: bool, core: bool) -> Iterator[Pair]:
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
