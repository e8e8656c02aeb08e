"""The server of the live page: a thread of this process with its own socket, for one machine, ended within two
seconds."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import traceback
from typing import Any, Self

import uvicorn

from bertscope.core.bug_log import write_bug
from bertscope.core.errors import UserError
from bertscope.core.harmless import one_line
from bertscope.live.app import Explores, application
from bertscope.live.assets import assets
from bertscope.live.connections import Connections
from bertscope.live.desk import Desk
from bertscope.live.guard import LOOPBACK, NOBODY, Allowed, Guard
from bertscope.live.rates import Rates

HERE = "127.0.0.1"
_ANYWHERE = ("0.0.0.0", "::")
_CONNECTIONS = 256
_LOGS = 20
"""Bugs whose traceback is kept: one that every request meets shouldn't fill the disk."""
_BYTES_OF_A_LETTER = 12
"""A letter can be written as two escapes, `\\ud83d\\ude00`."""
_BYTES_OF_THE_REST = 64 * 1024


def bound(host: str = HERE, port: int = 0) -> socket.socket:
    """A socket of that address, which doesn't listen yet; a free port where it is 0."""
    if not 0 <= port <= 65535:
        raise UserError(f"a port is a number from 0 to 65535, not {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"there is no address {host!r} to listen on; leave --host out for this machine alone"
        ) from error
    one = socket.socket(family, kind, protocol)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(address)
    except OSError as error:
        one.close()
        raise UserError(
            f"port {port} of {host} can't be had ({error.strerror}); name another with --port, or leave it out for a "
            "free one"
        ) from error
    return one


def is_this_machine(host: str) -> bool:
    return host in {"127.0.0.1", "localhost", "::1"}


class LiveServer:
    """Serves an explorer until it is stopped. Only who has the link, with its token, is answered."""

    def __init__(self, explorer: Explores, where: socket.socket, *, host: str = HERE, frames: str = NOBODY) -> None:
        self._socket, self._host = where, host
        self.port = int(where.getsockname()[1])
        self.token = secrets.token_urlsafe(32)
        self._logs = 0
        connections, self._desk = Connections(), Desk()
        letters = explorer.about().limits.letters
        allowed = Allowed(
            self.token, _BYTES_OF_THE_REST + _BYTES_OF_A_LETTER * letters, names=LOOPBACK | self._own_names(),
            own_address=not is_this_machine(host), frames=frames,
        )  # fmt: skip
        app = application(explorer, self._desk, assets())
        guard = Guard(app, allowed, rates=Rates(), asked=connections.asked, tell_bug=self._tell_bug)
        self._server = uvicorn.Server(
            uvicorn.Config(
                guard, http=connections.protocol(), ws="none", loop="asyncio", lifespan="off", interface="asgi3",
                proxy_headers=False,  # or who asks could say from where
                server_header=False, access_log=False, log_config=None, log_level="critical",
                limit_concurrency=_CONNECTIONS, backlog=_CONNECTIONS, timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
            )
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, name="bertscope server", daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    @property
    def url(self) -> str:
        """The link. Its token stands behind the `#`, which browsers send to nobody."""
        host = socket.gethostname() if self._host in _ANYWHERE else self._host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/#token={self.token}"

    def start(self) -> Self:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise UserError(f"nothing can listen on port {self.port}; name another, or leave it out")
            time.sleep(0.005)
        return self

    @property
    def runs(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> bool:
        """Answer nobody any more, and let go of port and threads; whether the model ended what it did meanwhile."""
        self._server.should_exit = True
        done = self._desk.close()
        if self._thread.ident is not None:
            self._thread.join(2.0)
        self._socket.close()
        return done

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _own_names(self) -> frozenset[str]:
        """What others may call this machine, where it listens for others."""
        if is_this_machine(self._host):
            return frozenset()
        named = () if self._host in _ANYWHERE else (f"[{self._host}]" if ":" in self._host else self._host,)
        return frozenset(name.lower() for name in (*named, socket.gethostname(), socket.getfqdn()))

    def _tell_bug(self, error: BaseException, during: str) -> None:
        self._logs += 1
        if self._logs > _LOGS:
            return
        log = write_bug("".join(traceback.format_exception(error)), f"explore: {during}")
        said = one_line(f"{type(error).__name__}: {error}")
        print(f"bertscope: this is a bug in bertscope, not your mistake: {said}; details: {log}", file=sys.stderr)
