"""What a shard of a corpus has to know of the whole: which relations there are, and where each pair's control lies.

Controls are looked for in a bounded number of sentences, a random choice by their texts: these are all that has to be
held at a time. Whoever reads a part of the corpus then takes the pairs and the controls that are in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.relations.controls import SAMPLE, SENTENCES, Controls, Span, matched_controls
from bertscope.analyses.relations.pairs import LinkCounts, annotated, notes_on, refuse_none
from bertscope.analyses.relations.question import RelationsConfig, need_relations
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed_texts, mixed
from bertscope.core.sums import Sums
from bertscope.models.batches import pieces_of_words

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Surveyed:
    """What is known of the whole corpus."""

    names: tuple[str, ...]
    has_frames: bool
    notes: tuple[str, ...]
    pair_row: np.ndarray
    """[compared]: the example that a pair with a control is in."""
    pair_number: np.ndarray
    """[compared]: which of the example's pairs it is."""
    relation: np.ndarray
    """[compared]"""
    controls: Controls
    """An entry each; `pair` isn't a place among all pairs, but among those that are compared."""

    def here(self, first: int, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, Controls]:
        """Of the examples from `first` on, whose pairs begin at `starts`: the pairs that have a control, their places
        among all that are compared, and the controls that lie here."""
        last = first + len(starts) - 1
        compared = np.flatnonzero((first <= self.pair_row) & (self.pair_row < last))
        pairs = starts[self.pair_row[compared] - first] + self.pair_number[compared]
        inside = np.flatnonzero((first <= self.controls.row) & (self.controls.row < last))
        ends = [self.controls.ends[at] for at in inside.tolist()]
        keys = self.controls.key
        return pairs, compared, Controls(inside, self.controls.row[inside] - first, ends, keys)

    def sums(self) -> Sums:
        spans = [span for ends in self.controls.ends for span in ends]
        arrays = {
            "pair_row": self.pair_row, "pair_number": self.pair_number, "relation": self.relation,
            "row": self.controls.row, "keys": self.controls.key.view(np.int64),
            "sizes": np.array([len(span) for span in spans], np.int64),
            "words": np.array([word for span in spans for word in span], np.int64),
        }  # fmt: skip
        return Sums(arrays, {"names": list(self.names), "has_frames": self.has_frames, "notes": list(self.notes)})

    @classmethod
    def of(cls, sums: Sums) -> Surveyed:
        held = sums.arrays
        spans: list[Span] = [tuple(one.tolist()) for one in np.split(held["words"], np.cumsum(held["sizes"])[:-1])]
        ends = list(zip(spans[::2], spans[1::2], strict=True)) if len(held["row"]) else []
        controls = Controls(np.arange(len(ends)), held["row"], ends, held["keys"].view(np.uint64))
        return cls(
            names=tuple(sums.facts["names"]),
            has_frames=sums.facts["has_frames"],
            notes=tuple(sums.facts["notes"]),
            pair_row=held["pair_row"],
            pair_number=held["pair_number"],
            relation=held["relation"],
            controls=controls,
        )


def survey(models: Sequence[Encoder], windows: Iterable[tuple[int, Examples]], config: RelationsConfig) -> Sums:
    """Go through the corpus, a window of texts after the other, each with the place of its first."""
    names, pairs, framed = set[str](), 0, False
    links, drawn, has_pos = LinkCounts(), _Drawn(config.seed), False
    for first, some in windows:
        need_relations(some)
        for row in range(len(some)):
            for name, *_, frame in annotated(some, row, config.subtypes, config.core):
                names.add(name)
                pairs, framed = pairs + 1, framed or frame
        links = links.with_those_of(some, core=config.core)
        has_pos = "pos" in some.marks
        drawn.add(first, some)
    refuse_none(pairs, links.notes())
    rows, examples = drawn.found()
    pieces = pieces_of_words(models[0].tokenizer, examples, min(one.max_length for one in models))
    found = [list(annotated(examples, row, config.subtypes, config.core)) for row in range(len(examples))]
    controls = matched_controls(found, examples, pieces, seed=config.seed)
    starts = np.cumsum([0, *map(len, found)])
    at = np.searchsorted(starts, controls.pair, side="right") - 1
    known = {name: number for number, name in enumerate(sorted(names))}
    relation = [known[found[row][number][0]] for row, number in zip(at, controls.pair - starts[at], strict=True)]
    return Surveyed(
        names=tuple(known),
        has_frames=framed,
        notes=tuple(notes_on(links, pairs, len(controls.pair), has_pos=has_pos)),
        pair_row=rows[at],
        pair_number=controls.pair - starts[at],
        relation=np.array(relation, np.int64),
        controls=Controls(np.arange(len(at)), rows[controls.row], controls.ends, controls.key),
    ).sums()


class _Drawn:
    """The sentences in which controls are looked for: those of the smallest hashes, as far as texts have come."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._parts: list[tuple[np.ndarray, np.ndarray, Examples]] = []  # hashes, places, the examples

    def add(self, first: int, some: Examples) -> None:
        hashes = mixed(hashed_texts(some.text, self._seed), SAMPLE)
        self._parts.append((hashes, first + np.arange(len(some)), some))
        least = np.unique(np.concatenate([hashes for hashes, *_ in self._parts]))[:SENTENCES][-1]
        self._parts = [part for one in self._parts if len((part := _under(one, least))[0])]

    def found(self) -> tuple[np.ndarray, Examples]:
        """Their places in the corpus, and the sentences."""
        return np.concatenate([rows for _, rows, _ in self._parts]), Examples.joined([one for *_, one in self._parts])


def _under(
    part: tuple[np.ndarray, np.ndarray, Examples], least: np.uint64
) -> tuple[np.ndarray, np.ndarray, Examples]:
    hashes, rows, examples = part
    kept = np.flatnonzero(hashes <= least)
    return part if len(kept) == len(rows) else (hashes[kept], rows[kept], examples.take(kept))
