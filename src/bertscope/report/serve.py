"""A page served to the browsers of this machine, and to nobody else."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bertscope.core.errors import UserError

LOOPBACK = "127.0.0.1"
_OURS = (LOOPBACK, "localhost")


def refuse_other_hosts(host: str) -> None:
    """A page may be private: who wants it elsewhere copies the file."""
    if host not in _OURS:
        raise UserError(
            f"the page is served to this machine alone ({LOOPBACK}), not on {host}; copy the file instead"
        )


def page_server(page: bytes, port: int = 0) -> ThreadingHTTPServer:
    """A server that gives the page, and nothing else, to who asks on this machine; a free port where it is 0."""
    if not 0 <= port <= 65535:
        raise UserError(f"a port is a number from 0 to 65535, not {port}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(page)

        def do_HEAD(self) -> None:
            self._answer(b"", len(page))

        def _answer(self, body: bytes, length: int | None = None) -> None:
            # A page of another site can make a browser ask here under a name of its own: that isn't answered.
            asked = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host", "")
            if asked not in _OURS:
                return self.send_error(HTTPStatus.FORBIDDEN, "only this machine is answered")
            if self.path.partition("?")[0] not in ("/", "/report.html"):
                return self.send_error(HTTPStatus.NOT_FOUND)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a line for each request would bury the address."""

    try:
        return ThreadingHTTPServer((LOOPBACK, port), Handler)
    except OSError as error:
        raise UserError(
            f"port {port} can't be had ({error.strerror}); name another with --port, or leave it out for a free one"
        ) from error
