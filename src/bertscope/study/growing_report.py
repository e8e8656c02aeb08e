"""The page of a run that goes on: early, and again as steps finish, for a small share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY = 20.0
"""Seconds between two pages, at least."""
SHARE = 0.1
"""Of the time, at most."""


class GrowingReport:
    def __init__(self, write: Callable[[], None], now: Callable[[], float] = time.monotonic) -> None:
        self._write, self._now = write, now
        self._written: float | None = None
        self._took = 0.0
        self._news = False

    def tell(self) -> None:
        """Something is there that the page doesn't show yet."""
        self._news = True

    def due(self) -> bool:
        """Whether there is news, and the last page is long enough ago."""
        if not self._news or self._written is None:
            return self._news
        return self._now() - self._written >= max(EVERY, self._took / SHARE)

    def write(self) -> None:
        """Write the page, if there is anything new."""
        if not self._news:
            return
        started, self._news = self._now(), False
        try:
            self._write()
        finally:
            self._written = self._now()
            self._took = self._written - started
