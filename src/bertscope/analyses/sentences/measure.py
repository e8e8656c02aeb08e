"""`sentences`: the vectors of the pairs' texts, layer by layer, and how they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bertscope.analyses.sentences.question import SentencesConfig, check
from bertscope.analyses.sentences.result import ALIGNMENT, UNIFORMITY, sentences_result
from bertscope.analyses.text_pairs import alignment_and_uniformity, meaning_same
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.progress import progress
from bertscope.core.resampling import group_bounds
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import full_precision
from bertscope.models.sentence_vectors import TEXT_POOLS, sentence_vectors

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
    truncated: int
    """Texts that are longer than the model reads, and were cut."""


def _read(encoder: Encoder, pairs: Examples, config: SentencesConfig) -> _Read:
    assert pairs.pair is not None
    layers = range(encoder.n_layers + 1)
    sampled = np.sort(np.argsort(hashed(pairs.ids, config.seed), kind="stable")[: config.sample // 2])
    cosines = np.empty((len(TEXT_POOLS), len(layers), len(pairs)), np.float32)
    kept, truncated = [], 0
    with progress("pairs", len(pairs)) as bar:
        for start in range(0, len(pairs), _PAIRS):
            some = slice(start, min(start + _PAIRS, len(pairs)))
            vectors, longer = sentence_vectors(encoder, [*pairs.text[some], *pairs.pair[some]], layers=layers)
            truncated += longer
            both = np.stack(np.split(vectors, 2, axis=2), 3)  # [pool, layer, pair, 2, d]
            both /= np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)
            cosines[..., some] = (both[..., 0, :] * both[..., 1, :]).sum(-1)
            here = sampled[(sampled >= some.start) & (sampled < some.stop)] - start
            kept.append(both[:, :, here].reshape(*both.shape[:2], 2 * len(here), -1))
            bar.advance(some.stop - start)
    return _Read(cosines, np.concatenate(kept, axis=2), sampled, truncated)


def _spread(encoder: Encoder, read: _Read, same: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    """Alignment and uniformity, [pool, layer, 1 + groups] each."""
    with full_precision():
        found = [
            [alignment_and_uniformity(torch.from_numpy(texts).to(encoder.device), same, edges) for texts in of_pool]
            for of_pool in read.texts
        ]
    alignment, uniformity = np.moveaxis(np.array(found), 2, 0)
    return {ALIGNMENT: alignment, UNIFORMITY: uniformity}
