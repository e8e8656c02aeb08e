"""`geometry`: everything that is found in each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from bertscope.analyses.geometry.question import GeometryConfig
from bertscope.analyses.geometry.result import (
    ADJUSTED,
    ALIGNMENT,
    BASELINE,
    INTRA,
    INTRINSIC,
    ISOSCORE,
    MEV,
    MEV_BASELINE,
    OF_SAMPLE,
    RANK,
    SELF,
    UNIFORMITY,
    CheckpointGeometry,
    LayerGeometry,
    Measured,
    geometry_result,
)
from bertscope.analyses.geometry.vectors import (
    AS_IT_IS,
    LayerVectors,
    by_text,
    effective_rank,
    explained,
    isoscore,
    moments,
    self_similarity,
)
from bertscope.analyses.geometry.words import Words, read_words
from bertscope.analyses.occurrences import Texts, Windows, owners
from bertscope.analyses.state_inputs import Given, open_states
from bertscope.analyses.text_pairs import alignment_and_uniformity, meaning_same
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.model_record import by_key
from bertscope.core.progress import progress
from bertscope.core.resampling import group_bounds
from bertscope.core.result import Result
from bertscope.models.evaluating import full_precision
from bertscope.models.sending import sent
from bertscope.models.states_store import StatesStore, joined

_FEWEST = 10  # vectors: fewer say nothing
_KEPT = 0.9  # of the ratios: the largest are noise, as the paper says
_SAME = 1e-5  # of the vectors' spread: what is closer is one vector twice, such as a word at one place in layer 0


def measure(states: Sequence[Given], examples: Examples, config: GeometryConfig) -> Result:
    return _measured(open_states(states, examples), examples, examples, config)


def of_shards(
    shards: Sequence[Sequence[StatesStore]], about: Examples, windows: Windows, config: GeometryConfig
) -> Result:
    """The same of states that lie in shards: whichever file a vector is in, the same ones are added in the same
    order."""
    return _measured(by_key([joined(each) for each in shards]), about, windows, config)


def _measured(stores: dict[str, StatesStore], examples: Examples, texts: Texts, config: GeometryConfig) -> Result:
    """`examples` are the corpus, or nothing but its name and notes; `texts` the corpus itself."""
    for store in stores.values():
        if len(store) < 2:
            raise UserError(f"{examples.name or 'the corpus'} has one word for {store.record.name}; give more texts")
    checkpoints = []
    with full_precision(), progress("layers", sum(len(store.layers) for store in stores.values())) as bar:
        for key, store in stores.items():
            words = read_words(store, texts, config)
            pairs = paired_texts(store, examples, config.same, config.sample, config.groups, config.seed)
            layers = []
            for layer in store.layers:
                layers.append(layer_geometry(store, layer, words, pairs, config))
                bar.advance()
            checkpoints.append(CheckpointGeometry(key, store, words, layers, pairs.which if pairs else ""))
    return geometry_result(checkpoints, examples, config)


def layer_geometry(
    store: StatesStore, layer: int, words: Words, pairs: PairedTexts | None, config: GeometryConfig
) -> LayerGeometry:
    vectors = LayerVectors(store.vectors(layer))
    spread = moments(vectors, words)
    forms = spread.forms(config.directions(store.dim))
    texts = by_text(vectors, words, forms)
    types = self_similarity(vectors, words, forms)
    shares, by_chance = (explained(vectors, words, forms, sets) for sets in (words.sets, words.random_sets))
    reaching = max(1, round(float(words.weights[0].sum())))  # types that have enough occurrences, on average
    found = []
    for name in forms:
        baseline, inside = texts[name]
        found += [Measured("layers", BASELINE, name, baseline, len(words.text))]
        found += _adjusted(INTRA, name, inside, baseline, int((np.bincount(words.text) > 1).sum()))
        if len(words.types):
            found += _adjusted(SELF, name, _mean(types[name], words.weights), baseline, reaching)
            of_chance = _mean(by_chance[name])
            found += _adjusted(MEV, name, _mean(by_type(shares[name], words), words.weights), of_chance, reaching)
            found += [Measured("plain", MEV_BASELINE, name, of_chance, len(words.random_sets))]
    for measure, function in ((RANK, effective_rank), (ISOSCORE, isoscore)):
        most = store.dim if measure == RANK else 1.0
        both = {measure: spread.extrapolated(function), OF_SAMPLE[measure]: spread.of_sample(function)}
        for key, draws in both.items():
            found += [Measured("dimensions", key, AS_IT_IS, draws.clip(0, most), len(words.text))]
    found += [_intrinsic(vectors, words, config)]
    if pairs is not None:
        alignment, uniformity = pair_spread(vectors, pairs)
        found += [
            Measured("pairs", ALIGNMENT, AS_IT_IS, alignment, int(pairs.same.sum())),
            Measured("pairs", UNIFORMITY, AS_IT_IS, uniformity, 2 * len(pairs.same)),
        ]
    return LayerGeometry(layer, found, types[AS_IT_IS] - texts[AS_IT_IS][0][:, None])


def _adjusted(measure: str, form: str, draws: np.ndarray, baseline: np.ndarray, n: int) -> list[Measured]:
    """The measure, and what is left of it beyond the baseline."""
    return [
        Measured("plain", measure, form, draws, n),
        Measured("layers", ADJUSTED[measure], form, draws - baseline, n),
    ]


def by_type(shares: np.ndarray, words: Words) -> np.ndarray:
    """[1 + groups, type]: the mean over a type's sets of what each draw has a value of."""
    means = np.full((len(shares), len(words.types)), np.nan)
    types, first = np.unique(words.type_of_set, return_index=True)
    known = ~np.isnan(shares)
    sums, counts = (np.add.reduceat(part, first, axis=1) for part in (np.nan_to_num(shares), known.astype(float)))
    means[:, types] = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means


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


def two_nn(vectors: Tensor, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """The intrinsic dimension [1 + groups] of the distinct vectors among these, and how many there are.

    Only the distances r1 and r2 to the two nearest neighbours count. In d dimensions, r2 / r1 is at most x with
    probability 1 - x^-d: d is the slope of -log(1 - F) over log(r2 / r1), F being the share of smaller ratios.
    """
    vectors = vectors.double() - vectors.double().mean(0)
    distances = torch.cdist(vectors, vectors)
    distinct = ~(distances < _SAME * vectors.square().sum(1).mean().sqrt()).tril(-1).any(1)
    apart = distinct.cpu().numpy()
    mine = sent(np.flatnonzero(apart), distances.device)
    distances = distances[mine][:, mine].fill_diagonal_(torch.inf)
    before = np.concatenate([[0], np.cumsum(apart)])[edges]  # the groups' edges among the distinct
    # The two nearest in each group; of those the four nearest, of which no group has more than two: whichever group
    # is left out, the two nearest of the others are there.
    nearest = torch.cat([_two_smallest(distances[:, begin:end]) for begin, end in pairwise(before)], 1)
    four, place = pad(nearest, (0, 2), value=torch.inf).topk(4, largest=False)
    ratios = [_ratios(four)]
    for group, (begin, end) in enumerate(pairwise(before)):
        others, where = (torch.cat([each[:begin], each[end:]]) for each in (four, place))
        ratios.append(_ratios(others.masked_fill(where // 2 == group, torch.inf)))
    found = torch.cat(ratios).cpu().numpy()  # one wait for all groups
    parts = np.split(found, np.cumsum([len(each) for each in ratios])[:-1])
    return np.array([_slope(each) for each in parts]), len(four)


def _two_smallest(values: Tensor) -> Tensor:
    """Of each row; infinite where there are fewer. Two minima take a fifth of the time of `topk`."""
    if values.shape[1] < 2:
        values = pad(values, (0, 2), value=torch.inf)
    first, place = values.min(1, keepdim=True)
    return torch.cat([first, values.scatter(1, place, torch.inf).min(1, keepdim=True).values], 1)


def _ratios(near: Tensor) -> Tensor:
    """[vector]: log(r2 / r1), from the distances to some neighbours [vector, neighbour]."""
    first, second = _two_smallest(near).T
    return torch.log(second / first)


def _slope(ratios: np.ndarray) -> float:
    """From the vectors' ratios to the dimension."""
    if len(ratios) < _FEWEST:
        return float("nan")
    ratios = np.sort(ratios)
    kept = int(_KEPT * len(ratios))
    x, y = ratios[:kept], -np.log1p(-np.arange(1, kept + 1) / len(ratios))
    return float((x @ y) / (x @ x))


@dataclass(frozen=True)
class PairedTexts:
    """Some pairs, whose rows stand one after the other: text after text, two to a pair."""

    rows: np.ndarray
    text: np.ndarray
    """[row]: which of the texts, 0 to 2 x pairs - 1."""
    same: np.ndarray
    """[pair]: whether the two mean the same."""
    edges: np.ndarray
    """Groups of pairs."""
    which: str
    """Which pairs those are, in words."""


def paired_texts(
    store: StatesStore, examples: Examples, same: float | None, sample: int, groups: int, seed: int
) -> PairedTexts | None:
    """At most `sample` texts of pairs, chosen by a hash of their ids; None where labels don't tell which mean the
    same."""
    found = meaning_same(examples, same)
    if found is None:
        if same is not None:
            raise UserError("--same is for pairs of texts with labels or scores; leave it out")
        return None
    positive, which = found
    owner = owners(store)
    words = np.stack([np.bincount(owner[store.segments == one], minlength=len(examples)) for one in (0, 1)])
    whole = np.flatnonzero((words > 0).all(0))
    chosen = np.sort(whole[np.argsort(hashed(examples.ids, seed)[whole], kind="stable")[: sample // 2]])
    if positive[chosen].sum() < 2:
        if same is not None:
            raise UserError(f"fewer than 2 of {len(chosen)} pairs are {which}; choose another value for --same")
        return None
    place = np.full(len(examples), -1)
    place[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(place[owner] >= 0)
    text = 2 * place[owner[rows]] + store.segments[rows]
    return PairedTexts(rows, text, positive[chosen], group_bounds(np.arange(len(chosen)), groups), which)


def pair_spread(vectors: LayerVectors, pairs: PairedTexts) -> tuple[np.ndarray, np.ndarray]:
    """Alignment and uniformity of the layer's pairs. A text is the mean of its words."""
    words = vectors[pairs.rows]
    text = sent(pairs.text, words.device)
    sums = words.new_zeros(2 * len(pairs.same), words.shape[1]).index_add_(0, text, words)
    return alignment_and_uniformity(sums, pairs.same, pairs.edges)  # a mean and a sum have the same direction
