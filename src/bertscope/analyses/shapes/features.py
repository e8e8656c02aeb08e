"""What a map looks like in some forty numbers, each a closed form: no picture is made and no window slid.

Rows are queries, columns keys, n tokens; a map's cell shrinks as 1/n, so every number here is a share, a mean over
queries, or a ratio: maps of 8 and of 128 tokens are comparable. Three kinds: where the mass goes; the shares of the
map's parts (`decomposition`); and what the eye sees of it, how much of the variance of its cells, bright ones cut
off, is between columns, texts or diagonals (people who label maps look at pictures scaled to their own contrast).
"""

from __future__ import annotations

import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, ascending, inner, times_log2
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes.decomposition import PARTS, Parts, Sides, along_diagonals, decompose, level_of_most

NAMES = (
    "two_before", "previous", "same", "next", "two_after", "offset", "band", "band_energy", "distance",
    "top", "top_three", "columns", "column_spread", "special", "spread",
    "own_side", "block", "block_of_words", "pair", "length",
    *(f"{part}_share" for part in PARTS),
    "seen_columns", "seen_columns_of_sides", "seen_sides", "seen_rows", "seen_diagonals",
    "seen_two_before", "seen_previous", "seen_same", "seen_next", "seen_two_after", "seen_band",
    "seen_first_column", "seen_second_column", "seen_third_column", "seen_own_side", "contrast", "noise",
)  # fmt: skip
_TINY = 1e-12
_OFFSETS = (-2, -1, 0, 1, 2)
_NEAR = ("seen_two_before", "seen_previous", "seen_same", "seen_next", "seen_two_after")
_COLUMNS = ("seen_first_column", "seen_second_column", "seen_third_column")
_BRIGHT = 8  # times uniform attention: what is brighter is all the same to the eye


def features(maps: LayerMaps, parts: Parts | None = None) -> Tensor:
    """[row, head, feature], in the order of `NAMES`; `parts` are the maps', where they are known already."""
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
    shares = (parts or decompose(maps)).shares
    found |= {f"{part}_share": shares[..., place] for place, part in enumerate(PARTS)} | _seen(maps)
    return torch.stack([found[name] for name in NAMES], dim=-1)


def _seen(maps: LayerMaps) -> dict[str, Tensor]:
    """How much of the variance of the map's cells, as the eye sees them, is between columns, sides or diagonals."""
    view, sides = maps.view, maps.view.once(Sides)
    n = view.lengths[:, None]
    size, member = sides.size.float()[:, None], sides.member.float()  # [row, 1, side], [row, token, side]
    share = size / n[..., None]
    bright = (maps.maps * n[..., None, None]).clamp_max(_BRIGHT)
    columns = (member / size.clamp_min(1)).mT[:, None] @ bright  # [row, head, side of queries, key]
    rectangles = columns @ (member / size.clamp_min(1))[:, None]  # [row, head, side of queries, side of keys]
    mean = bright.sum((2, 3)) / n.square()
    variance = (inner(bright.flatten(2), bright.flatten(2)) / n.square() - mean.square()).clamp_min(_TINY)
    deviation = variance.sqrt()
    whole = (columns * share[..., None]).sum(2)  # [row, head, key]
    real = view.real[:, None]
    key_is_real = real[:, :, None]
    of_sides = ((columns - mean[..., None, None]).square() * key_is_real).sum(3) * share / n[..., None]
    between = (rectangles - mean[..., None, None]).square() * share[..., None] * share[:, :, None]
    of_rows = ((bright.sum(3) / n[..., None] - mean[..., None]).square() * real).sum(-1) / n
    # What is left of the cells when each side's columns are taken away, along the diagonals.
    left = bright - sides.of_queries(columns)
    left = left * (real[..., None] & key_is_real)
    reach = left.shape[-1] // 2
    after = torch.arange(-reach, reach + 1, device=left.device)
    count = torch.where(after.abs() <= n // 2, n - after.abs(), 0)[:, None]  # [row, 1, diagonal]
    sums = along_diagonals(left, reach).sum(-1) * (count > 0)
    means = sums / count.clamp_min(1)
    near = torch.nn.functional.pad(means, (2, 2)).unfold(2, 5, 1)[:, :, reach] / deviation[..., None]
    band = (sums * (after.abs() <= (n // 8).clamp_min(1))[:, None]).sum(-1)
    usual = level_of_most(whole, real, view.real.sum(1)[:, None])
    brightest = ascending(whole * real)[..., -3:].flip(-1)
    own = (rectangles.diagonal(dim1=2, dim2=3) * share.square()).sum(-1)
    alike = share.square().sum(-1)  # of two tokens, that they are on one side
    own_side = (own - mean * alike) / deviation / (alike - alike.square()).clamp_min(_TINY).sqrt()
    return {
        "seen_columns": ((whole - mean[..., None]).square() * real).sum(-1) / n / variance,
        "seen_columns_of_sides": of_sides.sum(-1) / variance,
        "seen_sides": between.sum((2, 3)) / variance,
        "seen_rows": of_rows / variance,
        "seen_diagonals": (means.square() * count).sum(-1) / n.square() / variance,
        **dict(zip(_NEAR, near.unbind(-1), strict=True)),
        "seen_band": band / n.square() / deviation,
        **dict(zip(_COLUMNS, ((brightest - usual[..., None]) / deviation[..., None]).unbind(-1), strict=True)),
        "seen_own_side": torch.where(sides.is_pair, own_side, 0),
        "contrast": deviation / mean,
        "noise": (inner(left.flatten(2), left.flatten(2)) / n.square()).sqrt() / mean,
    }


class _Templates:
    """Maps to compare those of a batch with: [row, template, query x key].

    A pair has two sides: its texts, each with the special tokens that close it. Where there is no pair there is one.
    """

    def __init__(self, view: View) -> None:
        found = view.once(Sides)
        sides = found.member.float()  # [row, token, side]
        words = sides * (~(view.cls | view.sep))[..., None]
        n = view.lengths[:, None]
        self.pair = found.is_pair.float()
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
