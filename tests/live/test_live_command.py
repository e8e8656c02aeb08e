"""`bertscope explore` as a process: what it prints, how it ends, and what it leaves behind, which is nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip("fastapi")  # an extra

from fake_explorer import FakeExplorer
from live_client import LiveClient
from watched_processes import children, doors, runs, until

MAIN = "import sys; sys.argv[0] = 'bertscope'; from bertscope.cli.main import main; main()"


class Started:
    """A process of the command, in a folder and with a folder for temporary files of its own."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.folder, self.temporary = folder / "here", folder / "temporary"
        for one in (self.folder, self.temporary):
            one.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "explore", *map(str, words)], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"TMPDIR": str(self.temporary)},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def ended(self, seconds: float = 30) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def left_behind(self) -> list[str]:
        return [str(path) for place in (self.folder, self.temporary) for path in place.rglob("*")]


@pytest.fixture
def started(tmp_path, model):
    one = Started(tmp_path, model)
    yield one
    one.process.kill()
    one.process.communicate()


def look(*off: str) -> dict:
    return {"reading": {"text": "the food was good"}, "changes": [{"off": list(off)}]}


def keep_asking(url: str, stop: threading.Event) -> threading.Thread:
    """Requests without end, so that whatever happens happens in the middle of one."""

    def work() -> None:
        client = LiveClient(url)
        while not stop.is_set():
            try:
                client.ask("explain", {"reading": {"text": "the food was good and the view was dull " * 3}})
            except (OSError, ValueError):
                return

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_link_answers_and_ends_soon_with_nothing_left(started, which):
    client = LiveClient(started.url)
    status, said = client.ask("look", look("head:1.1"))
    assert status == 200 and said["seen"][0]["after"]["p"]
    assert len(doors(started.process.pid)) == 1 + 1, "it listens at one door, and we are at it"
    assert children(started.process.pid) == []
    stop = threading.Event()
    asking = [keep_asking(started.url, stop) for _ in range(3)]
    time.sleep(0.3)
    began = time.monotonic()
    started.process.send_signal(which)
    code, out, err = started.ended()
    assert time.monotonic() - began < 2
    assert (code, out) == (0, "") and "Ctrl+C ends it" in err and "Traceback" not in err
    assert started.left_behind() == []
    with pytest.raises(OSError):
        socket.create_connection((client.host, client.port), timeout=1)
    stop.set()
    for one in asking:
        one.join(5)


@pytest.mark.slow
@pytest.mark.alone
def test_killed_in_the_middle_of_a_request_nothing_is_left(started):
    stop = threading.Event()
    asking = [keep_asking(started.url, stop) for _ in range(3)]
    time.sleep(0.5)
    began = children(started.process.pid)
    started.process.kill()
    code, _, _ = started.ended()
    assert code == -signal.SIGKILL and started.left_behind() == []
    until(lambda: not [pid for pid in began if runs(pid)], 5)
    stop.set()
    for one in asking:
        one.join(5)
    with socket.create_server(("127.0.0.1", LiveClient(started.url).port)):
        pass  # the port can be had again at once


class Told:
    """To end, at once."""

    def wait(self, seconds: float) -> bool:
        return True


@pytest.fixture
def fake(monkeypatch):
    """The command with a fake explorer, in this process, which is told to end as soon as it waits."""
    seen = []

    def opened(*given, **reading):
        seen.append((given, reading))
        return FakeExplorer()

    monkeypatch.setattr("bertscope.live.explorer.Explorer.open", opened)
    monkeypatch.setattr("bertscope.cli.explore._told_to_end", lambda: nullcontext(Told()))
    monkeypatch.setattr("bertscope.cli.explore._leave", lambda: None)
    return seen


def test_it_says_where_it_is_and_what_to_do(command, fake):
    code, out, err = command("explore", "pocket", "--base", "other")
    assert (code, err) == (0, "open it in a browser; Ctrl+C ends it\n")
    assert out.startswith("http://127.0.0.1:") and len(out.partition("#token=")[2].strip()) >= 40
    assert fake == [(("pocket", "other", None), {"store": None})]
    assert command("-q", "explore", "pocket")[2] == ""


def test_the_store_of_this_folder_is_taken_where_there_is_one(command, fake, tmp_path):
    (tmp_path / "bertscope-store").mkdir()
    assert command("explore", "pocket", "--on", "x.csv", "--limit", 5, "--slice", "a,b")[0] == 0
    assert fake == [(("pocket", None, "x.csv"), {"store": Path("bertscope-store"), "limit": 5, "slice": ("a", "b")})]


def test_another_host_is_warned_of(command, fake):
    code, out, err = command("explore", "pocket", "--host", "0.0.0.0")
    assert code == 0 and "#token=" in out
    assert err.startswith("warning: anybody who reaches 0.0.0.0 and has this link") and err.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "70000"], "a port is a number from 0 to 65535, not 70000"),
        (["--host", "no.such.host.invalid"], "there is no address 'no.such.host.invalid' to listen on"),
        (["--store", "nowhere"], "there is no store nowhere"),
        (["--limit", "5"], "--limit says how data is read; name the data with --on"),
        (["--on", "x.csv", "--limit", "0"], "limit is 0; give 1 or more rows"),
    ],
)
def test_mistakes_are_one_line(command, fake, words, said):
    code, out, err = command("explore", "pocket", *words)
    assert (code, out) == (2, "") and err.startswith(f"bertscope: {said}") and err.count("\n") == 1
    assert fake == []


def test_a_port_that_is_taken_is_told_before_the_model_is_opened(command, fake):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = command("explore", "pocket", "--port", taken.getsockname()[1])
    assert code == 2 and "can't be had (Address already in use)" in err and err.count("\n") == 1 and fake == []


def test_a_model_that_isnt_there_is_one_line_and_frees_the_port(command):
    code, _, err = command("explore", "no/such/folder")
    assert code == 2 and err.count("\n") == 1


def test_without_the_extra_it_says_what_to_install(command, fake, monkeypatch):
    monkeypatch.setattr("bertscope.live.installed.find_spec", lambda name: None)
    code, _, err = command("explore", "pocket")
    assert code == 2
    assert "fastapi and uvicorn must be installed for explore: pip install 'bertscope[live]'" in err


def test_a_browser_is_opened_on_a_terminal_alone(command, fake, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    command("explore", "pocket")
    assert opened == []
    monkeypatch.setattr("bertscope.cli.explore.on_a_terminal", lambda: True)
    command("explore", "pocket", "--no-open")
    assert opened == []
    _, out, _ = command("explore", "pocket")
    assert opened == [out.strip()]


def test_help_tells_what_it_is_and_loads_nothing_heavy():
    probe = (
        "import sys; from bertscope.cli.main import app\ntry: app(['explore', '--help'])\nexcept SystemExit: pass\n"
        "print('loaded:', json.dumps(sorted(sys.modules)))".replace("json.dumps", "__import__('json').dumps")
    )
    printed = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    assert "switch parts off, live" in " ".join(printed.split()) and "--no-open" in printed
    loaded = set(json.loads(printed.rpartition("loaded:")[2]))
    assert not loaded & {"torch", "transformers", "pandas", "fastapi", "uvicorn"}
