"""`sentences`: the vectors of the pairs' texts, layer by layer, and how they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bertscope.analyses.sentences.question import SentencesConfig, check
from bertscope.analyses.sentences.result import ALIGNMENT, UNIFORMITY, own, sentences_result
from bertscope.analyses.text_pairs import alignment_and_uniformity, meaning_same
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.progress import progress
from bertscope.core.resampling import group_bounds
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import full_precision
from bertscope.models.sentence_vectors import TEXT_POOLS, text_vectors

_PAIRS = 1024  # read at a time: what is kept of a pair is small beside its vectors


def measure(model: Encoder, task: Task, config: SentencesConfig) -> Result:
    check(task, config)
    pairs = task.test
    assert pairs.label is not None
    found = meaning_same(pairs, config.least_score)
    assert found is not None
    same, which = found
    read = _read(model, pairs, config)
    edges = group_bounds(np.arange(len(read.sampled)), config.groups)
    arrays = {"cosine": read.cosines, "gold": pairs.label.astype(np.float64)}
    arrays |= _spread(model, read, same[read.sampled], edges)
    arrays |= {own("cosine"): read.own[0]} if read.own else {}
    sizes = {ALIGNMENT: int(same[read.sampled].sum()), UNIFORMITY: 2 * len(read.sampled)}
    return sentences_result(model, task, arrays, sizes, which, read.truncated, config)


@dataclass(frozen=True)
class _Read:
    """What is kept of the texts' vectors."""

    cosines: np.ndarray
    """[pool, layer, pair]"""
    texts: np.ndarray
    """[pool, layer, 2 x sampled pairs, d]: the vectors of some, two to a pair."""
    sampled: np.ndarray
    """[sampled pair]: which pairs those are."""
    own: tuple[np.ndarray, np.ndarray] | None
    """The same of the model's own vectors, where its maker defined them: [pair] and [2 x sampled pairs, e]."""
    truncated: int
    """Texts that are longer than the model reads, and were cut."""


def _read(encoder: Encoder, pairs: Examples, config: SentencesConfig) -> _Read:
    assert pairs.pair is not None
    layers = range(encoder.n_layers + 1)
    sampled = np.sort(np.argsort(hashed(pairs.ids, config.seed), kind="stable")[: config.sample // 2])
    cosines = np.empty((len(TEXT_POOLS), len(layers), len(pairs)), np.float32)
    kept, truncated = [], 0
    own_cosines, own_kept = [], []
    with progress("pairs", len(pairs)) as bar:
        for start in range(0, len(pairs), _PAIRS):
            some = slice(start, min(start + _PAIRS, len(pairs)))
            vectors = text_vectors(encoder, [*pairs.text[some], *pairs.pair[some]], layers=layers)
            truncated += vectors.truncated
            here = sampled[(sampled >= some.start) & (sampled < some.stop)] - start
            cosines[..., some], texts = _paired(vectors.pooled, here)
            kept.append(texts)
            if vectors.own is not None:
                own_cosine, own_texts = _paired(vectors.own, here)
                own_cosines.append(own_cosine)
                own_kept.append(own_texts)
            bar.advance(some.stop - start)
    of_own = (np.concatenate(own_cosines), np.concatenate(own_kept)) if own_kept else None
    return _Read(cosines, np.concatenate(kept, axis=2), sampled, of_own, truncated)


def _paired(vectors: np.ndarray, sampled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of vectors [..., text, d], all first texts before all second ones: the cosines of pairs [..., pair], and the
    vectors of the sampled pairs [..., 2 x pair, d] at length 1."""
    both = np.stack(np.split(vectors, 2, axis=-2), -2)  # [..., pair, 2, d]
    both /= np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)
    some = both[..., sampled, :, :]
    return (both[..., 0, :] * both[..., 1, :]).sum(-1), some.reshape(*some.shape[:-3], 2 * len(sampled), -1)


def _spread(encoder: Encoder, read: _Read, same: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    """Alignment and uniformity, [pool, layer, 1 + groups] each; of the model's own vectors [1 + groups]."""

    def spread(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return alignment_and_uniformity(torch.from_numpy(texts).to(encoder.device), same, edges)

    with full_precision():
        found = [[spread(texts) for texts in of_pool] for of_pool in read.texts]
        own_found = spread(read.own[1]) if read.own else None
    alignment, uniformity = np.moveaxis(np.array(found), 2, 0)
    arrays = {ALIGNMENT: alignment, UNIFORMITY: uniformity}
    if own_found is not None:
        arrays |= {own(ALIGNMENT): np.array(own_found[0]), own(UNIFORMITY): np.array(own_found[1])}
    return arrays
