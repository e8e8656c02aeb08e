"""`bertscope.explore`: the page in a notebook, where the kernel is local, and a line on tunnels where it isn't."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import re
import threading
import time
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("fastapi")  # an extra

import bertscope
from bertscope.core.errors import UserError
from bertscope.live import notebook
from bertscope.live.server import bound
from browsing import NEEDS_CHROMIUM, browser  # noqa: F401
from doc_pages import HERE, code_blocks, run_blocks
from fake_explorer import FakeExplorer
from live_client import LiveClient, served
from watched_processes import until


@pytest.fixture
def here(monkeypatch):
    """A kernel on the machine that one sits at."""
    for name in notebook._ELSEWHERE:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr("bertscope.live.explorer.Explorer.open", lambda *given, **reading: FakeExplorer())


@pytest.fixture
def page(fake):
    with bertscope.explore("pocket", height=700) as one:
        yield one


def test_it_is_served_from_this_process_until_it_is_stopped(fake):
    before = set(threading.enumerate())
    page = bertscope.explore("pocket")
    client = LiveClient(page.url)
    assert client.ask("about")[0] == 200 and page.url in repr(page)
    client.close()
    page.stop()
    page.stop()
    until(lambda: set(threading.enumerate()) <= before, 5)
    assert repr(page) == "<explore: stopped>" and "run the cell again" in page._repr_html_()


def test_a_local_kernel_shows_a_frame_with_the_link(here, page):
    html = page._repr_html_()
    (source,) = re.findall(r'<iframe src="([^"]+)"', html)
    assert unescape(source) == page.url and 'height="700"' in html


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "JUPYTERHUB_SERVICE_PREFIX", "COLAB_RELEASE_TAG", "CODESPACES"])
def test_a_kernel_elsewhere_shows_a_line_on_tunnels(here, page, monkeypatch, name):
    monkeypatch.setenv(name, "something")
    html, port = page._repr_html_(), page.url.partition("/#")[0].rpartition(":")[2]
    assert "<iframe" not in html and f"ssh -N -L {port}:127.0.0.1:{port}" in html and f"({name} is set)" in html
    assert f'href="{page.url}"' in html


def test_mistakes_leave_no_port_taken(monkeypatch):
    with bound() as free:
        port = free.getsockname()[1]
    for given, said in (
        ({"model": "no/such/folder"}, "no/such/folder"),
        ({"model": "pocket", "port": -1}, "a port is"),
    ):
        with pytest.raises(UserError, match=said):
            bertscope.explore(**({"port": port} | given))
        with bound(port=port):
            pass
    monkeypatch.setattr("bertscope.live.installed.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'bertscope\[live\]'"):
        bertscope.explore("pocket")


def test_the_python_on_the_docs_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(HERE / "docs" / "explore.md", "python")
    assert any(runs for _, runs in blocks)
    run_blocks(blocks)


@pytest.fixture
def framed():
    """Serves HTML from another port of this machine, as a notebook's server does."""
    shown = {"html": ""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><link rel=icon href='data:,'>{shown['html']}".encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield lambda html: shown.update(html=html) or f"http://localhost:{server.server_port}/"
        server.shutdown()


@NEEDS_CHROMIUM
@pytest.mark.slow
def test_in_a_browser_the_frame_works_from_another_local_port(here, browser, framed, tiny):
    with bertscope.explore(tiny, data=["the food was good"]) as page, browser.new_context() as context:
        tab, complaints = context.new_page(), []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(framed(page._repr_html_()))
        inside = tab.frame_locator("iframe")
        inside.locator("main[aria-busy=false]").wait_for(timeout=30_000)
        inside.locator(".says", has_text="LABEL_").wait_for(timeout=30_000)
        assert complaints == []


@NEEDS_CHROMIUM
@pytest.mark.slow
def test_a_page_of_the_command_isnt_framed_and_a_name_that_leads_here_gets_nothing(here, browser, framed):
    """What a browser does with the headers; evil.example is made to lead to 127.0.0.1."""
    with served(FakeExplorer()) as server, browser.new_context() as context:
        tab = context.new_page()
        tab.goto(framed(f'<iframe src="{server.url}"></iframe>'))
        time.sleep(0.5)
        inside = tab.frames[1]
        assert inside.url.startswith("chrome-error://") or "bertscope" not in (inside.content() or "")
        answer = context.request.get(f"http://127.0.0.1:{server.port}/", headers={"Host": "evil.example"})
        assert answer.status == 403
        asked = "fetch(`${at}api/look`, {method: 'POST', headers: {'Content-Type': 'application/json', "
        asked += "'X-Bertscope-Token': token}, body: '{}'}).then(() => 'read', () => 'blocked')"
        read = tab.evaluate(f"([at, token]) => {asked}", [f"http://127.0.0.1:{server.port}/", server.token])
        assert read == "blocked", "a page of another origin reads nothing, even with the token"
