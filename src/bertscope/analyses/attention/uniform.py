"""What a head gives that attends to all keys alike: words of more pieces get more of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bertscope.analyses.attention.between_words import between_words, received

if TYPE_CHECKING:
    from bertscope.analyses.attention.view import View

_TINY = torch.finfo(torch.float32).tiny


class Uniform:
    """The map of a head that attends to all keys alike that it may look at: those of the text, and in a local layer
    those in the window. Of norm-weighted attention it is what such a head moves: it takes equally of every vector,
    and the vectors have their lengths. So a head that tells no word from another is like it, weighted or not.

    allowed   how much it takes of each key, up to a factor for each query: broadcasts to [row, head, query, key]
    """

    def __init__(self, view: View, allowed: Tensor) -> None:
        self._view, self.allowed = view, allowed

    @cached_property
    def maps(self) -> Tensor:
        """[row, head, query, key]; one head for all, unless they are weighted."""
        real = self._view.real
        alike = self.allowed * (real[:, None, None, :] & real[:, None, :, None])
        return alike / alike.sum(-1, keepdim=True).clamp_min(_TINY)

    @cached_property
    def received(self) -> Tensor:
        """[row, head, key]."""
        return received(self._view, self.maps)

    @cached_property
    def between_words(self) -> Tensor:
        """[row, to, from, head]."""
        return between_words(self._view, self.maps)
