"""`relations`: how well each head links words that stand in a relation.

Hits are summed over pairs by products with a one-hot of the relations; of the test half they are kept as well. Of
pairs that have a control the difference is kept: pair and control often come in different batches, or shards. Their
number is bounded (`SENTENCES`). All attention in pairs and controls is excess over that of a head that attends to all
keys alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from bertscope.analyses.attention.maps import LayerMaps, View, product
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.relations.batch import PairBatch
from bertscope.analyses.relations.kept import HeadSums, TestHalf
from bertscope.analyses.relations.pairs import LinkCounts, Pairs, collect_pairs, notes_on
from bertscope.analyses.relations.question import RelationsConfig, need_relations
from bertscope.analyses.relations.result import relations_result
from bertscope.analyses.relations.survey import Surveyed, survey
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.examples import Examples
from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.resampling import Resampling
from bertscope.core.sums import Sums
from bertscope.models.batches import pieces_of_words
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_random_weights

__all__ = ["RelationReader", "part", "survey"]


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
        self.resampling = Resampling(ids, repeats=repeats, seed=seed, product=product)
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
        self._bits: list[np.ndarray] = []  # of each encoder, the hits in these pairs
        self._touched = np.zeros(len(pairs.control_relation), dtype=bool)  # of compared pairs: it or its control seen
        self._others: list[TestHalf] = []  # of texts that others read

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Of each layer the pairs' attention is taken; then all heads are summed at once."""
        if layer == 0:
            self._batch = PairBatch(view, self.pairs)
        self._batch.layers.append([self._batch.take(one) for one in maps])
        if layer + 1 == view.n_layers:
            self._add(self._batch)
            del self._batch

    def _add(self, batch: PairBatch) -> None:
        of_encoders = list(zip(*batch.layers, strict=True))
        if not self.sums_of:
            self._begin([[found.shape[-1] for found, *_ in layers] for layers in of_encoders])
        self.counts += batch.counts
        self.near += batch.near
        places = self._place[batch.test]
        self._seen[places] = True
        self._touched[batch.with_control] = self._touched[batch.controls] = True
        for sums, bits, layers in zip(self.sums_of, self._bits, of_encoders, strict=True):
            taken = (torch.cat(parts, -1) for parts in zip(*layers, strict=True))
            bits[places] = batch.add(sums, *taken)

    def _begin(self, head_counts: Sequence[Sequence[int]]) -> None:
        compared = len(self.pairs.control_relation)
        self.sums_of = [HeadSums(at, self.resampling, one, compared) for at, one in enumerate(head_counts)]
        widths = [(2 * len(one.heads) + 7) // 8 for one in self.sums_of]
        self._bits = [memory_mapped([len(self._test), width], np.uint8) for width in widths]

    @property
    def test_half(self) -> TestHalf:
        """The pairs of the test half that were seen whole, of these texts and of others'."""
        at = self._test[self._seen]
        row = np.searchsorted(self.pairs.starts, at, side="right") - 1
        rows, sizes = np.unique(row, return_counts=True)
        bits = tuple(one[self._seen] for one in self._bits)
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
            self._begin(other.facts["heads"])
        added = other.part("pairs").arrays
        self.counts = self.counts + added["counts"]
        self.near = self.near + added["near"]
        for one in self.sums_of:
            mine = other.part(f"encoder.{one.place}")
            one.merge(mine)
            self._touched[mine.part("differences").arrays["touched"]] = True
        self._others.append(TestHalf.of(other.part("test")))
