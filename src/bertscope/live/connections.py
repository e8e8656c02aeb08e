"""Connections that are open, and the end of those on which nothing comes or goes: a client that sends its request a
letter at a time, or doesn't read its answer, would keep a place that others need."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
"""More than a keep-alive and a body together may take."""
_LOOK = 1.0
"""Seconds between two looks at them."""


class _Open:
    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport, self.asked = transport, 0
        self.unread, self.since = 0, time.monotonic()

    def stands_still(self, now: float) -> float:
        """For how long nothing was heard of it."""
        unread = self.transport.get_write_buffer_size()
        if unread < self.unread or (self.asked and not unread):  # it reads, or waits for us
            self.since = now
        self.unread = unread
        return now - self.since


class Connections:
    """By the address at the other end."""

    def __init__(self, seconds: float = SECONDS, look: float = _LOOK) -> None:
        self._seconds, self._look = seconds, look
        self._open: dict[Any, _Open] = {}
        self._looking = False

    def protocol(self) -> type[H11Protocol]:
        """Uvicorn's, which tells us of every connection."""
        connections = self

        class Watched(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                connections._begin(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections._open.pop(_other_end(self.transport), None)
                super().connection_lost(exc)

        return Watched

    @contextmanager
    def asked(self, client: Any) -> Iterator[None]:
        """A request is there as a whole: until it is answered, it is ours to hurry."""
        one = self._open.get(client and tuple(client))
        if one is not None:
            one.asked += 1
        try:
            yield
        finally:
            if one is not None:
                one.asked -= 1
                one.since = time.monotonic()

    def _begin(self, transport: asyncio.Transport) -> None:
        self._open[_other_end(transport)] = _Open(transport)
        if not self._looking:
            self._look_later()

    def _look_later(self) -> None:
        self._looking = True
        asyncio.get_running_loop().call_later(self._look, self._end_those_that_stand)

    def _end_those_that_stand(self) -> None:
        now = time.monotonic()
        for one in list(self._open.values()):
            if one.stands_still(now) > self._seconds:
                one.transport.abort()
        self._looking = False
        if self._open:
            self._look_later()


def _other_end(transport: asyncio.Transport) -> Any:
    """The first two parts: of IPv6 there are four."""
    return tuple((transport.get_extra_info("peername") or ())[:2])
