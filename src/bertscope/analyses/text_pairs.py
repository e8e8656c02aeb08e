"""Pairs of texts that mean the same: how close vectors put them, and how evenly they spread all texts (Wang & Isola
2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from bertscope.core.resampling import left_out

if TYPE_CHECKING:
    from bertscope.core.examples import Examples

_KNOWN = {"glue/mrpc": 1, "glue/qqp": 1, "demo/paraphrase": 1}
"""Tasks whose labels say whether two texts mean the same, and the label that says so."""
_SCORE = 0.8  # of the highest score: 4 of 5 in STS-B, as SimCSE has it


def meaning_same(examples: Examples, same: float | None) -> tuple[np.ndarray, str] | None:
    """Which pairs mean the same, [example], and in words; None where the labels don't say."""
    label = examples.label
    if examples.pair is None or label is None or label.ndim > 1 or not len(label):
        return None
    if label.dtype.kind == "f":
        least = same if same is not None else _SCORE * label.max()
        return label >= least, f"pairs with a score of at least {least:g}"
    same = same if same is not None else _KNOWN.get(examples.name)
    return None if same is None else (label == same, f"pairs with the label {same:g}")


def alignment_and_uniformity(texts: Tensor, same: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
