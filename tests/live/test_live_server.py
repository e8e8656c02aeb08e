"""The server on a real socket: many clients, clients that leave, others that are let in or not, and its end."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi")  # an extra

from bertscope.core.errors import UserError
from bertscope.live import server as server_module
from bertscope.live.desk import QUEUE
from bertscope.live.server import LiveServer, bound
from fake_explorer import SECRET
from live_client import LiveClient, look, served
from watched_processes import until


def test_it_listens_on_this_machine_alone_and_its_link_has_a_token_behind_the_hash(server):
    address, _, token = server.url.partition("#token=")
    assert address == f"http://127.0.0.1:{server.port}/" and len(token) >= 40
    assert server._socket.getsockname()[0] == "127.0.0.1"


def test_each_server_has_a_token_of_its_own(fake):
    with served(fake) as one, served(fake) as other:
        assert one.token != other.token and one.port != other.port
        stranger = LiveClient(one.url.replace(str(one.port), str(other.port)))
        assert stranger.ask("about")[0] == 401
        stranger.close()


def test_it_answers_with_what_was_asked(client, fake):
    assert client.ask("about")[1]["limits"]["letters"] == 2000
    status, said = client.ask("look", look("a text", "head:1.2", "mlp:2"))
    assert (status, said["seen"][0]["after"]["said"]) == (200, "head:1.2 mlp:2")
    assert fake.threads == {"bertscope model"}


def test_a_full_queue_says_busy_at_once(client, server, fake):
    held = client.post_on("look", json.dumps(look("slow")).encode())
    assert fake.entered.wait(5)
    waiting = [client.post_on("look", json.dumps(look(f"waits {place}")).encode()) for place in range(QUEUE)]
    until(lambda: server._desk.waiting == QUEUE, 10)
    began = time.monotonic()
    status, said = client.ask("look", look("one more"))
    assert status == 503 and said["error"].startswith("busy: ") and time.monotonic() - began < 1
    more = client.post_on("look", json.dumps(look("one more")).encode())
    assert b"retry-after: 1" in more.recv(2000).lower()
    fake.go.set()
    for one in (held, *waiting):
        assert one.recv(12) == b"HTTP/1.1 200"
    assert len(fake.calls) == QUEUE + 1
    for one in (held, *waiting, more):
        one.close()


def test_who_leaves_isnt_answered(client, server, fake, capsys):
    held = client.post_on("look", json.dumps(look("slow")).encode())
    assert fake.entered.wait(5)
    leaving = client.post_on("look", json.dumps(look("left")).encode())
    staying = client.post_on("look", json.dumps(look("stayed")).encode())
    until(lambda: server._desk.waiting == 2, 5)
    leaving.close()
    until(lambda: server._desk.waiting == 1, 5)
    fake.go.set()
    assert staying.recv(12) == b"HTTP/1.1 200"
    assert fake.calls == ["look slow", "look stayed"]
    assert capsys.readouterr().err == "", "to leave is no bug"
    for one in (held, staying):
        one.close()


def test_a_pages_newer_ask_supersedes_what_still_waits(server, fake):
    """By number, also where they come in another order; each page by itself."""
    with ThreadPoolExecutor(8) as pool:
        clients = {name: [LiveClient(server.url, name) for _ in range(3)] for name in ("one", "two")}
        first = pool.submit(clients["one"][0].ask, "look", look("slow"), 1)
        assert fake.entered.wait(5)
        older = pool.submit(clients["one"][1].ask, "look", look("older"), 2)
        until(lambda: server._desk.waiting == 1, 5)
        other = pool.submit(clients["two"][0].ask, "look", look("other"), 1)
        until(lambda: server._desk.waiting == 2, 5)
        newer = pool.submit(clients["one"][2].ask, "look", look("newer"), 3)
        status, said = older.result(5)
        assert status == 409 and said["error"].startswith("superseded")
        fake.go.set()
        assert [one.result(5)[0] for one in (first, other, newer)] == [200, 200, 200]
    assert fake.calls == ["look slow", "look newer", "look other"]
    for one in (*clients["one"], *clients["two"]):
        one.close()


def test_a_bugs_traceback_is_in_the_log_and_its_name_on_standard_error(client, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, said = client.ask("look", look("bug"))
    assert status == 500 and SECRET not in json.dumps(said)
    until(lambda: any(tmp_path.iterdir()), 5)  # the answer comes first
    (log,) = tmp_path.iterdir()
    until(lambda: SECRET in log.read_text(), 5)
    assert "Traceback" in log.read_text() and SECRET in log.read_text() and "POST /api/look" in log.read_text()
    said = []
    until(lambda: said.append(capsys.readouterr().err) or any(said), 5)
    assert str(log) in "".join(said) and "".join(said).count("\n") == 1


def test_bugs_dont_fill_the_disk(client, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(server_module._LOGS + 5):
        assert client.ask("look", look("bug"))[0] == 500
    until(lambda: client.ask("about") and len(list(tmp_path.iterdir())) == server_module._LOGS, 5)
    assert client.ask("look", look("bug"))[0] == 500 and client.ask("about")[0] == 200
    assert len(list(tmp_path.iterdir())) == server_module._LOGS


@pytest.mark.alone
def test_it_ends_soon_whoever_is_connected_and_leaves_neither_threads_nor_its_port(fake):
    before = set(threading.enumerate())
    server = LiveServer(fake, bound()).start()
    client = LiveClient(server.url)
    open_ = [client.raw("GET / HTTP/1.1"), client.post_on("look", json.dumps(look("slow")).encode())]
    assert fake.entered.wait(5)
    waiting = client.post_on("look", json.dumps(look("waits")).encode())
    until(lambda: server._desk.waiting == 1, 5)
    began = time.monotonic()
    assert not server.stop(), "the model is still in the midst of it"
    assert time.monotonic() - began < 2
    assert waiting.recv(12) == b"HTTP/1.1 503" and not server.runs
    with bound(port=server.port):
        pass
    fake.go.set()
    until(lambda: set(threading.enumerate()) <= before, 5)
    assert server.stop(), "to stop again does no harm"
    for one in (*open_, waiting):
        one.close()


def test_a_port_that_is_taken_and_one_that_is_none():
    with bound() as taken:
        taken.listen()
        with pytest.raises(UserError, match=f"port {taken.getsockname()[1]} of 127.0.0.1 can't be had"):
            bound(port=taken.getsockname()[1])
    with pytest.raises(UserError, match="from 0 to 65535, not 70000"):
        bound(port=70000)
    with pytest.raises(UserError, match=r"no address 'no\.such\.host\.invalid'"):
        bound("no.such.host.invalid")


def test_on_all_addresses_the_token_is_needed_and_names_are_checked(fake):
    where = bound("0.0.0.0")
    with LiveServer(fake, where, host="0.0.0.0") as server:
        assert server.url.startswith(f"http://{socket.gethostname()}:{server.port}/#token=")
        client = LiveClient(server.url.replace(socket.gethostname(), "127.0.0.1"))
        for host, status in (("127.0.0.1", 200), (socket.gethostname(), 200), ("evil.example", 403)):
            client.headers["Host"] = host
            assert client.ask("about")[0] == status
        del client.headers["Host"], client.headers["X-Bertscope-Token"]
        assert client.ask("about")[0] == 401
        client.close()


def test_what_isnt_http_or_is_too_long_ends_there(client):
    for lines in (["\x16\x03\x01 hello", "", ""], ["GET / HTTP/1.1", "X: " + "x" * 100_000, "", ""]):
        one = client.raw(*lines)
        assert one.recv(12) == b"HTTP/1.1 400"
        one.close()
    assert client.ask("about")[0] == 200


def test_proxies_are_not_believed(client, monkeypatch):
    """What they say of who asks would make a new client of each request."""
    seen = []
    monkeypatch.setattr("bertscope.live.rates.Rates.take", lambda self, address, client: seen.append(address) or 0)
    client.headers["X-Forwarded-For"] = "8.8.8.8"
    assert client.ask("about")[0] == 200 and seen == ["127.0.0.1"]


def test_nothing_is_written_where_uvicorn_would_log(client, capsys):
    client.raw("nonsense", "", "").close()
    client.ask("about")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "") and sys.stderr is not None
