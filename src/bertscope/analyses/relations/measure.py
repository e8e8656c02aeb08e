"""`relations`: how well each head links words that stand in a relation.

Hits are summed over pairs by products with a one-hot of the relations; of the test half they are kept as well. Of
pairs that have a control the difference is kept: pair and control often come in different batches, or shards. Their
number is bounded (`SENTENCES`). All attention in pairs and controls is excess over that of a head that attends to all
keys alike.

What a shard of a corpus has to know of the whole is found by `survey`: which relations there are, and where each
pair's control lies. The sentences in which these are looked for are all that has to be held at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from bertscope.analyses.attention.kept import KeptRows, MapResampling
from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.view import View
from bertscope.analyses.relations.batch import HeadSums, PairBatch, TestHalf
from bertscope.analyses.relations.controls import SAMPLE, SENTENCES, Controls, Span, matched_controls
from bertscope.analyses.relations.pairs import LinkCounts, Pairs, annotated, collect_pairs, notes_on, refuse_none
from bertscope.analyses.relations.question import RelationsConfig, need_relations
from bertscope.analyses.relations.result import relations_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed_texts, mixed
from bertscope.core.sums import Sums
from bertscope.models.batches import pieces_of_words
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_random_weights


def part(
    models: Sequence[Encoder],
    examples: Examples,
    config: RelationsConfig,
    *,
    surveyed: Sums | None = None,
    first: int = 0,
) -> PassPart:
    """Where a corpus was `surveyed`, the examples are a part of it, which begins with its `first`; or nothing yet."""
    checkpoints = side_by_side(models)
    known = Surveyed.of(surveyed) if surveyed is not None else None
    about = subject(examples, weighted=config.weighted)
    if known is not None and not len(examples):
        examples = replace(examples, words=(), links=())
    need_relations(examples)
    # All of them have the same tokens: the pass sees to it. Who was told of the controls needs no pieces.
    limit = min(one.max_length for one in models)
    pieces = pieces_of_words(models[0].tokenizer, examples, limit) if known is None else np.zeros(0, int)
    pairs = collect_pairs(
        examples, pieces, subtypes=config.subtypes, core=config.core, validation_share=config.validation_share,
        seed=config.seed, surveyed=known, first=first,
    )  # fmt: skip
    twins = [with_random_weights(one, config.seed) for one in models] if config.null else []
    reader = RelationReader(pairs, examples.ids, repeats=config.repeats, seed=config.seed)
    finish = partial(
        relations_result,
        reader,
        models={key: encoder.record for key, encoder in checkpoints.items()},
        config=config,
        subject=about,
        notes=[*examples.notes, *(_notes(pairs, examples, config) if known is None else known.notes)],
    )
    # Of a sentence that is cut, some pairs would be missing and others would have fewer words to choose from.
    return PassPart([*models, *twins], examples, reader, finish, weighted=config.weighted, long="left_out")


def _notes(pairs: Pairs, examples: Examples, config: RelationsConfig) -> list[str]:
    links = LinkCounts().with_those_of(examples, core=config.core)
    return notes_on(links, len(pairs.relation), len(pairs.with_control), has_pos="pos" in examples.marks)


class RelationReader:
    """Sums over all pairs, and every hit of the test half."""

    needs: frozenset[str] = frozenset({"allowed"})

    def __init__(self, pairs: Pairs, ids: Sequence[str], *, repeats: int = 1000, seed: int = 0) -> None:
        self.pairs = pairs
        self.resampling = MapResampling(ids, repeats=repeats, seed=seed)
        self.sums_of: list[HeadSums] = []
        """One entry per encoder."""
        self.counts: np.ndarray | float = 0.0
        """[(test, validation), R]: the pairs that were seen whole."""
        self.near: np.ndarray | float = 0.0
        """[R, direction, offset]: in how many pairs of the validation half the offset leads to the right word."""
        of_test = ~np.repeat(pairs.chooses, np.diff(pairs.starts))
        self._test = np.flatnonzero(of_test)  # the pairs of the test half
        self._seen = np.zeros(len(self._test), dtype=bool)  # which of them were seen whole
        self._place = np.cumsum(of_test) - 1  # of a pair in `_test`
        self._bits: list[KeptRows] = []  # of each encoder, the hits in these pairs
        self._touched = np.zeros(len(pairs.control_relation), dtype=bool)  # of compared pairs: it or its control seen
        self._others: list[TestHalf] = []  # of texts that others read

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Of layers the pairs' attention is taken; then all heads are summed at once."""
        if layer == 0:
            self._batch = PairBatch(view, self.pairs)
            self._head_counts: list[list[int]] = [[] for _ in maps]
        self._batch.take(maps)
        for counts, one in zip(self._head_counts, maps, strict=True):
            counts += one.head_counts
        if layer + len(maps[0].layers) == view.n_layers:
            self._add(self._batch)
            del self._batch, self._head_counts

    def _add(self, batch: PairBatch) -> None:
        of_encoders = list(zip(*batch.layers, strict=True))
        if not self.sums_of:
            self._begin(self._head_counts, batch.device)
        self.counts += batch.counts
        self.near += batch.near
        places = self._place[batch.test]
        self._seen[places] = True
        self._touched[batch.with_control] = self._touched[batch.controls] = True
        for sums, bits, layers in zip(self.sums_of, self._bits, of_encoders, strict=True):
            taken = (torch.cat(parts, -1) for parts in zip(*layers, strict=True))
            bits.put(batch.send(places), batch.add(sums, *taken))

    def _begin(self, head_counts: Sequence[Sequence[int]], device: torch.device) -> None:
        compared = len(self.pairs.control_relation)
        self.sums_of = [HeadSums(at, self.resampling, one, compared, device) for at, one in enumerate(head_counts)]
        widths = [(2 * len(one.heads) + 7) // 8 for one in self.sums_of]
        self._bits = [KeptRows([len(self._test), width], np.uint8, device) for width in widths]

    @property
    def test_half(self) -> TestHalf:
        """The pairs of the test half that were seen whole, of these texts and of others'."""
        at = self._test[self._seen]
        row = np.searchsorted(self.pairs.starts, at, side="right") - 1
        rows, sizes = np.unique(row, return_counts=True)
        bits = tuple(one.array[self._seen] for one in self._bits)
        keys = self.resampling.keys[rows]
        own = TestHalf(self.pairs.relation[at], self.pairs.near[at], sizes, keys, bits)
        return TestHalf.joined([*([own] if len(at) or not self._others else []), *self._others])

    def sums(self, first: int = 0) -> Sums:
        touched = np.flatnonzero(self._touched)
        parts = {f"encoder.{one.place}": one.sums(touched) for one in self.sums_of}
        of_pairs = Sums({"counts": np.asarray(self.counts), "near": np.asarray(self.near)})
        heads = [one.head_counts for one in self.sums_of]
        return Sums.of(parts | {"pairs": of_pairs, "test": self.test_half.sums()}, heads=heads)

    def merge(self, other: Sums) -> None:
        if not self.sums_of:
            self._begin(other.facts["heads"], torch.device("cpu"))
        added = other.part("pairs").arrays
        self.counts = self.counts + added["counts"]
        self.near = self.near + added["near"]
        for one in self.sums_of:
            mine = other.part(f"encoder.{one.place}")
            one.merge(mine)
            self._touched[mine.part("differences").arrays["touched"]] = True
        self._others.append(TestHalf.of(other.part("test")))


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
