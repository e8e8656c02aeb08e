"""What is sent to the server, read whole before anybody works on it: not too much, not too slowly, not too deep."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

SECONDS = 10.0
"""That a client has for sending its body."""
DEPTH = 16
"""Of brackets in brackets; what may be asked has six."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
"""Also one without an end: looked for once, not again from every sign in it."""
_BRACKET = re.compile(rb"[\[\]{}]")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Refusal(Exception):
    """Why there is no answer, in a line, with the status that says it to programs."""

    def __init__(self, status: int, error: str, retry: float | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.retry = status, error, retry

    def headers(self) -> dict[str, str]:
        """`Retry-After`, in whole seconds, where asking again will help."""
        return {} if self.retry is None else {"retry-after": str(max(1, math.ceil(self.retry)))}


UNREADABLE = Refusal(400, "the body can't be read as JSON in UTF-8")


class Gone(Exception):
    """The client left while it was read."""


async def read_body(length: str | None, receive: Receive, most: int) -> Receive:
    """The body as the application receives it: whole. What comes after it is whatever comes: that the client left."""
    too_long = Refusal(413, f"the body has more than {most:,} bytes; send less text at once")
    if length is not None and length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise too_long
    try:
        async with asyncio.timeout(SECONDS):
            body = await _all_of_it(receive, most, too_long)
    except TimeoutError:
        raise Refusal(408, f"the body didn't come within {SECONDS:g} s") from None
    if b"\0" in body:  # another encoding, whose letters could hide brackets; JSON in UTF-8 has none
        raise UNREADABLE
    if depth(body) > DEPTH:
        raise Refusal(422, f"the body has more than {DEPTH} brackets inside each other")
    given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _all_of_it(receive: Receive, most: int, too_long: Refusal) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > most:
            raise too_long
        if not message.get("more_body", False):
            return bytes(body)


def depth(body: bytes) -> int:
    """How many brackets of JSON stand inside each other, at most; what is in strings doesn't count.

    >>> depth(b'{"a": [1, [2]], "b": "[[[["}'), depth(rb'["\\"[["]'), depth(b"7")
    (3, 1, 0)
    """
    deepest = now = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        now += 1 if bracket in b"[{" else -1
        deepest = max(deepest, now)
    return deepest
