"""What a map looks like in twenty numbers, each a closed form: no picture is made and no window slid.

Rows are queries, columns keys, n tokens; a map's cell shrinks as 1/n, so every number here is a share, a mean over
queries, or a ratio: maps of 8 and of 128 tokens are comparable.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, View, ascending, inner, times_log2

NAMES = (
    "two_before", "previous", "same", "next", "two_after", "offset", "band", "band_energy", "distance",
    "top", "top_three", "columns", "column_spread", "special", "spread",
    "own_side", "block", "block_of_words", "pair", "length",
)  # fmt: skip
_TINY = 1e-12
_OFFSETS = (-2, -1, 0, 1, 2)


def features(maps: LayerMaps) -> Tensor:
    """[row, head, feature], in the order of `NAMES`."""
    view, squares, received = maps.view, maps.squares.clamp_min(_TINY), maps.received
    like = view.once(_Templates)
    two_before, previous, same, following, two_after, own_side, block, block_of_words = like.sums(maps).unbind(-1)
    n = view.lengths[:, None]
    bits = n.log2()
    special = torch.einsum("bhk,bk->bh", received, (view.cls | view.sep).float())
    top = ascending(received)[..., -3:]
    columns = received / received.sum(-1, keepdim=True).clamp_min(_TINY)
    band_squares = [maps.maps.diagonal(offset, 2, 3).square().sum(-1) for offset in (-1, 0, 1)]
    found = {
        "two_before": two_before,
        "previous": previous,
        "same": same,
        "next": following,
        "two_after": two_after,
        "offset": torch.stack([two_before, previous, same, following, two_after]).amax(0),
        # Of what doesn't go to [CLS] and [SEP].
        "band": (previous + same + following) / (1 - special).clamp_min(0.05),
        "band_energy": torch.stack(band_squares).sum(0) / squares,
        "distance": maps.distance / n,
        "top": top[..., -1],
        "top_three": top.sum(-1),
        "columns": n * inner(received, received) / squares,
        "column_spread": -times_log2(columns.clamp_min(_TINY)).sum(-1) / bits,
        "special": special,
        "spread": maps.entropy / bits,
        "own_side": own_side - like.own_side_of_uniform,
        "block": block / (like.block_squares * squares).clamp_min(_TINY).sqrt(),
        "block_of_words": block_of_words / (like.block_of_words_squares * squares).clamp_min(_TINY).sqrt(),
        "pair": like.pair.expand_as(special),
        "length": (bits - 3).expand_as(special) / 4,  # 8 tokens are 0, 128 are 1
    }
    return torch.stack([found[name] for name in NAMES], dim=-1)


class _Templates:
    """Maps to compare those of a batch with: [row, template, query x key].

    A pair has two sides: its texts, each with the special tokens that close it. Where there is no pair there is one.
    """

    def __init__(self, view: View) -> None:
        second = (view.segments.cummax(1).values > 0) & view.real  # from the second text's first token on
        sides = torch.stack([view.real & ~second, second], dim=-1).float()  # [row, token, side]
        words = sides * (~(view.cls | view.sep))[..., None]
        n = view.lengths[:, None]
        self.pair = second.any(1, keepdim=True).float()
        self.own_side_of_uniform = (sides.sum(1) / n).square().sum(-1, keepdim=True)

        place = torch.arange(sides.shape[1], device=n.device)
        after = (place - place[:, None]).flatten()
        diagonals = [(after == offset) / (n - abs(offset)).clamp_min(1) for offset in _OFFSETS]
        # Uniform over the query's side, and over the words of it.
        blocks = [(sides @ (keys / keys.sum(1, keepdim=True).clamp_min(1)).mT).flatten(1) for keys in (sides, words)]
        self.block_squares, self.block_of_words_squares = (inner(block, block)[:, None] for block in blocks)
        self._templates = torch.stack([*diagonals, (sides @ sides.mT).flatten(1) / n, *blocks], 1)

    def sums(self, maps: LayerMaps) -> Tensor:
        """[row, head, template]: the sum of a map's cells, each times the template's."""
        return maps.flat @ self._templates.mT
