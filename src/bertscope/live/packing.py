"""Maps for the page: packed, with the name of each one's shape; and how far those of two checkpoints are apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import torch

from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.net import FeatureNet, shipped
from bertscope.live.messages import Maps
from bertscope.live.typed import Typed
from bertscope.report.attention_levels import LONGEST, packed_quickly

MOST = LONGEST
"""Tokens of which maps are shown."""
_SHORTEST = 3
"""Tokens of a map that has a shape."""

Layers = Sequence[np.ndarray]
"""Of each layer its heads' maps [head, query, key]; between rows that are read by themselves there is nothing."""


def packed(first: int, layers: Layers, patterns: list[list[str]]) -> Maps:
    """Those of layers from `first` on, counted from 1."""
    step, wide, levels = packed_quickly(layers)
    return Maps(first, step, wide, levels, patterns)


def shapes(typed: Typed, layers: Layers) -> list[list[str]]:
    """[layer][head]: what each map would be called, as `classify_map` does; of several rows, by the mean of the
    probabilities. Nothing where a row is too short to have a shape."""
    ends = np.cumsum(typed.rows.lengths)
    starts = ends - typed.rows.lengths
    counts = [len(heads) for heads in layers]
    if typed.rows.lengths.min() < _SHORTEST or not sum(counts):
        return [[""] * count for count in counts]
    whole = torch.from_numpy(np.concatenate(layers))
    probable = torch.zeros(len(whole), len(CLASSES))
    with torch.inference_mode():
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            maps = whole[None, :, start:end, start:end]
            probable += _net()(features(LayerMaps(maps, _view(typed, row, start, end))))[0]
    names = [CLASSES[place] for place in probable.argmax(-1).tolist()]
    at = np.cumsum([0, *counts])
    return [names[begin:end] for begin, end in pairwise(at)]


def _view(typed: Typed, row: int, start: int, end: int) -> View:
    rows, here = typed.rows, slice(start, end)
    real = torch.ones(1, end - start, dtype=torch.bool)
    added, words, segments = (
        torch.from_numpy(np.array(each[here]))[None] for each in (rows.added, rows.words, rows.segments)
    )
    return View(np.arange(1), real, added, words, segments.long())


@cache
def _net() -> FeatureNet:
    return shipped()["both"]


def apart(one: Layers, other: Layers) -> list[list[float | None]]:
    """[layer][head]: 1 - the cosine of the two flattened maps, as `change` has it."""
    found: list[list[float | None]] = []
    for layers in zip(one, other, strict=True):
        before, after = (each.reshape(len(each), -1) for each in layers)
        product, *squares = (np.einsum("hc,hc->h", *pair) for pair in ((before, after), (before,) * 2, (after,) * 2))
        found.append(np.clip(1 - product / np.sqrt(squares[0] * squares[1]), 0, 1).astype(float).tolist())
    return found
