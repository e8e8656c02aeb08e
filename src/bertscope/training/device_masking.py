"""Masking on the device: which pieces of a row are to be guessed, and what stands there instead.

As many pieces of every row as the rate says, so that shapes don't depend on chance and a step can be recorded; and
nothing waits for a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_SHOWN_AS_MASK, _SHOWN_AS_ANY = 0.8, 0.1  # BERT's: the rest is shown as it is


@dataclass(frozen=True)
class Pieces:
    """What masking must know of a vocabulary; on the device."""

    special: Tensor
    """[piece]: whether it is never masked."""
    continues: Tensor
    """[piece]: whether it goes on with the word of the piece before it; nowhere, where pieces are masked one by
    one."""
    mask: int
    first: int
    """The first piece that isn't special; those from there on may stand in another's place."""


@dataclass(frozen=True)
class Masked:
    shown: Tensor
    """[row, token]: the pieces with masks among them."""
    places: Tensor
    """[row, k]: where something is to be guessed."""
    right: Tensor
    """[row, k]: what."""
    weight: Tensor
    """[row, k]: 1; 0 at places that aren't masked after all: where the row has too few pieces, or its last word would
    have been masked in part."""
    begins: Tensor
    """[row, k]: whether a masked word begins there."""


def masked(ids: Tensor, pieces: Pieces, count: int) -> Masked:
    """Mask words drawn at random in each row [row, token], at most `count` pieces of them; with torch's generator."""
    rows, length = ids.shape
    begins, special = ~pieces.continues[ids], pieces.special[ids]
    word = begins.cumsum(1) - 1
    drawn = torch.rand(rows, length + 1, device=ids.device)
    # What goes on with a special token is the rest of a word that the row before it has the beginning of.
    drawn.scatter_(1, word.masked_fill(~special, length), 2.0)
    drawn = drawn.gather(1, word)
    order = drawn.argsort(dim=1, stable=True)  # so the pieces of a word stay together
    places, next_word = order[:, :count], word.gather(1, order[:, count : count + 1])
    weight = (drawn.gather(1, places) < 1) & (word.gather(1, places) != next_word)
    right = ids.gather(1, places)
    how = torch.rand(rows, count, device=ids.device)
    other = torch.randint(pieces.first, len(pieces.special), (rows, count), device=ids.device, dtype=ids.dtype)
    # A number in `torch.where` is brought to the device, and a step that does so can't be recorded.
    instead = torch.where(how < _SHOWN_AS_MASK + _SHOWN_AS_ANY, other, right)
    instead = instead.masked_fill(how < _SHOWN_AS_MASK, pieces.mask)
    shown = ids.scatter(1, places, torch.where(weight, instead, right))
    return Masked(shown, places, right, weight.float(), begins.gather(1, places) & weight)
