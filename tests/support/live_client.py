"""A client of the live server: one connection, as plain as a browser's."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from bertscope.live.server import LiveServer, bound


class LiveClient:
    def __init__(self, url: str, client: str = "", timeout: float = 60) -> None:
        place = urlsplit(url)
        self.host, self.port = str(place.hostname), int(place.port or 80)
        self.headers = {"X-Bertscope-Token": place.fragment.removeprefix("token=").partition("&")[0]}
        if client:
            self.headers["X-Bertscope-Client"] = client
        self._connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, name: str, body: Any = None, sequence: int | None = None) -> tuple[int, Any]:
        """The status, and what is said."""
        headers = dict(self.headers)
        if sequence is not None:
            headers["X-Bertscope-Sequence"] = str(sequence)
        if body is not None:
            headers["Content-Type"] = "application/json"
        sent = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request("GET" if body is None else "POST", f"/api/{name}", sent, headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            self._connection.close()  # the next one begins anew
            raise

    def raw(self, *lines: str, body: bytes = b"") -> socket.socket:
        """A socket on which these lines were sent, whether they are a whole request or not."""
        one = socket.create_connection((self.host, self.port), timeout=60)
        one.sendall("\r\n".join(lines).encode() + body)
        return one

    def post_on(self, name: str, body: bytes, length: int | None = None) -> socket.socket:
        """A socket on which a request was sent, whose answer isn't read; with a `length` that may promise more."""
        lines = [f"POST /api/{name} HTTP/1.1", f"Host: {self.host}:{self.port}", "Content-Type: application/json",
                 f"Content-Length: {len(body) if length is None else length}"]  # fmt: skip
        lines += [f"{key}: {value}" for key, value in self.headers.items()]
        return self.raw(*lines, "", "", body=body)

    def close(self) -> None:
        self._connection.close()


@contextmanager
def served(explorer: Any, **options: Any) -> Iterator[LiveServer]:
    with LiveServer(explorer, bound(), **options) as server:
        yield server


def look(text: str, *off: str) -> dict:
    """What is sent to /api/look: a text, with these parts off."""
    return {"reading": {"text": text}, "changes": [{"off": list(off)}]}
