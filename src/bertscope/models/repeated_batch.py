"""A batch several times, one beside the other: what several forms of a model read in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bertscope.models.outputs.base import RowBatch
from bertscope.models.taps import Kept


def repeated(batch: RowBatch, times: int) -> RowBatch:
    """The batch so many times, one after the other, without what is right."""
    if times == 1:
        return batch
    tiled = partial(_tiled, times=times)
    return replace(
        batch,
        rows=np.tile(batch.rows, times),
        inputs={name: tiled(values) for name, values in batch.inputs.items()},
        lengths=tiled(batch.lengths),
        special=tiled(batch.special),
        added=tiled(batch.added),
        words=tiled(batch.words),
        segments=tiled(batch.segments),
        examples=np.tile(batch.examples, times),
        owner=torch.cat([batch.owner + turn * len(batch.examples) for turn in range(times)]),
        gold=None,
        marks={name: tiled(values) for name, values in batch.marks.items()},
    )


def kept_for(kept: Sequence[Kept], first: int, times: int) -> list[Kept]:
    """What replay from layer `first` on needs of a batch that is there so many times."""
    found = list(kept)
    if times == 1:
        return found
    if first:  # what lower layers returned is nobody's but the next one's: all may return the last
        below = kept[first - 1].output
        assert below is not None
        below = _tiled(below, times)
        found[:first] = [replace(one, output=below) for one in kept[:first]]
    if first < len(kept):
        at = kept[first]
        mask = at.mask if at.mask is None or len(at.mask) == 1 else _tiled(at.mask, times)
        found[first] = replace(at, context=_tiled(at.context, times), value=_tiled(at.value, times), mask=mask)
    return found


def _tiled(values: Tensor, times: int) -> Tensor:
    return values.repeat(times, *[1] * (values.ndim - 1))
