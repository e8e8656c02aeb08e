"""A batch's pairs, what each head's attention says of them, and what is kept of that, to be stored and added to.

Of the test half the hits themselves are kept, a bit for each pair, head and direction (36 bytes a word for 144 heads,
less than its annotation takes): which of them matter is known only when the validation half has chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from bertscope.analyses.attention.between_words import most_attended
from bertscope.analyses.attention.joined import joined, of_encoders
from bertscope.analyses.attention.kept import KeptRows, RunningSum, kept, packed_bits
from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.uniform import Uniform
from bertscope.analyses.attention.view import View
from bertscope.analyses.relations.pairs import NONE, OFFSETS, Pairs, gathered
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.sums import Sums
from bertscope.core.units import every, heads_of_layers
from bertscope.models.sending import sent
from bertscope.models.words import NO_WORD

ROUNDING = 1e-6
"""Less attention than this is none: where a head does the same in all pairs, tests would find the last digits."""


class HeadSums:
    """What is kept of one encoder: sums over pairs, the heads of all layers side by side.

    R relations; directions to target, to source.
    """

    def __init__(
        self, place: int, resampling: Resampling, head_counts: Sequence[int], n_compared: int, device: torch.device
    ) -> None:
        self.place, self.head_counts = place, list(head_counts)
        """Which of the encoders it is, and how many heads its layers have."""
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

    def differences(self, of: np.ndarray) -> np.ndarray:
        """[pair, direction, head] of some of the pairs that have a control."""
        apart = self.apart.array[of].astype(np.float64)
        return np.where(np.abs(apart) < ROUNDING, 0.0, apart)

    def sums(self, touched: np.ndarray) -> Sums:
        """Of differences, those that are known in part, or wholly: a pair or its control was read."""
        added = {"hits": self.hits.value, "control": self.control.value}
        apart = {"touched": touched, "apart": self.apart.array[touched]}
        return Sums.of({"scores": self.scores.sums(), "added": Sums(added), "differences": Sums(apart)})

    def merge(self, other: Sums) -> None:
        added, differences = other.part("added").arrays, other.part("differences").arrays
        self.hits.merge(added["hits"])
        self.control.merge(added["control"])
        self.apart.merge(differences["touched"], differences["apart"])
        self.scores.merge(other.part("scores"))


@dataclass(frozen=True)
class TestHalf:
    """The pairs of the test half that were seen whole, sentence by sentence."""

    __test__ = False  # it isn't one of pytest's

    relation: np.ndarray
    """[pair]"""
    near: np.ndarray
    """[pair, 2]: see `Pairs.near`."""
    sizes: np.ndarray
    """[sentence]: how many pairs each has; at least one."""
    keys: np.ndarray
    """[sentence]: the numbers that decide which resamples it is in, uint64."""
    bits: tuple[np.ndarray, ...]
    """Of each encoder [pair, bits of direction x head]: whether the head found the pair."""

    @cached_property
    def sentence(self) -> np.ndarray:
        """[pair]: whose it is."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def hit(self, encoder: HeadSums, direction: int, head: int) -> np.ndarray:
        """Whether a head found each pair."""
        byte, bit = divmod(direction * len(encoder.heads) + head, 8)
        return self.bits[encoder.place][:, byte] >> (7 - bit) & 1

    @classmethod
    def joined(cls, parts: Sequence[TestHalf]) -> TestHalf:
        """Those of texts that come one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            relation=np.concatenate([one.relation for one in parts]),
            near=np.concatenate([one.near for one in parts]),
            sizes=np.concatenate([one.sizes for one in parts]),
            keys=np.concatenate([one.keys for one in parts]),
            bits=tuple(map(np.concatenate, zip(*(one.bits for one in parts), strict=True))),
        )

    def sums(self) -> Sums:
        named = {"relation": self.relation, "near": self.near, "sizes": self.sizes, "keys": self.keys.view(np.int64)}
        return Sums(named | {f"bits.{place}": one for place, one in enumerate(self.bits)})

    @classmethod
    def of(cls, sums: Sums) -> TestHalf:
        held = sums.arrays
        bits = tuple(held[f"bits.{place}"] for place in range(sum(name.startswith("bits.") for name in held)))
        return cls(held["relation"], held["near"], held["sizes"], held["keys"].view(np.uint64), bits)


@dataclass(frozen=True)
class _Frames:
    """Where a batch has elements of frames."""

    mask: Tensor
    """[row, query, key]: from a source's pieces to its target's."""
    share: Tensor
    """[row, pair]: what each pair has to do with the mean over its row's."""
    has: np.ndarray
    """[row]: whether there are any."""


class PairBatch:
    """A batch's pairs, with all that doesn't depend on the maps."""

    def __init__(self, view: View, pairs: Pairs) -> None:
        self._view, self.send, self.device = view, view.send, view.real.device
        self.layers: list[list[tuple[Tensor, ...]]] = []  # of each encoder: what `add` takes
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
        if self._spans:
            self._share = self._member / self._member.sum(-1, keepdim=True).clamp_min(1)
            self._elsewhere = (1 - self._member.transpose(1, 2))[..., None]
        controls = self._read_controls(pairs, whole, at)
        units = self._member.shape[1]
        self._from = self.send(row[:, None] * units + ends)
        self._between = self.send(np.concatenate([_both_ways(row, ends, units), _both_ways(*controls, units)]))

        relation, chooses = pairs.relation[at], pairs.chooses[view.rows][row]
        half = one_hot(torch.from_numpy(chooses * n_names + relation.astype(np.int64)), 2 * n_names).float()
        self._half = sent(half, self.device)
        self.counts = half.sum(0).reshape(2, n_names).numpy()
        bits = (pairs.near[at][..., None] >> np.arange(len(OFFSETS)) & 1).astype(np.float32)
        self.near = (half[:, n_names:].T @ torch.from_numpy(bits).flatten(1)).numpy()
        self.near = self.near.reshape(n_names, 2, len(OFFSETS))
        self._kept, self.test = self.send(np.flatnonzero(~chooses)), at[~chooses]
        self._frames = self._masks(row, ends, pairs.framed[at]) if pairs.framed.any() else None

    def _read_controls(self, pairs: Pairs, whole: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the pairs have a control, and which controls lie in these rows; their rows and ends."""
        place = np.searchsorted(pairs.with_control, at)
        compared = np.zeros(len(at), dtype=bool)
        inside = place < len(pairs.with_control)
        compared[inside] = pairs.with_control[place[inside]] == at[inside]
        self.with_control = pairs.compared[place[compared]]
        self._compared, self._with_control = map(self.send, (np.flatnonzero(compared), self.with_control))
        at, row = gathered(pairs.control_starts, self._view.rows)
        ends = self._here(pairs.control_ends[at], pairs.n_words[self._view.rows][row][:, None])
        assert self._shown(whole, row, ends).all(), "controls lie in texts that are read whole"
        self.controls = pairs.control_of[at]
        self._controls = self.send(self.controls)
        self._control_relation = self._one_hot(pairs.control_relation[self.controls], len(pairs.names))
        return row, ends

    def take(self, maps: Sequence[LayerMaps]) -> None:
        """Take in some layers of each encoder."""
        read = zip(*map(self._read, joined(maps)), strict=True)
        parts = list(zip(*(of_encoders(maps, each, heads=-1) for each in read), strict=True))
        self.layers.append([
            (found, *self._beyond(one, got), *more)
            for one, (found, got, *more) in zip(maps, parts, strict=True)
        ])  # fmt: skip

    def _read(self, maps: LayerMaps) -> tuple[Tensor, ...]:
        """[pair, direction, head]: the most attended other word; [pair, then control, direction, head]: attention
        from each end to the other; where there are frames, also [row, head]: the most between two pieces."""
        words, between = self._of_units(maps.between_words)
        got = self._of_pairs(between)
        if self._spans:
            words = words * self._elsewhere  # to other words only
        found = most_attended(words).flatten(0, 1)[self._from]
        return found, got, *self._maxima(maps)

    def _beyond(self, maps: LayerMaps, got: Tensor) -> tuple[Tensor, Tensor]:
        """The excess of that attention in pairs, and in the controls."""
        if maps.uniform is not self._uniform:
            assert maps.uniform is not None
            self._uniform = maps.uniform
            self._expected = self._of_pairs(self._of_units(maps.uniform.between_words)[1])
        excess = got - self._expected
        excess = torch.where(excess.abs() >= ROUNDING, excess, 0)
        n = len(self._row)
        return excess[:n], excess[n:]

    def add(
        self, sums: HeadSums, found: Tensor, true: Tensor, control: Tensor, maxima: Tensor | None = None
    ) -> Tensor:
        """Take in what all heads gave, as `layers` has it. Returns the test half's hits, as bits."""
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
        words = self._share[:, None] @ words
        return words, (self._member @ words.flatten(2)).unflatten(2, words.shape[2:])

    def _of_pairs(self, between: Tensor) -> Tensor:
        """[pair, then control here, direction, head]: from each end to the other."""
        return between.flatten(0, 2)[self._between]

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


def _both_ways(row: np.ndarray, ends: np.ndarray, units: int) -> np.ndarray:
    """[pair, direction]: which of [row x to x from] each end gives the other."""
    return (row[:, None] * units + ends[:, ::-1]) * units + ends
