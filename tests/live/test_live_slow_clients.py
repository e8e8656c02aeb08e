"""The server on a real socket and clients that are slow: to send, or to read their answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress

import pytest

pytest.importorskip("fastapi")  # an extra

from bertscope.live import server as server_module
from bertscope.live.connections import Connections
from live_client import LiveClient, look, served
from watched_processes import until


def test_a_slow_client_doesnt_hold_the_model(client, fake):
    """One sends half of its head, one half of its body, one reads no answer: others are answered at once."""
    slow = [
        client.raw("POST /api/look HTTP/1.1", "Host: 127.0.0.1"),
        client.post_on("look", b'{"reading": {"te', length=100),
        client.post_on("look", json.dumps(look("never read")).encode()),
    ]
    began = time.monotonic()
    for place in range(5):
        assert client.ask("look", look(f"text {place}"))[0] == 200
    assert time.monotonic() - began < 3
    assert not [call for call in fake.calls if call.startswith("look te") and "text" not in call]
    for one in slow:
        one.close()


def test_who_sends_nothing_more_loses_its_connection(fake, monkeypatch):
    monkeypatch.setattr(server_module, "Connections", lambda: Connections(seconds=0.5, look=0.1))
    with served(fake) as server:
        client = LiveClient(server.url)
        slow = [client.raw(), client.raw("GET / HTTP/1.1", "Host: 127.0.0.1", "X-Slow: "),
                client.post_on("look", b"{", length=100)]  # fmt: skip
        working = client.post_on("look", json.dumps(look("slow")).encode())  # not its fault: it isn't cut off
        trickle = threading.Thread(target=_trickle, args=(slow[1],), daemon=True)
        trickle.start()
        began = time.monotonic()
        for one in slow:
            one.settimeout(5)
            assert _read_all(one) in (b"", None)
        assert time.monotonic() - began < 4
        fake.go.set()
        assert working.recv(12) == b"HTTP/1.1 200"
        working.close()
        trickle.join(5)


def _trickle(one: socket.socket) -> None:
    """A letter now and then doesn't make a head come sooner."""
    try:
        for _ in range(100):
            one.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        pass


def _read_all(one: socket.socket) -> bytes | None:
    try:
        return one.recv(10_000)
    except ConnectionResetError:
        return None


def test_who_doesnt_read_its_answer_loses_its_connection(fake, monkeypatch):
    monkeypatch.setattr(server_module, "Connections", lambda: Connections(seconds=0.5, look=0.1))
    long = "x" * 30_000_000  # more than the system's buffers take
    monkeypatch.setattr(fake, "python", lambda ask: long)
    with served(fake) as server:
        client = LiveClient(server.url)
        unread = client.post_on("python", json.dumps(look("a")).encode())
        until(lambda: server._server.server_state.connections, 5)
        until(lambda: not server._server.server_state.connections, 10)
        unread.close()


@pytest.mark.slow
def test_who_asks_on_and_reads_nothing_loses_its_connection(fake, monkeypatch):
    """Its next request is ours to answer, but its answers wait for it."""
    monkeypatch.setattr(server_module, "Connections", lambda: Connections(seconds=0.5, look=0.1))
    with served(fake) as server:
        client = LiveClient(server.url)
        unread = client.raw("")
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent = threading.Thread(target=_ask_on, args=(unread,), daemon=True)
        sent.start()
        until(lambda: server._server.server_state.connections, 5)
        until(lambda: not server._server.server_state.connections, 20)
        unread.close()
        sent.join(5)


def _ask_on(one: socket.socket) -> None:
    request = b"GET /static/explore.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with suppress(OSError):
        while True:
            one.sendall(request * 50)


def test_a_body_that_comes_too_slowly_is_refused(client, fake, monkeypatch):
    monkeypatch.setattr("bertscope.live.bodies.SECONDS", 0.2)
    slow = client.post_on("look", b"{", length=100)
    assert slow.recv(12) == b"HTTP/1.1 408" and fake.calls == []
    slow.close()
