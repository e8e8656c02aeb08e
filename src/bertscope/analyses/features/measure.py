"""`features`: how much attention falls on words that have a feature.

Everything is measured per example and averaged over those that have the feature. A strongest word is compared with
its expectation over random words, which has a closed form: nothing is drawn. Words are compared by what they get
beyond what a head gives that attends to all tokens alike: of that, words of more pieces get more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.joined import joined, of_encoders
from bertscope.analyses.attention.kept import MapResampling, kept
from bertscope.analyses.attention.maps import LayerMaps, ascending
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.uniform import Uniform
from bertscope.analyses.attention.view import View
from bertscope.analyses.features.means import LayerMeans, Means
from bertscope.analyses.features.question import ANY, FEATURES, SPECIAL, FeaturesConfig
from bertscope.analyses.features.result import features_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.result import Result
from bertscope.core.sums import Sums
from bertscope.data.annotate import annotated
from bertscope.data.features import feature_words, plain_words
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed

_LEAST = -2.0  # less than any attention, and than any beyond uniform


def part(models: Sequence[Encoder], examples: Examples, config: FeaturesConfig) -> PassPart:
    checkpoints = side_by_side(models)
    examples, reader = _reader(examples, config)
    records = {key: encoder.record for key, encoder in checkpoints.items()}
    about = subject(examples, weighted=config.weighted)

    def finish(passed: Passed) -> Result:
        return features_result(reader, passed, records, subject=about, notes=[*examples.notes, *reader.notes])

    return PassPart(models, examples, reader, finish, weighted=config.weighted)


def _reader(examples: Examples, config: FeaturesConfig) -> tuple[Examples, FeatureReader]:
    """The texts as they are read, and who reads them; of none, whoever takes in what others found."""
    how: dict[str, Any] = {"repeats": config.repeats, "seed": config.seed}
    if not len(examples):
        return examples, FeatureReader({}, (), **how)
    examples, unmarked = _with_words(examples)
    marked, missing = _mark_features(examples, config.features)
    plain = plain_words(examples) if marked else None
    return examples, FeatureReader(marked, examples.ids, plain=plain, notes=[*missing, *unmarked], **how)


def _with_words(examples: Examples) -> tuple[Examples, list[str]]:
    """The corpus with its annotation, or spaCy's; without either, what to install."""
    try:
        return annotated(examples), []
    except UserError as missing:
        return examples, [str(missing)]


def _mark_features(examples: Examples, named: Sequence[str]) -> tuple[dict[str, tuple[np.ndarray, ...]], list[str]]:
    """Which words of each example have each feature, and what to say of those that the corpus doesn't tell."""
    marked, missing = {}, []
    for name in dict.fromkeys(named):
        try:
            if name not in SPECIAL:
                marked[name] = feature_words(examples, name)
        except UserError:
            if tuple(named) != FEATURES:  # what was asked for by name can't be left out
                raise
            missing.append(name)
    notes = [f"the corpus doesn't tell which words are: {', '.join(missing)}"] if missing else []
    return marked, notes


class FeatureReader:
    """Means over the examples, with their resamples.

    marked   for each feature, which words of each example have it
    ids      the examples' ids, which decide the resamples
    plain    of each word of the corpus, whether it may be one of the random words: it isn't punctuation
    """

    needs: frozenset[str] = frozenset({"allowed"})

    def __init__(
        self,
        marked: Mapping[str, Sequence[np.ndarray]],
        ids: Sequence[str],
        *,
        plain: np.ndarray | None = None,
        notes: Sequence[str] = (),
        repeats: int = 1000,
        seed: int = 0,
    ) -> None:
        self.notes = list(notes)
        """On features that the texts don't tell."""
        self.features = (*marked, *SPECIAL)
        self.words = (*marked, ANY)
        self.resampling = MapResampling(ids, repeats=repeats, seed=seed)
        self.special_share = RunningMean(Resampling(ids, repeats=0))
        """[([CLS], [SEP] together, [SEP] each)]: what a head gives them that attends to all tokens alike."""
        columns = [np.concatenate([*rows, np.zeros(0, bool)]) for rows in marked.values()]
        lengths = [len(row) for row in next(iter(marked.values()), ())] or [0] * len(ids)
        any_word = np.ones(sum(lengths), dtype=bool) if plain is None else plain
        self._has = np.stack([*columns, any_word])  # [W, word of the corpus]
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._plain = not marked  # no words are marked then: all that a tokenizer shows are words
        self._means: list[Means] = []

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        """Layers are reduced to what their heads give to tokens and features; then all heads are measured."""
        if layer == 0:
            self._batch = _Batch(view, self._features(view))
            self.special_share.add(view.rows, self._batch.special_share, self._batch.special_counts)
        self._batch.take(maps)
        if layer + len(maps[0].layers) == view.n_layers:
            self._measure(self._batch)
            del self._batch

    def _measure(self, batch: _Batch) -> None:
        if not self._means:
            self._means = [Means(self.resampling, of_layers) for of_layers in batch.head_counts]
        for means, layers in zip(self._means, zip(*batch.layers, strict=True), strict=True):
            batch.measure(means, *(torch.cat(parts, -1) for parts in zip(*layers, strict=True)))

    def sums(self, first: int = 0) -> Sums:
        parts = {str(which): means.sums() for which, means in enumerate(self._means)}
        marked = [name for name in self.words if name != ANY]
        return Sums.of(
            parts | {"special": self.special_share.sums()},
            marked=marked,
            notes=self.notes,
            encoders=len(self._means),
        )

    def merge(self, other: Sums) -> None:
        marked, notes = other.facts["marked"], other.facts["notes"]
        if not self._means:
            self.features, self.words, self.notes = (*marked, *SPECIAL), (*marked, ANY), notes
        elif (self.words, self.notes) != ((*marked, ANY), notes):
            raise ValueError(f"sums of the features {marked}, not of {self.words}")
        self.special_share.merge(other.part("special"))
        found = [other.part(str(which)) for which in range(other.facts["encoders"])]
        self._means = self._means or [Means(self.resampling, one.facts["heads"]) for one in found]
        for means, one in zip(self._means, found, strict=True):
            means.merge(one)

    @property
    def n(self) -> np.ndarray:
        """[by, F]: how many examples have the feature."""
        return self._means[0].attention.count

    @property
    def n_pairs(self) -> np.ndarray:
        """[from W, to W]: how many examples have such a pair of words."""
        return self._means[0].pairs.count

    def of(self, which: int) -> dict[int, LayerMeans]:
        """One encoder's layers that have heads, by their public number."""
        return self._means[which].layers()

    def _features(self, view: View) -> Tensor:
        """[row, W, word]: whether the word has the feature, and any token shows it."""
        shown = view.pieces > 0
        if self._plain:
            return shown[:, None]
        place = np.arange(view.word_count)
        at = self._starts[view.rows][:, None] + place
        inside = at < self._starts[view.rows + 1][:, None]
        has = self._has[:, np.where(inside, at, 0)] & inside  # [W, row, word]
        return view.send(has).transpose(0, 1) & shown[:, None]


class _Batch:
    """A batch, with all that doesn't depend on the maps."""

    def __init__(self, view: View, words: Tensor) -> None:
        self._view = view
        self.layers: list[list[tuple[Tensor, ...]]] = []  # what `_reduced` and `_beyond` gave, for each encoder
        self.head_counts: list[list[int]] = []  # of each encoder's layers
        self._uniform: Uniform | None = None  # of which `_alike` is the reduction
        without = ~words
        self._without, self._hidden = without[:, :-1], without[:, -1, :, None]
        sizes = words.sum(-1)  # [row, W]
        total = sizes[:, -1:]
        special = torch.stack([view.cls.sum(1), view.sep.sum(1)], 1)
        count = torch.cat([sizes[:, :-1], special], 1)  # [row, F]
        weights = expected_maximum_weights(count.minimum(total), total[:, 0], words.shape[-1])
        self._weights = weights.flip(-1)  # [row, F, place in rising order]
        by_any = (count > 0) & (total > 0)
        self._counts = torch.stack([by_any, by_any & view.cls.any(1)[:, None]], 1).float()

        each = view.sep / view.sep.sum(1, keepdim=True).clamp_min(1)
        self._to_special = torch.stack([view.cls, view.sep, each], 1)  # [row, (cls, sep, each sep), token]

        lengths = view.host.lengths.numpy()
        cls, sep = (one.sum(1).numpy() for one in (view.host.cls, view.host.sep))
        self.special_counts = np.stack([np.ones(len(sep)), np.ones(len(sep)), sep > 0], 1)
        self.special_share = np.stack([cls, sep, sep > 0], 1) / lengths[:, None]

        self._members = words.float()  # [row, W, word]
        own = self._members @ self._members.transpose(1, 2)  # a word with both features isn't paired with itself
        pairs = sizes[:, :, None] * sizes[:, None] - own
        self._paired = (pairs > 0).float()
        self._per_pair = self._paired / pairs.clamp_min(1)

    def take(self, maps: Sequence[LayerMaps]) -> None:
        """Take in some layers of each encoder."""
        reduced = zip(
            *(self._reduced(one.received, one.maps, one.between_words) for one in joined(maps)), strict=True
        )
        got = zip(*(of_encoders(maps, each, heads=-1) for each in reduced), strict=True)
        self.layers.append([(*of_one, *self._beyond(one, of_one)) for one, of_one in zip(maps, got, strict=True)])
        before = self.head_counts or [[] for _ in maps]
        self.head_counts = [known + one.head_counts for known, one in zip(before, maps, strict=True)]

    def _beyond(self, maps: LayerMaps, got: Sequence[Tensor]) -> list[Tensor]:
        """The same as `_reduced` gave, beyond uniform."""
        if maps.uniform is not self._uniform:
            assert maps.uniform is not None
            one = self._uniform = maps.uniform
            self._alike = self._reduced(one.received, one.maps, one.between_words)
        return [one - alike for one, alike in zip(got, self._alike, strict=True)]

    def _reduced(self, received: Tensor, maps: Tensor, between: Tensor) -> tuple[Tensor, Tensor]:
        """[row, token, by, head]: the attention of all tokens and of [CLS]; [row, from W, to W, head]: the mean over
        pairs of two different words, 0 where there are none."""
        on_tokens = torch.stack([received, maps[:, :, 0]], 2).transpose(1, 3)
        to = (self._members @ between.flatten(2)).unflatten(2, between.shape[2:])  # [row, to W, from, head]
        both = self._members @ to.transpose(1, 2).flatten(2)  # [row, from W, to W x head]
        return on_tokens, both.unflatten(2, to.shape[1::2]) * self._per_pair[..., None]

    def measure(
        self, means: Means, on_tokens: Tensor, between: Tensor, tokens_beyond: Tensor, beyond: Tensor
    ) -> None:
        """Take in what all heads gave; the shapes are those of `_reduced`."""
        rows = self._view.rows
        found = self._strongest(on_tokens, tokens_beyond)  # [row, by, F, 3, head]
        means.attention.add(rows, kept(found * self._counts[..., None, None]), kept(self._counts))

        means.special.add(rows, kept(self._to_special @ on_tokens[:, :, 0]), self.special_counts)

        any_two = beyond[:, -1, -1]  # [row, head]
        paired, mean = self._paired.flatten(1), means.mean_on(between.device)
        any_two_summed = (paired.T @ any_two).unflatten(0, between.shape[1:3])
        of_heads = between.sum(0), beyond.sum(0), any_two_summed  # [from W, to W, head] each
        means.pairs_of_heads.add(torch.stack(of_heads, 2))
        of_layers = between @ mean, beyond @ mean, self._paired[..., None] * (any_two @ mean)[:, None, None]
        means.pairs.add(rows, kept(torch.stack(of_layers, 3)), kept(self._paired))

    def _strongest(self, on_tokens: Tensor, beyond: Tensor) -> Tensor:
        """[row, by, F, 3, head]: attention to the feature's strongest word, the strongest beyond uniform, and that
        expected of random words."""
        tokens = torch.stack([on_tokens, beyond], 2).flatten(2)  # [row, token, 2 x by x head]
        words = self._view.in_word.transpose(1, 2) @ tokens
        strongest = [_largest(words, none) for none in self._without.unbind(1)]
        strongest += [_largest(tokens, none) for none in (~self._view.cls, ~self._view.sep)]
        both = torch.stack(strongest, 1).unflatten(2, (2, *on_tokens.shape[2:]))  # [row, F, 2, by, head]
        shown = words.unflatten(2, both.shape[2:])[:, :, 1].flatten(2)
        shown = shown.masked_fill(self._hidden, _LEAST)  # they sort first, where weights are 0
        expected = self._weights @ ascending(shown.transpose(1, 2).contiguous()).transpose(1, 2)
        return torch.cat([both, expected.unflatten(2, (1, *both.shape[3:]))], 2).permute(0, 3, 1, 2, 4)


def _largest(values: Tensor, without: Tensor) -> Tensor:
    """[row, ...]: the largest of values [row, place, ...], some places left out."""
    return values.masked_fill(without[..., None], _LEAST).amax(1)


def expected_maximum_weights(drawn: Tensor, total: Tensor, width: int) -> Tensor:
    """Weights [row, F, width] of values in falling order that give the expected maximum of some drawn of them.

    Of `total` [row] values `drawn` [row, F] are taken without replacement: the j-th largest of n is the maximum of k
    in C(n - j, k - 1) of the C(n, k) draws. All weights are 0 where nothing is drawn.
    """
    n, k = total.double()[:, None, None], drawn.double()[..., None]
    below = n - torch.arange(1, width + 1, device=total.device)  # how many values are smaller than the j-th largest
    ways = (_log_choose(below, k - 1) - _log_choose(n, k)).exp()
    return torch.where((k > 0) & (below >= k - 1), ways, 0).float()


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    return torch.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
