"""How often one may ask: a bucket for each client, and one for each address, which fill as time passes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_KEPT = 1024
"""Buckets that are remembered; those that were longest not used are forgotten, which fills them."""


class Rates:
    """A client says itself who it is, so one that says something else each time is held by its address."""

    def __init__(
        self, per_client: float = 20.0, per_address: float = 400.0, seconds: float = 3.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._rates = {"client": per_client, "address": per_address}
        self._seconds = seconds
        """Of asking at that rate that may come all at once."""
        self._clock = clock
        self._buckets: OrderedDict[tuple[str, ...], tuple[float, float]] = OrderedDict()

    def take(self, address: str, client: str) -> float:
        """Take a drop out of both buckets; how many seconds to wait where one of them is empty, and 0 otherwise."""
        now, keys = self._clock(), {"client": ("client", address, client), "address": ("address", address)}
        left = {which: self._left(key, which, now) for which, key in keys.items()}
        wait = max((1 - level) / self._rates[which] for which, level in left.items())
        for which, key in keys.items():
            self._buckets[key] = (left[which] - (1 if wait <= 0 else 0), now)
            self._buckets.move_to_end(key)
        while len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        return max(wait, 0.0)

    def _left(self, key: tuple[str, ...], which: str, now: float) -> float:
        full = self._rates[which] * self._seconds
        level, then = self._buckets.get(key, (full, now))
        return min(full, level + (now - then) * self._rates[which])
