"""Who is answered: the door before the application, which looks at every request before anything else does.

Other pages in the same browser can send requests to this machine, under names of their own (DNS rebinding) or across
sites. They can't read the link, so they have no token; and a browser says where a request comes from.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from bertscope.live.bodies import Gone, Refusal, read_body
from bertscope.live.rates import Rates

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

API = "/api/"
TOKEN, CLIENT = "x-bertscope-token", "x-bertscope-client"
_READ = {"host", "origin", "sec-fetch-site", "content-type", "content-length", TOKEN, CLIENT}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
NOBODY, NOTEBOOKS = "'none'", "'self' http://localhost:* http://127.0.0.1:*"
"""Who may show the page in a frame: a notebook that this machine serves, and only where it asked for the page."""


@dataclass(frozen=True)
class Allowed:
    """What a request must come with."""

    token: str
    bytes: int
    """Of a body."""
    names: frozenset[str] = LOOPBACK
    """What this machine may be called by who asks."""
    own_address: bool = False
    """Whether the address that the request came in by will do, too: no name leads there but by itself."""
    frames: str = NOBODY


class Guard:
    """The application behind its door."""

    def __init__(
        self,
        app: Application,
        allowed: Allowed,
        *,
        rates: Rates,
        asked: Callable[[Any], AbstractContextManager[None]],
        tell_bug: Callable[[BaseException, str], None],
    ) -> None:
        """`asked` is told of clients whose request is there as a whole, `tell_bug` of what no client is told."""
        self._app, self._allowed, self._rates = app, allowed, rates
        self._asked, self._tell_bug = asked, tell_bug
        self._headers = {
            "content-security-policy": POLICY.format(frames=allowed.frames),
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *_encoded(self._headers)]
                if not any(name == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        try:
            let_in = await self._let_in(scope, receive)
            with self._asked(scope.get("client")):
                await self._app(scope, let_in, guarded)
        except Refusal as refused:
            await _refuse(refused, guarded)
        except asyncio.CancelledError:  # the server is stopped and waits no longer
            if not started:
                await _refuse(STOPPED, guarded)
        except Gone:
            pass
        except Exception as error:
            self._tell_bug(error, f"{scope['method']} {scope['path']}")
            if not started:
                await _refuse(BUG, guarded)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        """What the application reads its request from; raises a refusal."""
        headers = _headers(scope)
        host = self._check_host(headers, scope)
        if not scope["path"].startswith(API):
            return receive
        _check_origin(headers, host)
        if not hmac.compare_digest(headers.get(TOKEN, "").encode("latin-1"), self._allowed.token.encode()):
            raise Refusal(401, "the token of the link is missing or wrong; open the link that bertscope printed")
        address = (scope.get("client") or ("",))[0]
        if wait := self._rates.take(address, headers.get(CLIENT, "")):
            raise Refusal(429, "too many requests; wait a moment", retry=wait)
        if scope["method"] != "POST":
            return receive
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, "a body is JSON here; send it as application/json")
        return await read_body(headers.get("content-length"), receive, self._allowed.bytes)

    def _check_host(self, headers: dict[str, str], scope: Scope) -> str:
        host = headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        served = self._allowed.names | ({_own_address(scope)} if self._allowed.own_address else set())
        if name not in served:
            raise Refusal(403, "nothing is served under this name; open the link that bertscope printed")
        return host


STOPPED = Refusal(503, "bertscope is being stopped", retry=5)
BUG = Refusal(500, "this is a bug in bertscope, not your mistake; its log, where it runs, has the details")


def _check_origin(headers: dict[str, str], host: str) -> None:
    """The port may be another than ours, where a tunnel leads here; page and request then still agree on it."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    own = origin is None or origin.lower() in {f"http://{host}", f"https://{host}"}
    if not own or site not in {"same-origin", "none"}:
        raise Refusal(403, "requests of other pages aren't answered; open the link that bertscope printed")


def _headers(scope: Scope) -> dict[str, str]:
    """Those that are looked at, by their names; who says one of them twice may mean either."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found:
            raise Refusal(400, f"the header {key} is there twice")
        if key in _READ:
            found[key] = value.decode("latin-1").strip()
    return found


def _own_address(scope: Scope) -> str:
    address = str((scope.get("server") or ("",))[0])
    try:
        return f"[{address}]" if ipaddress.ip_address(address).version == 6 else address
    except ValueError:
        return address


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _refuse(refused: Refusal, send: Send) -> None:
    """Answered without the application: `Refused` of `messages.py`, as JSON."""
    body = json.dumps({"error": refused.error}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refused.headers()}
    await send({"type": "http.response.start", "status": refused.status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
