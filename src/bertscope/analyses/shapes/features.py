"""What a map looks like in twenty numbers, each a closed form: no picture is made and no window slid.

Rows are queries, columns keys, n tokens; a map's cell shrinks as 1/n, so every number here is a share, a mean over
queries, or a ratio: maps of 8 and of 128 tokens are comparable.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from bertscope.analyses.attention import LayerMaps, View

NAMES = (
    "two_before", "previous", "same", "next", "two_after", "offset", "band", "band_energy", "distance",
    "top", "top_three", "columns", "column_spread", "special", "spread",
    "own_side", "block", "block_of_words", "pair", "length",
)  # fmt: skip
_TINY = 1e-12


def features(maps: LayerMaps) -> Tensor:
    """[row, head, feature], in the order of `NAMES`."""
    return _Look(maps).all


class _Look:
    def __init__(self, maps: LayerMaps) -> None:
        self.maps, self.view = maps, maps.view
        self.n = self.view.lengths[:, None].to(maps.maps.dtype)
        self.sides = _Sides(self.view, maps.maps.dtype)

    @cached_property
    def all(self) -> Tensor:
        maps, view, n = self.maps, self.view, self.n
        two_before, previous, same, following, two_after = self.diagonals
        band = previous + same + following
        special = torch.einsum("bhk,bk->bh", maps.received, (view.cls | view.sep).to(n.dtype))
        top = maps.received.topk(min(3, maps.received.shape[-1])).values
        bits = n.log2()
        received = maps.received / maps.received.sum(-1, keepdim=True).clamp_min(_TINY)
        column_entropy = -(received * received.clamp_min(_TINY).log2()).sum(-1)
        columns = {
            "two_before": two_before,
            "previous": previous,
            "same": same,
            "next": following,
            "two_after": two_after,
            "offset": torch.stack([two_before, previous, same, following, two_after]).amax(0),
            "band": band / (1 - special).clamp_min(0.05),  # of what doesn't go to [CLS] and [SEP]
            "band_energy": self.band_squares / maps.squares.clamp_min(_TINY),
            "distance": maps.distance / n,
            "top": top[..., 0],
            "top_three": top.sum(-1),
            "columns": n * maps.received.square().sum(-1) / maps.squares.clamp_min(_TINY),
            "column_spread": column_entropy / bits,
            "special": special,
            "spread": maps.entropy / bits,
            "own_side": self.sides.mass(maps),
            "block": self.sides.likeness(maps, of_words=False),
            "block_of_words": self.sides.likeness(maps, of_words=True),
            "pair": self.sides.two.to(n.dtype).expand_as(special),
            "length": (bits - 3).expand_as(special) / 4,  # 8 tokens are 0, 128 are 1
        }
        return torch.stack([columns[name] for name in NAMES], dim=-1)

    @cached_property
    def diagonals(self) -> list[Tensor]:
        """[row, head] each: the mean attention to the token two before, before, itself, after, two after."""
        found = []
        for offset in range(-2, 3):
            total = self.maps.maps.diagonal(offset, 2, 3).sum(-1)
            found.append(total / (self.n - abs(offset)).clamp_min(1))
        return found

    @cached_property
    def band_squares(self) -> Tensor:
        """[row, head]: the sum of squares on the three middle diagonals."""
        return sum(
            (self.maps.maps.diagonal(offset, 2, 3).square().sum(-1) for offset in (-1, 0, 1)), torch.zeros(())
        ).to(self.n.device)


class _Sides:
    """The two texts of a pair, each with the special tokens that close it; one side where there is no pair."""

    def __init__(self, view: View, dtype: torch.dtype) -> None:
        second = (view.segments.cummax(1).values > 0) & view.real  # from the second text's first token on
        self.sides = torch.stack([view.real & ~second, second], dim=-1).to(dtype)  # [row, token, side]
        self.words = self.sides * (~(view.cls | view.sep))[..., None].to(dtype)
        self.two = second.any(1, keepdim=True)

    def mass(self, maps: LayerMaps) -> Tensor:
        """[row, head]: the attention that stays on the query's side, less what a uniform head would keep there."""
        n = maps.view.lengths[:, None].to(self.sides.dtype)
        kept = (maps.maps @ self.sides[:, None] * self.sides[:, None]).sum((2, 3)) / n
        return kept - (self.sides.sum(1) / n).square().sum(-1, keepdim=True)

    def likeness(self, maps: LayerMaps, *, of_words: bool) -> Tensor:
        """[row, head]: the cosine with the map that is uniform over the query's side (or the words of that side)."""
        keys = self.words if of_words else self.sides
        size = keys.sum(1)  # [row, side]
        share = keys / size[:, None].clamp_min(1)
        shared = (maps.maps @ share[:, None] * self.sides[:, None]).sum((2, 3))
        # The squared length of the uniform map: for each query one over the number of its keys.
        length = (self.sides.sum(1) / size.clamp_min(1) * (size > 0)).sum(-1, keepdim=True)
        return shared / (length * maps.squares).clamp_min(_TINY).sqrt()
