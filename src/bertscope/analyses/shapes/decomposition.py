"""A map as a sum of four parts: what a text gets evenly, columns, a band along the diagonal, and the rest.

Rows are queries, columns keys. A pair has two sides, its texts, each with the special tokens that close it (the first
with the one that opens it); where there is no pair there is one. The *level* of some cells is the value that two
thirds of them reach: of m in ascending order, number 1 + (m - 1) // 3. In this order, each part taking from what
those before it left:

1. **Block**: a column has a level over the queries of a side, what most of those queries give it. The level of those
   levels, over the keys of a side, is the rectangle's; a cell's part is that, or the whole cell where it is less.
2. **Columns**: by how much a column's level is above its rectangle's; a cell's part is that, or what is left of it.
3. **Band**: a diagonal, up to half the tokens away, has the level of what is left along it, less the level of all
   diagonals' levels. A cell's part is that, or what is left of it. In a row that the edge cuts, the band is what is
   left within its reach (the nearest cell, where all of it is outside), up to what a whole row has.
4. **Rest**: what is left.

So a uniform map, which is columns and block at once, is block. A sum of such parts is found exactly where, on each
side, the columns are at most two thirds of the tokens, no column meets the band in more than two thirds of the
queries (what the edge piles up in the first and last column included), and the band is at most half the tokens away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, nth_lowest
from bertscope.analyses.attention.view import View

PARTS = ("columns", "band", "block", "rest")
"""What a map's mass is divided into; shares of them sum to 1."""
_SOME = 1e-6  # of a row's mass: less than this in a band is rounding


@dataclass(frozen=True)
class Parts:
    """Of each map [row, head]."""

    shares: Tensor
    """[row, head, part], in the order of `PARTS`."""
    offset: Tensor
    """Where the band is: the mean of its diagonals (key minus query), by their levels; NaN without a band."""
    width: Tensor
    """How many diagonals it has, those of equal levels: the square of their sum over the sum of their squares."""


def decompose(maps: LayerMaps) -> Parts:
    """The parts of every map of a layer."""
    sides = maps.view.once(Sides)
    lengths = maps.view.lengths[:, None]
    level, column = (torch.zeros_like(maps.maps[:, :, :2]) for _ in range(2))  # [row, head, side of queries, key]
    keys_of = maps.view.once(_keys)
    columns = keys_of.of(maps.maps.mT)
    for queries in range(sides.count):
        common = keys_of.levels(columns, sides.member[:, None, :, queries], sides.size[:, None, queries])
        for keys in range(sides.count):
            here = sides.member[:, None, :, keys]
            even = level_of_most(common, here, sides.size[:, None, keys])[..., None]
            level[:, :, queries] += even * here
        column[:, :, queries] = (common - level[:, :, queries]).clamp_min(0)
    left = maps.maps - sides.of_queries(level)
    over = left.clamp_min(0)
    blocks = maps.maps.sum((2, 3)) - over.sum((2, 3))
    left = (over - sides.of_queries(column)).clamp_min(0)
    columns = over.sum((2, 3)) - left.sum((2, 3))
    band, offset, width = _band(left, maps.view)
    shares = (torch.stack([columns, band, blocks], -1) / lengths[..., None]).clamp(0, 1)
    rest = (1 - shares.sum(-1, keepdim=True)).clamp_min(0)
    return Parts(torch.cat([shares, rest], -1), offset, width)


class Sides:
    """Which side each token is on."""

    def __init__(self, view: View) -> None:
        second = _second(view)
        self.member = torch.stack([view.real & ~second, second], dim=-1)  # [row, token, side]
        self.size = self.member.sum(1)
        self.index = second.long()
        self.is_pair = second.any(1, keepdim=True)  # [row, 1]
        self.count = 2 if bool(_second(view.host).any()) else 1

    def of_queries(self, values: Tensor) -> Tensor:
        """[row, head, query, key] of what sides have, [row, head, side of queries, key]."""
        if self.count == 1:
            return values[:, :, :1]
        return values.gather(2, self.index[:, None, :, None].expand(-1, values.shape[1], -1, values.shape[3]))


def _second(view: View) -> Tensor:
    """[row, token]: on the second side, which is from the second text's first token on."""
    return (view.segments.cummax(1).values > 0) & view.real


def level_of_most(values: Tensor, among: Tensor, count: Tensor) -> Tensor:
    """The level that most values along the last dimension reach (two thirds), of those that are `among`; 0 where none
    is."""
    found = nth_lowest(torch.where(among, values, torch.inf), ((count - 1) // 3).clamp_min(0))
    return torch.where(count > 0, found, 0)


class _Lines:
    """Lines of maps, such as their columns, of which a padded text has less than the batch's longest. A GPU is given
    those alone that the texts have: it takes most of its time to sort them."""

    def __init__(self, view: View, there: np.ndarray) -> None:
        """`there` [row, line]: whether the text has it."""
        self._shape = there.shape
        self._places = None if _takes_all(view) else tuple(map(view.send, np.nonzero(there)))

    def of(self, values: Tensor) -> Tensor:
        """[row, head, line, cell]; or [line of any row, head, cell]."""
        return values.contiguous() if self._places is None else values.transpose(1, 2)[self._places]

    def levels(self, lines: Tensor, among: Tensor, count: Tensor) -> Tensor:
        """[row, head, line] of what `of` gave: see `level_of_most`; `among` [row, line or 1, cell], `count` [row,
        line or 1]."""
        if self._places is None:
            return level_of_most(lines, among[:, None], count[:, None])
        among, count = (
            one.expand(*self._shape, *one.shape[2:])[self._places][:, None] for one in (among, count)
        )  # of each line
        found = lines.new_zeros(*self._shape, lines.shape[1])
        found[self._places] = level_of_most(lines, among, count)
        return found.transpose(1, 2)


def _takes_all(view: View) -> bool:
    """On a CPU batches are small and have little padding: to leave it out takes as long."""
    return view.real.device.type == "cpu"


def _keys(view: View) -> _Lines:
    return _Lines(view, view.host.real.numpy())


def _diagonals(view: View) -> _Lines:
    """Those up to half the text's own tokens away."""
    tokens = view.host.real.sum(1).numpy()[:, None]
    reach = view.real.shape[1] // 2
    return _Lines(view, np.abs(np.arange(-reach, reach + 1)) <= tokens // 2)


def _band(left: Tensor, view: View) -> tuple[Tensor, Tensor, Tensor]:
    """The band's mass in maps [row, head, query, key], its offset and its width."""
    tokens = left.shape[-1]
    reach = tokens // 2
    n = view.real.sum(1)[:, None]
    after = torch.arange(-reach, reach + 1, device=left.device)
    query = torch.arange(tokens, device=left.device)
    # [row, diagonal, query]: whether the diagonal has a real cell there.
    inside = (query + after[:, None] >= 0) & (query + after[:, None] < n[..., None]) & view.real[:, None]
    near = after.abs() <= n // 2  # of its own text, not of the batch's longest
    along = along_diagonals(left, reach)  # [row, head, diagonal, query]
    count = torch.where(near, n - after.abs(), 0)
    diagonals = view.once(_diagonals)
    level = diagonals.levels(diagonals.of(along), inside & near[..., None], count)
    usual = level_of_most(level, near[:, None], near.sum(1)[:, None])
    level = (level - usual[..., None]).clamp_min(0) * near[:, None]
    whole = level.sum(-1)
    some = whole > _SOME
    level = level * some[..., None]
    used = level > _SOME / 10
    cells = torch.minimum(along, level[..., None])
    in_row = cells.sum(2)  # [row, head, query]
    # Rows that the edge cuts: the band holds what is left within its reach, the nearest cell where that is outside.
    cut = _any_of(used, ~inside & view.real[:, None])
    reached = (along * used[..., None]).sum(2)
    none_inside = ~_any_of(used, inside)
    ahead = (level * after).sum(-1) > 0
    last = left.gather(3, (n - 1)[:, None, :, None].expand(*left.shape[:3], 1))[..., 0]
    nearest = torch.where(ahead[..., None], last, left[..., 0])
    reached = torch.where(none_inside, nearest, reached)
    in_row = torch.where(cut, torch.minimum(reached, whole[..., None]), in_row) * view.real[:, None]
    squares = level.square().sum(-1)
    offset = torch.where(some, (level * after).sum(-1) / whole, torch.nan)
    width = torch.where(some, whole.square() / squares, torch.nan)
    return in_row.sum(-1) * some, offset, width


def _any_of(used: Tensor, there: Tensor) -> Tensor:
    """[row, head, query]: whether any diagonal that is used [row, head, diagonal] is there [row, diagonal, query]."""
    return used.float() @ there.float() > 0


def along_diagonals(maps: Tensor, reach: int) -> Tensor:
    """[row, head, diagonal, query]: the cell `diagonal - reach` keys after the query; 0 outside of the map."""
    padded = torch.nn.functional.pad(maps, (reach, reach)).contiguous()
    rows, heads, tokens, wide = padded.shape
    skewed = padded.as_strided(
        (rows, heads, tokens, 2 * reach + 1), (heads * tokens * wide, tokens * wide, wide + 1, 1)
    )
    return skewed.mT.contiguous()
