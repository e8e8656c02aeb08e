"""What was answered lately, within a bound: what was asked longest ago goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """At most `room` of what `size` counts; the last that was put there stays, however large it is.

    >>> few = Recent[str](5, len)
    >>> for word in ("a", "bb", "cc"): few.put(word, word)
    >>> few.get("a"), few.put("ddd", "ddd"), few.get("bb"), few.get("a"), len(few)
    ('a', None, None, 'a', 2)
    """

    def __init__(self, room: int, size: Callable[[Kept], int] = lambda one: 1) -> None:
        self.room, self._size = room, size
        self.total = 0
        self._held: OrderedDict[Hashable, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Hashable) -> Kept | None:
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def put(self, key: Hashable, one: Kept) -> None:
        """In the place of what was there."""
        if key in self._held:
            self.total -= self._size(self._held.pop(key))
        self._held[key] = one
        self.total += self._size(one)
        while self.total > self.room and len(self._held) > 1:
            self.total -= self._size(self._held.popitem(last=False)[1])
