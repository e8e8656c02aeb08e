"""What several encoders show of the same texts as one tensor: a GPU is told once what to do with all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from bertscope.analyses.attention.maps import LayerMaps


def joined(maps: Sequence[LayerMaps]) -> Sequence[LayerMaps]:
    """All encoders' maps as one, where they stand side by side in a tensor that has no others; else as they are.
    Either way heads come in the order of the encoders."""
    whole = maps[0].whole
    if whole is None or any(one.whole is not whole for one in maps):
        return maps
    ends = [0]
    for one in maps:
        ends.append(ends[-1] + one.maps.shape[1])
    everything = ends[-1] == whole.maps.shape[1] and [one.first for one in maps] == ends[:-1]
    return [whole] if everything else maps


def of_encoders(maps: Sequence[LayerMaps], found: Sequence[Tensor], heads: int) -> Sequence[Tensor]:
    """What was `found` of `joined` maps, for each encoder; `heads` is the dimension on which heads are."""
    if len(found) == len(maps):
        return found
    (of_all,) = found
    return of_all.split([one.maps.shape[1] for one in maps], heads)


def by_head(dim: int) -> Callable[[Callable[[Any], Tensor]], cached_property[Tensor]]:
    """A property of maps that is computed once, heads on this dimension: what is known of a whole is known of its
    parts."""

    def decorate(compute: Callable[[Any], Tensor]) -> cached_property[Tensor]:
        def known(maps: LayerMaps) -> Tensor:
            of_whole = vars(maps.whole).get(compute.__name__) if maps.whole is not None else None
            return compute(maps) if of_whole is None else of_whole.narrow(dim, maps.first, maps.maps.shape[1])

        known.__doc__ = compute.__doc__
        return cached_property(known)

    return decorate
