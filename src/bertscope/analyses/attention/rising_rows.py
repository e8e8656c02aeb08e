"""One of the lowest of two rows that are in order, without merging them."""

from __future__ import annotations

import torch
from torch import Tensor


def nth_of_both(one: Tensor, other: Tensor, n: Tensor, most: int) -> Tensor:
    """[...] of two rows [..., place] that rise: what has `n` others before it in both; `n` is less than `most`.

    The lowest n + 1 are the first of both: so many of one, the rest of the other. However that is divided, the
    largest is no lower than what is looked for, and once it is that."""
    shape = (*other.shape[:-1], 1)
    lows, highs = (one.new_full((), end).expand(shape) for end in (-torch.inf, torch.inf))
    # Of the other n + 1, n, ... are taken. Fewer than none can't be, nor more than it has: there it is infinite.
    place = torch.arange(2, 1 - most, -1, device=n.device) + n[..., None]  # that of the last taken; none is 1
    place = place.clamp(0, other.shape[-1] + 2).expand(*shape[:-1], -1)
    ends = torch.cat([highs, lows, other, highs], -1).gather(-1, place)
    return torch.maximum(ends, torch.cat([lows, one[..., :most]], -1)).amin(-1)
