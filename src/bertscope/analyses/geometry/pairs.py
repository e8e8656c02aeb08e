"""Texts that mean the same: how close a layer puts them, and how evenly it spreads all texts (Wang & Isola 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from bertscope.analyses.geometry.space import LayerVectors
from bertscope.analyses.occurrences import owners
from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed
from bertscope.core.resampling import group_bounds, left_out

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.states_store import StatesStore

_KNOWN = {"glue/mrpc": 1, "glue/qqp": 1, "demo/paraphrase": 1}
"""Tasks whose labels say whether two texts mean the same, and the label that says so."""
_SCORE = 0.8  # of the highest score: 4 of 5 in STS-B, as SimCSE has it


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
    said: str
    """Which pairs those are, in words."""


def paired_texts(
    store: StatesStore, examples: Examples, same: float | None, sample: int, groups: int, seed: int
) -> PairedTexts | None:
    """At most `sample` texts of pairs, chosen by a hash of their ids; None where labels don't tell which mean the
    same."""
    which = meaning_same(examples, same)
    if which is None:
        if same is not None:
            raise UserError("--same is for pairs of texts with labels or scores; leave it out")
        return None
    positive, said = which
    owner = owners(store)
    words = np.stack([np.bincount(owner[store.segments == one], minlength=len(examples)) for one in (0, 1)])
    whole = np.flatnonzero((words > 0).all(0))
    chosen = np.sort(whole[np.argsort(hashed(examples.ids, seed)[whole], kind="stable")[: sample // 2]])
    if positive[chosen].sum() < 2:
        if same is not None:
            raise UserError(f"fewer than 2 of {len(chosen)} pairs are {said}; choose another value for --same")
        return None
    place = np.full(len(examples), -1)
    place[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(place[owner] >= 0)
    text = 2 * place[owner[rows]] + store.segments[rows]
    return PairedTexts(rows, text, positive[chosen], group_bounds(np.arange(len(chosen)), groups), said)


def meaning_same(examples: Examples, same: float | None) -> tuple[np.ndarray, str] | None:
    """Which pairs mean the same, [example], and in words; None where the labels don't say."""
    label = examples.label
    if examples.pair is None or label is None or not len(label):
        return None
    if label.dtype.kind == "f":
        least = same if same is not None else _SCORE * label.max()
        return label >= least, f"pairs with a score of at least {least:g}"
    same = same if same is not None else _KNOWN.get(examples.name)
    return None if same is None else (label == same, f"pairs with the label {same:g}")


def alignment_and_uniformity(vectors: LayerVectors, pairs: PairedTexts) -> tuple[np.ndarray, np.ndarray]:
    """Of the layer's pairs, as `spread` has them. A text is the mean of its words."""
    words = vectors[pairs.rows]
    text = torch.from_numpy(pairs.text).to(words.device)
    sums = words.new_zeros(2 * len(pairs.same), words.shape[1]).index_add_(0, text, words)
    return spread(sums, pairs.same, pairs.edges)  # a mean and a sum have the same direction


def spread(texts: Tensor, same: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean squared distance of two texts that mean the same, and the logarithm of the mean of exp(-2 distance^2)
    over all two texts, both [1 + groups].

    `texts` [2 x pairs, d] are taken at length 1, two to a pair; `same` [pair] says which pairs mean the same, `edges`
    where groups of pairs begin.
    """
    texts = normalize(texts, dim=1)
    groups = len(edges) - 1
    apart = (texts[0::2] - texts[1::2]).square().sum(1).double().cpu().numpy()
    close = left_out(np.add.reduceat(np.stack([apart * same, same], 1), edges[:-1]))
    alignment = np.divide(close[:, 0], close[:, 1], out=np.full(1 + groups, np.nan), where=close[:, 1] > 0)
    near = torch.exp(-2 * (2 - 2 * texts @ texts.T)).fill_diagonal_(0).double().cpu().numpy()
    between = np.add.reduceat(np.add.reduceat(near, 2 * edges[:-1]), 2 * edges[:-1], axis=1)
    involved = 2 * between.sum(1) - between.diagonal()  # pairs of texts with at least one of the group
    total = np.concatenate([[between.sum()], between.sum() - involved])
    sizes = left_out(2.0 * np.diff(edges))
    return alignment, np.log(total / (sizes * (sizes - 1)))
