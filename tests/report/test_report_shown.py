"""The page opened, served on this machine alone, and its figures as slides."""

from __future__ import annotations

import http.client
import struct
import threading
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("cyclopts")

from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.report.serve import LOOPBACK, page_server, refuse_other_hosts
from bertscope.report.slides import HEIGHT, WIDTH, Slide, export_slides
from planted_consequences import ablate, errors
from planted_figures import cells, maps
from planted_page import models, put
from stored_steps import put_step

PAGE = b"<!doctype html><p>page"


@pytest.fixture
def store(tmp_path):
    for told in (errors(failing="negative"), ablate("head", (2, 3))):
        put_step(tmp_path / "store", told.step, told.result)
    return tmp_path / "store"


@pytest.fixture
def asked():
    """Ask a server of the page: status and body."""
    with page_server(PAGE) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def ask(path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=10)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

        assert server.server_address[0] == LOOPBACK
        yield ask
        server.shutdown()


def test_the_page_is_served_and_nothing_else(asked):
    assert asked() == (200, PAGE) and asked("/?x=1")[0] == 200 and asked("/", "HEAD") == (200, b"")
    for path in ("/store.json", "/../etc/passwd", "//x"):
        assert asked(path)[0] == 404
    assert asked("/", "POST")[0] == 501


def test_another_name_for_this_machine_isnt_answered(asked):
    assert asked(Host="evil.example:80")[0] == 403 and asked(Host="localhost:1")[0] == 200


def test_a_busy_port_and_other_hosts_are_refused_in_a_line(command, store):
    with page_server(PAGE) as server:
        port = server.server_port
        with pytest.raises(UserError, match=f"port {port} can't be had .*name another with --port"):
            page_server(PAGE, port)
    with pytest.raises(UserError, match="a number from 0 to 65535"):
        page_server(PAGE, 70000)
    with pytest.raises(UserError, match="this machine alone"):
        refuse_other_hosts("0.0.0.0")
    code, _, err = command("report", "serve", "--store", store, "--host", "0.0.0.0")
    assert code == 2 and "this machine alone" in err and err.count("\n") == 1


def test_open_shows_the_page_and_prints_what_it_says_first(command, store, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or len(shown) == 1)
    code, out, err = command("report", "open", "--store", store, "--out", tmp_path / "page.html")
    assert code == 0 and shown == [(tmp_path / "page.html").as_uri()] and "opened" in err
    assert "It fails on texts labelled negative" in out and "What to do next: bertscope" in out
    _, _, err = command("report", "open", "--store", store, "--out", tmp_path / "page.html")
    assert "no browser was found here; open" in err


def test_slides_are_16_to_9_under_their_sentence(command, store, tmp_path):
    code, _, err = command("report", "export", "--store", store, "--slides", tmp_path / "slides")
    assert code == 0 and "slides/index.html" in err
    (svg,), (png,) = ([*(tmp_path / "slides").glob(f"*.{ending}")] for ending in ("svg", "png"))
    whole = ElementTree.parse(svg).getroot()
    assert (whole.get("width"), whole.get("height")) == (str(WIDTH), str(HEIGHT)) and WIDTH * 9 == HEIGHT * 16
    words = " ".join(part.text or "" for part in whole.iter("{http://www.w3.org/2000/svg}text"))
    assert (
        "It needs 2 of its 4 attention heads (the parts that let words look at each other)" in words
        and "pocket tuned on" in words
    )
    inside = whole.find("{http://www.w3.org/2000/svg}svg")
    assert float(inside.get("x")) >= 0 and float(inside.get("x")) + float(inside.get("width")) <= WIDTH
    assert float(inside.get("y")) + float(inside.get("height")) <= HEIGHT
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (WIDTH, HEIGHT)


def test_a_contact_sheet_fills_its_slide(tmp_path):
    """Twenty-four maps stand eight or so in a row, not four: in a column they would be a stamp each."""
    sheet = cells(*np.random.default_rng(0).random((24, 6, 6)))
    figure = replace(maps(), table="maps")
    put(tmp_path / "store", Result("patterns", 0, {"maps": sheet}, figures=[figure], models=models()))
    export_slides(tmp_path / "store", tmp_path / "slides")
    (svg,) = (tmp_path / "slides").glob("*.svg")
    inside = ElementTree.parse(svg).getroot().find("{http://www.w3.org/2000/svg}svg")
    assert float(inside.get("width")) > WIDTH / 2 and float(inside.get("height")) > HEIGHT / 3


def test_an_export_says_where_to(command, store):
    code, _, err = command("report", "export", "--store", store)
    assert code == 2 and "--out FOLDER" in err and "--slides FOLDER" in err


def test_hostile_words_of_a_slide_stay_words_and_folders_of_others_stay(store, tmp_path):
    figure = '<svg width="10" height="5" viewBox="0 0 10 5" xmlns="http://www.w3.org/2000/svg"></svg>'
    whole = ElementTree.fromstring(Slide("</text><script>", "a & b", '"c" <d>', figure).svg)
    assert whole.find(".//{http://www.w3.org/2000/svg}script") is None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UserError):
        export_slides(store, tmp_path / "mine")
