"""`relations`: how well each head links words that stand in a relation.

Hits are summed over pairs by products with a one-hot of the relations. Of the test half the hits themselves are kept
as well, a bit for each pair, head and direction (36 bytes a word for 144 heads, less than its annotation takes):
which of them matter is known only when the validation half has chosen. Of pairs that have a control the difference is
kept: pair and control often come in different batches. Their number is bounded (`SENTENCES`). All attention in pairs
and controls is excess over that of a head that attends to all keys alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from bertscope.analyses.attention.between_words import most_attended
from bertscope.analyses.attention.kept import KeptRows, MapResampling, RunningSum, kept, packed_bits
from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.uniform import Uniform
from bertscope.analyses.attention.view import View
from bertscope.analyses.relations.pairs import NONE, OFFSETS, Pairs, collect_pairs, gathered, notes_on
from bertscope.analyses.relations.question import RelationsConfig, need_relations
from bertscope.analyses.relations.result import relations_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.examples import Examples
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.units import every, heads_of_layers
from bertscope.models.batches import pieces_of_words
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_random_weights
from bertscope.models.sending import sent
from bertscope.models.words import NO_WORD

ROUNDING = 1e-6
"""Less attention than this is none: where a head does the same in all pairs, tests would find the last digits."""


def part(models: Sequence[Encoder], examples: Examples, config: RelationsConfig) -> PassPart:
    checkpoints = side_by_side(models)
    need_relations(examples)
    # All of them have the same tokens: the pass sees to it.
    pieces = pieces_of_words(models[0].tokenizer, examples, min(one.max_length for one in models))
    pairs = collect_pairs(
        examples, pieces, subtypes=config.subtypes, core=config.core, validation_share=config.validation_share,
        seed=config.seed,
    )  # fmt: skip
    twins = [with_random_weights(one, config.seed) for one in models] if config.null else []
    reader = RelationReader(pairs, examples.ids, repeats=config.repeats, seed=config.seed)
    finish = partial(
        relations_result,
        reader,
        models={key: encoder.record for key, encoder in checkpoints.items()},
        config=config,
        subject=subject(examples, weighted=config.weighted),
        notes=[*examples.notes, *notes_on(pairs, examples, core=config.core)],
    )
    # Of a sentence that is cut, some pairs would be missing and others would have fewer words to choose from.
    return PassPart([*models, *twins], examples, reader, finish, weighted=config.weighted, long="left_out")


class HeadSums:
    """What is kept of one encoder: sums over pairs, the heads of all layers side by side.

    R relations; directions to target, to source.
    """

    def __init__(
        self, resampling: Resampling, head_counts: Sequence[int], n_test: int, n_compared: int, device: torch.device
    ) -> None:
        self.heads = every("head", head_counts)
        self.layers = heads_of_layers(head_counts)
        self.scores = RunningMean(resampling)
        """[(excess, the most attention between two pieces), head]: from frames' elements to what evokes them."""
        self.apart = KeptRows([n_compared, 2, len(self.heads)], np.float32, device)
        """[pair that has a control, direction, head]: excess in the pair minus that in its control."""
        self.hits = RunningSum()
        """[(test, validation), R, direction, head]: the most attended other word was the right one."""
        self.control = RunningSum()
        """[R, direction, head]: the sum of the excess in the controls."""
        self.kept = KeptRows([n_test, (2 * len(self.heads) + 7) // 8], np.uint8, device)
        """[pair of the test half, bits of direction x head]."""

    def differences(self, of: np.ndarray) -> np.ndarray:
        """[pair, direction, head] of some of the pairs that have a control."""
        apart = self.apart.array[of].astype(np.float64)
        return np.where(np.abs(apart) < ROUNDING, 0.0, apart)

    def hit(self, direction: int, head: int) -> np.ndarray:
        """Whether a head found each pair of the test half."""
        byte, bit = divmod(direction * len(self.heads) + head, 8)
        return self.kept.array[:, byte] >> (7 - bit) & 1


class RelationReader:
    """Sums over all pairs, and every hit of the test half."""

    needs: frozenset[str] = frozenset({"allowed"})

    def __init__(self, pairs: Pairs, ids: Sequence[str], *, repeats: int = 1000, seed: int = 0) -> None:
        self.pairs = pairs
        self.resampling = MapResampling(ids, repeats=repeats, seed=seed)
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
        """Of layers the pairs' attention is taken; then all heads are summed at once."""
        if layer == 0:
            self._batch = _Batch(view, self.pairs)
            self._head_counts: list[list[int]] = [[] for _ in maps]
        self._batch.layers.append([self._batch.take(one) for one in maps])
        for counts, one in zip(self._head_counts, maps, strict=True):
            counts += one.head_counts
        if layer + len(maps[0].layers) == view.n_layers:
            self._add(self._batch)
            del self._batch, self._head_counts

    def _add(self, batch: _Batch) -> None:
        of_encoders = list(zip(*batch.layers, strict=True))
        if not self.sums:
            sizes = len(self.test), len(self.pairs.with_control), batch.device
            self.sums = [HeadSums(self.resampling, of_layers, *sizes) for of_layers in self._head_counts]
        self.counts += batch.counts
        self.near += batch.near
        places = self._place[batch.test]
        self.seen[places] = True
        for sums, layers in zip(self.sums, of_encoders, strict=True):
            taken = (torch.cat(parts, -1) for parts in zip(*layers, strict=True))
            sums.kept.put(batch.send(places), batch.add(sums, *taken))


@dataclass(frozen=True)
class _Frames:
    """Where a batch has elements of frames."""

    mask: Tensor
    """[row, query, key]: from a source's pieces to its target's."""
    share: Tensor
    """[row, pair]: what each pair has to do with the mean over its row's."""
    has: np.ndarray
    """[row]: whether there are any."""


class _Batch:
    """A batch's pairs, with all that doesn't depend on the maps."""

    def __init__(self, view: View, pairs: Pairs) -> None:
        self._view, self.send, self.device = view, view.send, view.real.device
        self.layers: list[list[tuple[Tensor, ...]]] = []  # what `take` gave, for each encoder
        self._uniform: Uniform | None = None  # of which `_expected` are the pairs
        width, n_names = view.word_count, len(pairs.names)
        self._member, whole = self._units(pairs)
        self._spans = self._member.shape[1] > width
        at, row = gathered(pairs.starts, view.rows)
        n_words = pairs.n_words[view.rows][row][:, None]
        ends = self._here(pairs.ends[at], n_words)
        shown = self._shown(whole, row, ends)
        at, row, ends = at[shown], row[shown], ends[shown]
        self._row, self._ends = map(self.send, (row[:, None], ends))
        self._read_controls(pairs, whole, at)

        relation, chooses = pairs.relation[at], pairs.chooses[view.rows][row]
        half = one_hot(torch.from_numpy(chooses * n_names + relation.astype(np.int64)), 2 * n_names).float()
        self._half = sent(half, self.device)
        self.counts = half.sum(0).reshape(2, n_names).numpy()
        bits = (pairs.near[at][..., None] >> np.arange(len(OFFSETS)) & 1).astype(np.float32)
        self.near = (half[:, n_names:].T @ torch.from_numpy(bits).flatten(1)).numpy()
        self.near = self.near.reshape(n_names, 2, len(OFFSETS))
        self._kept, self.test = self.send(np.flatnonzero(~chooses)), at[~chooses]
        self._frames = self._masks(row, ends, pairs.framed[at]) if pairs.framed.any() else None

    def _read_controls(self, pairs: Pairs, whole: np.ndarray, at: np.ndarray) -> None:
        """Which of the pairs have a control, and which controls lie in these rows."""
        place = np.searchsorted(pairs.with_control, at)
        compared = np.zeros(len(at), dtype=bool)
        inside = place < len(pairs.with_control)
        compared[inside] = pairs.with_control[place[inside]] == at[inside]
        self._compared, self._with_control = map(self.send, (np.flatnonzero(compared), place[compared]))
        at, row = gathered(pairs.control_starts, self._view.rows)
        ends = self._here(pairs.control_ends[at], pairs.n_words[self._view.rows][row][:, None])
        assert self._shown(whole, row, ends).all(), "controls lie in texts that are read whole"
        self._control_row, self._control_ends = map(self.send, (row[:, None], ends))
        controls = pairs.control_of[at]
        self._controls = self.send(controls)
        of = pairs.relation[pairs.with_control[controls]]
        self._control_relation = self._one_hot(of, len(pairs.names))

    def take(self, maps: LayerMaps) -> tuple[Tensor, ...]:
        """[pair, direction, head] each: the most attended other word, and the excess in the pair; the same of the
        controls here; where there are frames, also [row, head]: the most attention between two pieces."""
        words, between = self._of_units(maps.between_words)
        if maps.uniform is not self._uniform:
            assert maps.uniform is not None
            self._uniform, (_, alike) = maps.uniform, self._of_units(maps.uniform.between_words)
            self._expected = self._of_pairs(alike)
        excess = (got - alike for got, alike in zip(self._of_pairs(between), self._expected, strict=True))
        true, control = (one.where(one.abs() >= ROUNDING, 0) for one in excess)
        if self._spans:
            words = words * (1 - self._member.transpose(1, 2))[..., None]  # to other words only
        found = most_attended(words).flatten(0, 1)[self._row * words.shape[2] + self._ends]
        return found, true, control, *self._maxima(maps)

    def add(
        self, sums: HeadSums, found: Tensor, true: Tensor, control: Tensor, maxima: Tensor | None = None
    ) -> Tensor:
        """Take in what all heads gave; the shapes are those of `take`. Returns the test half's hits, as bits."""
        others = self._ends.flip(1)[..., None]
        hits = self._member[self._row[..., None], others, found.clamp_min(0)] * (found != NO_WORD)
        shape = (2, self._half.shape[1] // 2, *hits.shape[1:])
        sums.hits.add((self._half.T @ hits.flatten(1)).reshape(shape))
        sums.control.add((self._control_relation.T @ control.flatten(1)).reshape(shape[1:]))
        sums.apart.add(self._with_control, true[self._compared])
        sums.apart.add(self._controls, -control)
        if maxima is not None and self._frames is not None:
            of_rows = (self._frames.share @ true[:, 0]).double(), maxima.double()
            sums.scores.add(self._view.rows, kept(torch.stack(of_rows, 1)), self._frames.has)
        return packed_bits((hits > 0)[self._kept].flatten(1))

    def _of_units(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """[row, word, from unit, head] and [row, to unit, from unit, head] of [row, to, from, head]: from a span, the
        mean over its words; to it, their sum."""
        if not self._spans:
            return words, words
        share = self._member / self._member.sum(-1, keepdim=True).clamp_min(1)
        words = share[:, None] @ words
        return words, (self._member @ words.flatten(2)).unflatten(2, words.shape[2:])

    def _of_pairs(self, between: Tensor) -> tuple[Tensor, Tensor]:
        """[pair, direction, head] and the same of the controls here: from each end to the other."""
        units, flat = between.shape[1], between.flatten(0, 2)
        pairs, controls = (
            flat[(row * units + ends.flip(1)) * units + ends]
            for row, ends in ((self._row, self._ends), (self._control_row, self._control_ends))
        )
        return pairs, controls

    def _maxima(self, maps: LayerMaps) -> tuple[Tensor, ...]:
        """The most attention from any piece of an element to any piece of its target: the score of Kovaleva et al."""
        if self._frames is None:
            return ()
        return ((maps.maps * self._frames.mask[:, None]).flatten(2).amax(-1),)

    def _masks(self, row: np.ndarray, ends: np.ndarray, linked: np.ndarray) -> _Frames:
        pieces = self._member @ self._view.in_word.transpose(1, 2)  # [row, unit, token]
        n, of = len(self._view.rows), self.send(row[linked])
        source, target = (pieces[of, self.send(ends[linked, end])] for end in (0, 1))
        pairs = source[:, :, None] * target[:, None]
        mask = pairs.new_zeros(n, *pairs.shape[1:]).index_add_(0, of, pairs)
        counts = np.bincount(row[linked], minlength=n)
        share = self._one_hot(row, n).T * self.send(linked) / self.send(np.maximum(counts, 1))[:, None]
        return _Frames((mask > 0).float(), share.float(), (counts > 0).astype(float))

    def _units(self, pairs: Pairs) -> tuple[Tensor, np.ndarray]:
        """[row, unit, word]: 1 where the word is in the unit; and [row, unit]: whether it is shown whole."""
        rows, width, shown = self._view.rows, self._view.word_count, self._view.shown_words
        member = torch.eye(width, device=self.device).expand(len(rows), width, width)
        spans, row = gathered(pairs.span_starts, rows)
        if not len(spans):
            return member, shown
        number = spans - pairs.span_starts[rows][row]
        at, span = gathered(pairs.word_starts, spans)
        words = pairs.span_words[at]
        span, words = span[words < width], words[words < width]
        more = np.zeros((len(rows), number.max() + 1, width), dtype=np.float32)
        more[row[span], number[span], words] = 1
        sizes = np.ones(more.shape[:2], dtype=np.float32)
        sizes[row, number] = np.diff(pairs.word_starts)[spans]
        whole = (more @ shown[..., None].astype(np.float32))[..., 0] >= sizes
        return torch.cat([member, self.send(more)], 1), np.concatenate([shown, whole], 1)

    def _here(self, units: np.ndarray, n_words: np.ndarray) -> np.ndarray:
        """Units as this batch counts them: spans after the words of the longest text."""
        width = self._view.word_count
        return np.where(units >= n_words, units - n_words + width, np.where(units < width, units, NONE))

    def _shown(self, whole: np.ndarray, row: np.ndarray, units: np.ndarray) -> np.ndarray:
        inside = (units >= 0) & (units < whole.shape[1])
        return (inside & whole[row[:, None], np.where(inside, units, 0)]).all(1)

    def _one_hot(self, values: np.ndarray, width: int) -> Tensor:
        return one_hot(self.send(values.astype(np.int64)), width).float()
