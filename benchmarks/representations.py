"""RSA of 5,000 words, beside rsatoolbox where it is installed; and the geometry of 100,000 words in 13 layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import torch

from benchmarks.options import Options, Sentences, sentences
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare
from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import AS_IT_IS, STANDARDISED, TOP_REMOVED
from bertscope.analyses.geometry.words import Words, read_words
from bertscope.analyses.occurrences import common_words, owners
from bertscope.analyses.similarity.rsa_cka import rsa
from bertscope.core.examples import Examples
from bertscope.core.resampling import group_bounds
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from bertscope.models.states_store import StatesStore

WHOLE, TOOLBOX, OURS = "NumPy, both matrices whole", "rsatoolbox", "bertscope, with its interval"
BY_WORD, ALL = "NumPy, word by word, without intervals", "bertscope, with intervals and the rest"
LAYERS = (6, 12)
MEASURES = ("baseline", "self_similarity", "intra_sentence", "mev", "mev_baseline")
FORMS = (AS_IT_IS, TOP_REMOVED, STANDARDISED)


def run(options: Options) -> list[Report]:
    return [_rsa(options), _geometry(options)]


def _states(
    options: Options, data: Sentences, layers: tuple[int, ...] | None = None
) -> Callable[[int], tuple[Examples, StatesStore]]:
    """pocket's states of the first sentences, made once for all rounds."""

    @cache
    def states(count: int) -> tuple[Examples, StatesStore]:
        examples = data.examples.take(range(count))
        return examples, hidden_states(load("pocket", device=options.device), examples, layers=layers)

    return states


def _rsa(options: Options) -> Report:
    """Two layers of pocket on the same words."""
    data = sentences(options, "dev.tsv", options.size(872, 40))
    states, most = _states(options, data, LAYERS), options.size(5000, 60)

    def spaces(examples: Examples) -> tuple[list[np.ndarray], np.ndarray]:
        examples, store = states(len(examples))
        rows = np.sort(common_words({"pocket": store}, examples)[0, :most])
        return [np.array(store.vectors(layer)[rows]) for layer in LAYERS], group_bounds(owners(store)[rows], 20)

    def whole(examples: Examples) -> Work:
        given, _ = spaces(examples)

        def work() -> np.ndarray:
            upper = np.triu_indices(len(given[0]), 1)
            one, other = ((unit @ unit.T)[upper] for unit in map(_units, given))
            return np.corrcoef(one, other)[:1, 1]

        return work

    def toolbox(examples: Examples) -> Work:
        from rsatoolbox.data import Dataset
        from rsatoolbox.rdm import calc_rdm
        from rsatoolbox.rdm import compare as compared

        given, _ = spaces(examples)

        def work() -> np.ndarray:
            one, other = (calc_rdm(Dataset(_units(space)), method="euclidean") for space in given)
            return compared(one, other, method="corr")[0]

        return work

    def ours(examples: Examples) -> Work:
        given, edges = spaces(examples)
        placed = [torch.from_numpy(space).to(options.device) for space in given]
        return lambda: rsa(placed, [(0, 1)], edges)[0]

    variants = [Variant(WHOLE, whole), Variant(OURS, ours)]
    claims = []
    if find_spec("rsatoolbox"):
        variants.insert(1, Variant(TOOLBOX, toolbox))
        claims.append(Claim(OURS, TOOLBOX, 20))
    words = len(spaces(data.examples)[0][0])
    notes = [f"{words:,} words of layers {LAYERS[0]} and {LAYERS[1]}"]
    notes += [] if claims else ["rsatoolbox isn't installed: it is left out"]
    return compare("RSA of two layers", variants, data, options, repeats=5, claims=claims, notes=notes)


def _units(space: np.ndarray) -> np.ndarray:
    return space / np.linalg.norm(space, axis=1, keepdims=True)


def _geometry(options: Options) -> Report:
    """Five measures of every layer in three forms; bertscope's have intervals, and other measures beside them."""
    data = sentences(options, "train.tsv", options.size(10_700, 40))
    states = _states(options, data, LAYERS if options.quick else None)
    config = GeometryConfig(sample=options.size(2000, 50))

    def by_word(examples: Examples) -> Work:
        examples, store = states(len(examples))
        words = read_words(store, examples, config)

        def work() -> np.ndarray:
            return np.array([_layer_by_word(store.vectors(layer), words, config) for layer in store.layers])

        return work

    def ours(examples: Examples) -> Work:
        examples, store = states(len(examples))

        def work() -> np.ndarray:
            tables = geometry(store, examples, config).tables
            both = pd.concat([tables["layers"], tables["plain"]])
            values = both.set_index(["layer", "form", "measure"])["value"]
            return np.array([[[values[layer, form, measure] for measure in MEASURES] for form in FORMS]
                             for layer in store.layers])  # fmt: skip

        return work

    _, store = states(len(data))
    notes = [f"{len(store):,} words in {len(store.layers)} layers of {store.dim} dimensions"]
    variants = [Variant(BY_WORD, by_word), Variant(ALL, ours)]
    return compare("geometry", variants, data, options, repeats=1, notes=notes)


def _layer_by_word(vectors: np.ndarray, words: Words, config: GeometryConfig) -> list[list[float]]:
    centred = vectors - vectors.mean(0)
    covariance = centred.T @ centred / len(centred)
    top = np.linalg.eigh(covariance)[1][:, -config.directions(vectors.shape[1]) :]
    forms = [np.asarray(vectors), centred - centred @ top @ top.T, centred / np.sqrt(np.diag(covariance))]
    return [_written_out(form, words) for form in forms]


def _written_out(vectors: np.ndarray, words: Words) -> list[float]:
    """A layer's measures as one would write them: loops over types, texts and sets of occurrences; which sets those
    are, and how much each type counts, is given."""
    units = _units(vectors)
    alike, inside = [], []
    for end, count in zip(np.cumsum(words.counts), words.counts, strict=True):
        total = units[words.order[end - count : end]].sum(0)
        alike.append((total @ total - count) / (count * (count - 1)))
    starts = np.flatnonzero(np.diff(words.text, prepend=-1))
    for begin, end in zip(starts, [*starts[1:], len(vectors)], strict=True):
        if end - begin > 1:
            mean = vectors[begin:end].mean(0)
            inside.append((units[begin:end] @ (mean / np.linalg.norm(mean))).mean())
    n, total = len(units), units.sum(0, dtype=np.float64)
    weights = words.weights[0]
    shares, by_chance = (_explained(vectors, sets) for sets in (words.sets, words.random_sets))
    types = np.unique(words.type_of_set)
    of_types = [shares[words.type_of_set == one].mean() for one in types]
    return [
        (total @ total - n) / (n * (n - 1)), float(np.average(alike, weights=weights)), float(np.mean(inside)),
        float(np.average(of_types, weights=weights[types])), float(by_chance.mean()),
    ]  # fmt: skip


def _explained(vectors: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """[set]: how much of its vectors lies along the first direction."""
    found = []
    for rows in sets:
        values = np.linalg.svd(vectors[rows], compute_uv=False) ** 2
        found.append(values[0] / values.sum())
    return np.array(found)
