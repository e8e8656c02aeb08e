"""How much attention falls on words that have a feature: what `features` takes from each map.

Everything is measured per example and averaged over those that have the feature. A strongest word is compared with
its expectation over random words, which has a closed form: nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention import LayerMaps, View, ascending, product
from bertscope.core.resampling import Resampling, RunningMean

SPECIAL = ("[CLS]", "[SEP]")
ANY = "any word"
BY = ("all tokens", "[CLS]")
"""Whose attention it is: that of every token, averaged, or that of the first alone."""


@dataclass
class LayerMeans:
    """What is kept of one layer of one encoder; F features, the special tokens last, W of words, `ANY` last."""

    attention: RunningMean
    """[by, F, (strongest, the same of random words), head]."""
    special: RunningMean
    """[([CLS], [SEP] together, [SEP] each), head]: attention of all tokens."""
    pairs: RunningMean
    """[from W, to W, (attention, the same of any two words)]: the mean over heads."""
    pairs_of_heads: np.ndarray | float = 0.0
    """[(attention, the same of any two words), head, from W, to W]: sums over as many texts as `pairs` has."""


class FeatureReader:
    """Means over the examples, with their resamples.

    marked   for each feature, which words of each example have it
    ids      the examples' ids, which decide the resamples
    """

    needs: frozenset[str] = frozenset()

    def __init__(
        self, marked: Mapping[str, Sequence[np.ndarray]], ids: Sequence[str], *, repeats: int = 1000, seed: int = 0
    ) -> None:
        self.features = (*marked, *SPECIAL)
        self.words = (*marked, ANY)
        self.layers: list[list[LayerMeans | None]] = []
        """By layer, then by encoder; None where all heads of the layer were cut."""
        self.resampling = Resampling(ids, repeats=repeats, seed=seed, product=product)
        self.special_share = RunningMean(Resampling(ids, repeats=0))
        """[([CLS], [SEP] together, [SEP] each)]: what a head gives them that attends to all tokens alike."""
        columns = [np.concatenate([*rows, np.zeros(0, bool)]) for rows in marked.values()]
        lengths = [len(row) for row in next(iter(marked.values()), ())] or [0] * len(ids)
        self._has = np.stack([*columns, np.ones(sum(lengths), dtype=bool)])  # [W, word of the corpus]
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._plain = not marked  # no words are marked then: all that a tokenizer shows are words
        self._view: View | None = None

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if view is not self._view:
            self._view, self._batch = view, _Batch(view, self._features(view))
            self.special_share.add(view.rows, self._batch.special_share, self._batch.special_counts)
        if layer == len(self.layers):
            self.layers.append([self._means() if one.maps.shape[1] else None for one in maps])
        for one, means in zip(maps, self.layers[layer], strict=True):
            if means is not None:
                self._batch.measure(one, means)

    def of(self, which: int) -> dict[int, LayerMeans]:
        """One encoder's layers that have heads, by their public number."""
        return {n: means for n, layer in enumerate(self.layers, start=1) if (means := layer[which]) is not None}

    def _means(self) -> LayerMeans:
        attention, special, pairs = (RunningMean(self.resampling) for _ in range(3))
        return LayerMeans(attention, special, pairs)

    def _features(self, view: View) -> Tensor:
        """[row, W, word]: whether the word has the feature, and any token shows it."""
        shown = view.pieces > 0
        if self._plain:
            return shown[:, None]
        place = np.arange(view.word_count)
        at = self._starts[view.rows][:, None] + place
        inside = at < self._starts[view.rows + 1][:, None]
        has = self._has[:, np.where(inside, at, 0)] & inside  # [W, row, word]
        return torch.from_numpy(has).to(shown.device).transpose(0, 1) & shown[:, None]


class _Batch:
    """A batch, with all that doesn't depend on the maps."""

    def __init__(self, view: View, words: Tensor) -> None:
        self._view = view
        self._words = words
        self._has = words[:, :-1].float()
        sizes = words.sum(-1)  # [row, W]
        total = sizes[:, -1:]
        special = torch.stack([view.cls.sum(1), view.sep.sum(1)], 1)
        count = torch.cat([sizes[:, :-1], special], 1)  # [row, F]
        weights = expected_maximum_weights(count.minimum(total), total[:, 0], words.shape[-1])
        self._weights = weights.flip(-1).transpose(1, 2)  # [row, place in rising order, F]
        by_any = ((count > 0) & (total > 0)).cpu().numpy()
        self._counts = np.stack([by_any, by_any & view.cls.any(1).cpu().numpy()[:, None]], 1).astype(np.float32)

        lengths = view.lengths.cpu().numpy()
        cls, sep = special.cpu().numpy().T
        self.special_counts = np.stack([np.ones(len(sep)), np.ones(len(sep)), sep > 0], 1)
        self.special_share = np.stack([cls, sep, sep > 0], 1) / lengths[:, None]

        self._members = words.float()  # [row, W, word]
        own = self._members @ self._members.transpose(1, 2)  # words that have both features aren't paired with themselves
        pairs = sizes[:, :, None] * sizes[:, None] - own
        self._paired = (pairs > 0).float()
        self._per_pair = self._paired / pairs.clamp_min(1)
        self._pair_counts = self._paired.cpu().numpy()

    def measure(self, maps: LayerMaps, means: LayerMeans) -> None:
        view = self._view
        on_tokens = torch.stack([maps.received, maps.maps[:, :, 0]], 1).flatten(1, 2)  # [row, by x head, token]
        strongest, expected = self._strongest(on_tokens)
        found = torch.stack([strongest, expected], -1).unflatten(1, (2, -1))  # [row, by, head, F, 2]
        found = found.permute(0, 1, 3, 4, 2).cpu().numpy() * self._counts[..., None, None]
        means.attention.add(view.rows, found, self._counts)

        cls, sep = ((maps.received * which[:, None]).sum(-1) for which in (view.cls, view.sep))
        each = sep / view.sep.sum(1).clamp_min(1)[:, None]
        means.special.add(view.rows, torch.stack([cls, sep, each], 1).cpu().numpy(), self.special_counts)

        between = self._between(maps)
        of_any = between[..., -1, -1]  # [row, head]
        sums = between.double().sum(0), torch.einsum("bh,bfg->hfg", of_any.double(), self._paired.double())
        means.pairs_of_heads = means.pairs_of_heads + torch.stack(sums).cpu().numpy()
        by_layer = torch.stack([between.mean(1), of_any.mean(1)[:, None, None] * self._paired], -1)
        means.pairs.add(view.rows, by_layer.cpu().numpy(), self._pair_counts)

    def _strongest(self, on_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """[row, any, F] twice: attention to the feature's strongest word, and that expected of random words."""
        view = self._view
        on_words = on_tokens @ view.in_word
        of_words = (on_words[:, :, None] * self._has[:, None]).amax(-1)
        of_special = [(on_tokens * which[:, None]).amax(-1, keepdim=True) for which in (view.cls, view.sep)]
        shown = on_words.masked_fill(~self._words[:, -1:], -1)  # the others sort first, where weights are 0
        return torch.cat([of_words, *of_special], -1), ascending(shown) @ self._weights

    def _between(self, maps: LayerMaps) -> Tensor:
        """[row, head, from W, to W]: the mean over pairs of two different words, 0 where there are none."""
        between = maps.between_words  # [row, to, from, head]
        heads = between.shape[-1]
        # Heads side by side in one product for each row: a product for each head would be too small to be quick.
        to = (self._members @ between.flatten(2)).unflatten(2, (-1, heads))  # [row, to W, from, head]
        whole = self._members @ to.transpose(1, 2).flatten(2)  # [row, from W, to W x head]
        whole = whole.unflatten(2, (-1, heads)).permute(0, 3, 1, 2)
        return whole * self._per_pair[:, None]


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
