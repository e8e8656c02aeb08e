"""Everything that `geometry` finds in one layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.geometry.dimension import two_nn
from bertscope.analyses.geometry.measures import by_text, explained, self_similarity
from bertscope.analyses.geometry.pairs import PairedTexts, alignment_and_uniformity
from bertscope.analyses.geometry.space import AS_IT_IS, LayerVectors, moments
from bertscope.analyses.geometry.words import Words
from bertscope.core.resampling import group_bounds

if TYPE_CHECKING:
    from bertscope.analyses.geometry.question import GeometryConfig
    from bertscope.models.states_store import StatesStore

BASELINE, SELF, INTRA, MEV, MEV_BASELINE = "baseline", "SelfSim", "intra-sentence", "MEV", "MEV baseline"
RANK, INTRINSIC, ALIGNMENT, UNIFORMITY = "effective rank", "intrinsic dimension", "alignment", "uniformity"


@dataclass(frozen=True)
class Measured:
    """A measure of a layer in one form: draws [1 + groups], and what it is a mean of."""

    table: str
    measure: str
    form: str
    draws: np.ndarray
    n: int


@dataclass(frozen=True)
class LayerGeometry:
    layer: int
    found: list[Measured]
    types: np.ndarray
    """SelfSim* of each type, of the vectors as they are [1 + groups, type]."""


def layer_geometry(
    store: StatesStore, layer: int, words: Words, pairs: PairedTexts | None, config: GeometryConfig
) -> LayerGeometry:
    vectors = LayerVectors(store.vectors(layer))
    spread = moments(vectors, words)
    forms = spread.forms(config.directions(store.dim))
    texts = by_text(vectors, words, forms)
    types = self_similarity(vectors, words, forms)
    shares, by_chance = (explained(vectors, words, forms, sets) for sets in (words.sets, words.random_sets))
    found = []
    for name in forms:
        baseline, inside = texts[name]
        found += [Measured("layers", BASELINE, name, baseline, len(words.text))]
        found += _adjusted(INTRA, name, inside, baseline, int((np.bincount(words.text) > 1).sum()))
        if len(words.types):
            found += _adjusted(SELF, name, _mean(types[name]), baseline, len(words.types))
            found += _explained(name, shares[name], by_chance[name], words)
    found += [Measured("dimensions", RANK, AS_IT_IS, spread.effective_rank(), len(words.text))]
    found += [_intrinsic(vectors, words, config)]
    if pairs is not None:
        alignment, uniformity = alignment_and_uniformity(vectors, pairs)
        found += [
            Measured("pairs", ALIGNMENT, AS_IT_IS, alignment, int(pairs.same.sum())),
            Measured("pairs", UNIFORMITY, AS_IT_IS, uniformity, 2 * len(pairs.same)),
        ]
    return LayerGeometry(layer, found, types[AS_IT_IS] - texts[AS_IT_IS][0][:, None])


def _adjusted(measure: str, form: str, draws: np.ndarray, baseline: np.ndarray, n: int) -> list[Measured]:
    """The measure, and what is left of it beyond the baseline: its name has a star, as in the paper."""
    return [Measured("plain", measure, form, draws, n), Measured("layers", f"{measure}*", form, draws - baseline, n)]


def _explained(form: str, shares: np.ndarray, by_chance: np.ndarray, words: Words) -> list[Measured]:
    """MEV has a baseline of its own: that of random occurrences, in as many sets of each size as there are types."""
    weights = np.repeat([one.weight for one in words.random_sets], [len(one.rows) for one in words.random_sets])
    baseline = _mean(by_chance, weights)
    adjusted = _adjusted(MEV, form, _mean(shares), baseline, len(words.types))
    return [*adjusted, Measured("plain", MEV_BASELINE, form, baseline, len(weights))]


def _intrinsic(vectors: LayerVectors, words: Words, config: GeometryConfig) -> Measured:
    rows = np.sort(np.argsort(words.keys, kind="stable")[: config.sample])
    draws, n = two_nn(vectors[rows], group_bounds(words.group[rows], config.groups))
    return Measured("dimensions", INTRINSIC, AS_IT_IS, draws, n)


def _mean(draws: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """Over what there is a value of, in each draw [1 + groups, ...]."""
    known = ~np.isnan(draws) * weights
    total = known.sum(1)
    sums = (np.nan_to_num(draws) * known).sum(1)
    return np.divide(sums, total, out=np.full(len(draws), np.nan), where=total > 0)
