"""`relations`: how well each head links words that stand in a relation.

Hits and attention are summed over pairs by products with a one-hot of the relations. Of the test half the hits
themselves are kept as well, a bit for each pair, head and direction (36 bytes a word for 144 heads, less than its
annotation takes): which of them matter is known only when the validation half has chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from bertscope.analyses.attention.maps import LayerMaps, View, product
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.relations.pairs import NONE, OFFSETS, Pairs, collect_pairs, gathered, links_left_out
from bertscope.analyses.relations.question import RelationsConfig
from bertscope.analyses.relations.result import relations_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.examples import Examples
from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.statistics import ClusteredDifference
from bertscope.core.units import every, heads_of_layers
from bertscope.models.encoder import Encoder


def part(models: Sequence[Encoder], examples: Examples, config: RelationsConfig) -> PassPart:
    checkpoints = side_by_side(models)
    pairs = collect_pairs(
        examples, subtypes=config.subtypes, core=config.core, validation_share=config.validation_share,
        seed=config.seed,
    )  # fmt: skip
    reader = RelationReader(pairs, examples.ids, repeats=config.repeats, seed=config.seed)
    finish = partial(
        relations_result,
        reader,
        models={key: encoder.record for key, encoder in checkpoints.items()},
        config=config,
        subject=subject(examples, weighted=config.weighted),
        notes=[*examples.notes, *links_left_out(examples, core=config.core)],
    )
    # Of a sentence that is cut, some pairs would be missing and others would have fewer words to choose from.
    return PassPart(models, examples, reader, finish, weighted=config.weighted, long="left_out")


class HeadSums:
    """What is kept of one encoder: sums over pairs, the heads of all layers side by side.

    R relations; directions to target, to source.
    """

    def __init__(self, resampling: Resampling, head_counts: Sequence[int], n_pairs: int) -> None:
        self.heads = every("head", head_counts)
        self.layers = heads_of_layers(head_counts)
        self.scores = RunningMean(resampling)
        """[(frame score, the same of controls), head]."""
        self.difference = ClusteredDifference()
        """[R, direction, head]: attention in pairs minus that in their controls, sentences as clusters."""
        self.score_difference = ClusteredDifference()
        """[head]: frame scores minus those of controls."""
        self.hits: np.ndarray | float = 0.0
        """[(test, validation), R, direction, head]: the most attended other word was the right one."""
        self.control: np.ndarray | float = 0.0
        """[R, direction, head]: attention in the controls."""
        self.kept = memory_mapped([n_pairs, (2 * len(self.heads) + 7) // 8], np.uint8)
        """[pair of the test half, bits of direction x head]."""

    def hit(self, direction: int, head: int) -> np.ndarray:
        """Whether a head found each pair of the test half."""
        byte, bit = divmod(direction * len(self.heads) + head, 8)
        return self.kept[:, byte] >> (7 - bit) & 1


class RelationReader:
    """Sums over all pairs, and every hit of the test half."""

    needs: frozenset[str] = frozenset()

    def __init__(self, pairs: Pairs, ids: Sequence[str], *, repeats: int = 1000, seed: int = 0) -> None:
        self.pairs = pairs
        self.resampling = Resampling(ids, repeats=repeats, seed=seed, product=product)
        self.sums: list[HeadSums] = []
        """One entry per encoder."""
        self.counts: np.ndarray | float = 0.0
        """[(test, validation), R]: the pairs that were seen whole."""
        self.near: np.ndarray | float = 0.0
        """[R, direction, offset]: in how many pairs of the validation half the offset leads to the right word."""
        of_test = ~np.repeat(pairs.chooses, np.diff(pairs.starts))
        self.test = np.flatnonzero(of_test)
        """The pairs of the test half."""
        self.seen = np.zeros(len(self.test), dtype=bool)
        """Which of them were seen whole."""
        self._place = np.cumsum(of_test) - 1  # of a pair in `test`

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Of each layer the pairs' attention is taken; then all heads are summed at once."""
        if layer == 0:
            self._batch = _Batch(view, self.pairs)
        self._batch.layers.append([self._batch.take(one) for one in maps])
        if layer + 1 == view.n_layers:
            self._add(self._batch)
            del self._batch

    def _add(self, batch: _Batch) -> None:
        of_encoders = list(zip(*batch.layers, strict=True))
        if not self.sums:
            counts = [[found.shape[-1] for found, *_ in layers] for layers in of_encoders]
            self.sums = [HeadSums(self.resampling, of_layers, len(self.test)) for of_layers in counts]
        self.counts += batch.counts
        self.near += batch.near
        places = self._place[batch.test]
        self.seen[places] = True
        for sums, layers in zip(self.sums, of_encoders, strict=True):
            taken = (torch.cat(parts, -1) for parts in zip(*layers, strict=True))
            sums.kept[places] = batch.add(sums, *taken)


class _Batch:
    """A batch's pairs, with all that doesn't depend on the maps."""

    def __init__(self, view: View, pairs: Pairs) -> None:
        self._view, self._device = view, view.real.device
        self.layers: list[list[tuple[Tensor, ...]]] = []  # what `take` gave, for each encoder
        width, n_names = view.word_count, len(pairs.names)
        self._member, sizes = self._units(pairs)
        self._spans = self._member.shape[1] > width
        whole = ((self._member @ (view.pieces > 0).float()[..., None])[..., 0] >= sizes).cpu().numpy()  # [row, unit]
        at, row = gathered(pairs.starts, view.rows)
        n_words = pairs.n_words[view.rows][row][:, None]
        ends, controls = (
            np.where(unit >= n_words, unit - n_words + width, np.where(unit < width, unit, NONE))
            for unit in (pairs.ends[at], pairs.controls[at])
        )
        shown = self._shown(whole, row, ends)
        at, row, ends, controls = at[shown], row[shown], ends[shown], controls[shown]
        matched = self._shown(whole, row, controls)
        self._matched = self._tensor(matched).float()[:, None, None]
        controls = np.where(matched[:, None], controls, ends)
        self._row, self._ends, self._controls = map(self._tensor, (row[:, None], ends, controls))

        relation, chooses = pairs.relation[at], pairs.chooses[view.rows][row]
        self._relation = self._one_hot(relation, n_names)  # [pair, R]
        self._half = self._one_hot(chooses * n_names + relation, 2 * n_names)
        self.counts = self._half.sum(0).reshape(2, n_names).cpu().numpy()
        bits = (pairs.near[at][..., None] >> np.arange(len(OFFSETS)) & 1).astype(np.float32)
        self.near = (self._half[:, n_names:].T @ self._tensor(bits).flatten(1)).cpu().numpy()
        self.near = self.near.reshape(n_names, 2, len(OFFSETS))
        self._kept, self.test = self._tensor(~chooses), at[~chooses]

        groups, group = np.unique(row * n_names + relation, return_inverse=True)  # a relation in a sentence
        self._group = self._tensor(group)
        self._group_relation = self._one_hot(groups % n_names, n_names).double().cpu().numpy()
        self._group_size = np.bincount(group, matched, len(groups))
        self._frames = self._masks(row, ends, controls, matched, pairs.framed[at]) if pairs.framed.any() else None

    def take(self, maps: LayerMaps) -> tuple[Tensor, ...]:
        """[pair, direction, head] each: the most attended other word, attention in the pair, and in its control;
        where there are frames, also [row, (true, control), head]: the frame scores."""
        words = between = maps.between_words  # [row, to, from, head]
        if self._spans:  # from a span: the mean over its words; to it: their sum
            share = self._member / self._member.sum(-1, keepdim=True).clamp_min(1)
            words = share[:, None] @ words  # [row, word, unit, head]
            between = (self._member @ words.flatten(2)).unflatten(2, words.shape[2:])
            words = words * (1 - self._member.transpose(1, 2))[..., None]  # to other words only
        units = between.shape[1]
        true, control = (
            between.flatten(0, 2)[(self._row * units + ends.flip(1)) * units + ends]
            for ends in (self._ends, self._controls)
        )
        found = _most_attended(words).flatten(0, 1)[self._row * units + self._ends]
        return found, true, control, *self._frame_scores(maps)

    def add(
        self, sums: HeadSums, found: Tensor, true: Tensor, control: Tensor, scores: Tensor | None = None
    ) -> np.ndarray:
        """Take in what all heads gave; the shapes are those of `take`. Returns the test half's hits, as bits."""
        others = self._ends.flip(1)[..., None]
        hits = self._member[self._row[..., None], others, found.clamp_min(0)] * (found != NONE)
        control = control * self._matched
        shape = (2, self._relation.shape[1], *hits.shape[1:])
        sums.hits += self._summed(self._half, hits).reshape(shape)
        sums.control += self._summed(self._relation, control).reshape(shape[1:])
        apart = true * self._matched - control
        by_group = apart.new_zeros(len(self._group_size), *apart.shape[1:]).index_add_(0, self._group, apart)
        sums.difference.add(by_group.double().cpu().numpy(), self._group_size, self._group_relation)
        if scores is not None and self._frames is not None:
            self._add_scores(sums, scores.double().cpu().numpy(), self._frames[1])
        return np.packbits((hits > 0)[self._kept].flatten(1).cpu().numpy(), axis=1)

    def _frame_scores(self, maps: LayerMaps) -> tuple[Tensor, ...]:
        """The most attention from any piece of a source to any piece of its target: the score of Kovaleva et al."""
        if self._frames is None:
            return ()
        return (torch.stack([(maps.maps * mask[:, None]).flatten(2).amax(-1) for mask in self._frames[0]], 1),)

    def _add_scores(self, sums: HeadSums, scores: np.ndarray, counts: np.ndarray) -> None:
        scores = scores * counts[..., None]
        sums.scores.add(self._view.rows, scores, counts)
        apart = (scores[:, 0] - scores[:, 1]) * counts[:, 1:]
        sums.score_difference.add(apart, counts[:, 1], np.ones((len(apart), 1)))

    def _masks(
        self, row: np.ndarray, ends: np.ndarray, controls: np.ndarray, matched: np.ndarray, linked: np.ndarray
    ) -> tuple[Tensor, np.ndarray]:
        """[(true, control), row, query, key]: from a source's pieces to its target's; and which rows have them.

        A row whose links don't all have a control has none to be compared with.
        """
        pieces = self._member @ self._view.in_word.transpose(1, 2)  # [row, unit, token]
        n = len(self._view.rows)
        has = np.bincount(row[linked], minlength=n) > 0
        lacks = np.bincount(row[linked], ~matched[linked], n) > 0
        masks = []
        for units, use in ((ends, linked), (controls, linked & matched)):
            of = self._tensor(row[use])
            source, target = (pieces[of, self._tensor(units[use, end])] for end in (0, 1))
            pairs = source[:, :, None] * target[:, None]
            mask = pairs.new_zeros(n, *pairs.shape[1:]).index_add_(0, of, pairs)
            masks.append((mask > 0).float())
        return torch.stack(masks), np.stack([has, has & ~lacks], 1).astype(float)

    def _units(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """[row, unit, word]: 1 where the word is in the unit; and [row, unit]: how many words the unit has."""
        rows, width = self._view.rows, self._view.word_count
        member = torch.eye(width, device=self._device).expand(len(rows), width, width)
        sizes = torch.ones(len(rows), width, device=self._device)
        spans, row = gathered(pairs.span_starts, rows)
        if not len(spans):
            return member, sizes
        number = spans - pairs.span_starts[rows][row]
        at, span = gathered(pairs.word_starts, spans)
        words = pairs.span_words[at]
        span, words = span[words < width], words[words < width]
        more = np.zeros((len(rows), number.max() + 1, width), dtype=np.float32)
        more[row[span], number[span], words] = 1
        more_sizes = np.ones(more.shape[:2], dtype=np.float32)
        more_sizes[row, number] = np.diff(pairs.word_starts)[spans]
        return torch.cat([member, self._tensor(more)], 1), torch.cat([sizes, self._tensor(more_sizes)], 1)

    def _shown(self, whole: np.ndarray, row: np.ndarray, units: np.ndarray) -> np.ndarray:
        inside = (units >= 0) & (units < whole.shape[1])
        return (inside & whole[row[:, None], np.where(inside, units, 0)]).all(1)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def _one_hot(self, values: np.ndarray, width: int) -> Tensor:
        return one_hot(self._tensor(values.astype(np.int64)), width).float()

    def _summed(self, of: Tensor, values: Tensor) -> np.ndarray:
        """The sums over pairs for each column of a one-hot."""
        return (of.T @ values.flatten(1)).double().cpu().numpy()


def _most_attended(words: Tensor) -> Tensor:
    """[row, from, head]: the word that gets most of [row, to, from, head], the first of equals; NONE if all get 0.

    torch looks for the place of a maximum cell by cell. Here all cells but the largest fall far below 0, and then
    each by its place.
    """
    most = words.amax(1)
    place = torch.arange(words.shape[1], device=words.device, dtype=words.dtype)[:, None, None]
    first = -torch.add(-place, words - most[:, None], alpha=2.0**100).amax(1)
    return torch.where(most > 0, first, NONE).long()
