"""One attention map, handed over: what its mass is made of, and what it would be called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from bertscope.analyses.shapes import CLASSES, LABELS, Labels
from bertscope.analyses.shapes.decomposition import PARTS, decompose
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.analyses.shapes.net import FeatureNet, shipped
from bertscope.core.errors import UserError

_ROUNDING = 0.02  # of a row's sum: what half precision costs a long row
_SHORTEST = 3


@dataclass(frozen=True)
class ClassifiedMap:
    """What is said of one map."""

    shares: dict[str, float]
    """Of its mass: columns, band, block, rest; they sum to 1."""
    offset: float
    """Where the band is, in tokens after the query; NaN without a band."""
    width: float
    """How many diagonals the band has; NaN without a band."""
    name: str
    """Its class, by the classifier that was trained on both labellers' labels."""
    probabilities: dict[str, float]
    """By class."""
    by_labels: dict[Labels, str]
    """Its class by each of the classifiers: where they differ, people would."""


def classify_map(map: Any, separators: Sequence[int] = ()) -> ClassifiedMap:
    """The shape of one attention map.

    map          [query, key], a NumPy array or a tensor without padding; each row sums to 1
    separators   where [SEP] (or what the model calls it) stands, from 0: one closes a single text, two or more a
                 pair; [CLS] is taken to be the first token. None: one text
    """
    attention = _checked(map)
    places = sorted({0, *(_place(one, len(attention)) for one in separators)})
    layer = as_layer([attention], [places if separators else []])
    with torch.inference_mode():
        parts = decompose(layer)
        numbers = features(layer, parts)[0, 0]
        chances = {labels: net(numbers[None])[0].tolist() for labels, net in _nets().items()}
    names: dict[Labels, str] = {labels: CLASSES[int(np.argmax(chances[labels]))] for labels in LABELS}
    return ClassifiedMap(
        shares=dict(zip(PARTS, parts.shares[0, 0].tolist(), strict=True)),
        offset=parts.offset[0, 0].item(),
        width=parts.width[0, 0].item(),
        name=names["both"],
        probabilities=dict(zip(CLASSES, chances["both"], strict=True)),
        by_labels=names,
    )


@cache
def _nets() -> dict[Labels, FeatureNet]:
    return shipped()


def _checked(map: Any) -> np.ndarray:
    held = map.detach().cpu().float().numpy() if isinstance(map, torch.Tensor) else np.asarray(map)
    if held.ndim != 2 or held.shape[0] != held.shape[1] or len(held) < _SHORTEST:
        raise UserError(
            f"classify_map takes one map [query, key] of at least {_SHORTEST} tokens, not an array of shape "
            f"{list(held.shape)}; choose a layer, a text and a head, and cut the padding off"
        )
    if held.dtype.kind not in "fiu" or not np.isfinite(held).all() or (held < 0).any():
        raise UserError("classify_map: the map holds NaN, infinite, negative or no numbers; attention is 0 or more")
    sums = held.sum(1, dtype=np.float64)
    if np.abs(sums - 1).max() > _ROUNDING:
        worst = int(np.abs(sums - 1).argmax())
        raise UserError(
            f"classify_map: row {worst} of the map (from 0) sums to {sums[worst]:.3g}, not to 1; give attention "
            "after the softmax, rows as queries, without padding"
        )
    return held.astype(np.float32)


def _place(place: Any, length: int) -> int:
    if isinstance(place, bool) or int(place) != place or not 0 <= place < length:
        raise UserError(f"classify_map: separator {place!r} isn't a position from 0 to {length - 1} of the map")
    return int(place)
