"""Room on a device that several processes share, with a device whose memory is a number here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from bertscope.core import room as rooms
from bertscope.core.room import room, shared
from planted_device import GB, Planted


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(rooms, "POLL", 0.02)


def another(folder: Path, need: float, taken: float) -> subprocess.Popen[str]:
    """A process that has room on the device until its standard input ends."""
    code = (
        "import sys; from pathlib import Path; from bertscope.core.room import room, shared\n"
        "from planted_device import GB, Planted; device = Planted(80)\n"
        f"with shared(Path({str(folder)!r}), print), room(device, int({need} * GB)) as share:\n"
        f"    device.take({taken}); share.look(); print('has room', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout and process.stdout.readline() == "has room\n"
    return process


@pytest.fixture
def beside(tmp_path):
    """Start others; they are gone at the end."""
    with ExitStack() as ends:

        def start(need: float, taken: float) -> subprocess.Popen[str]:
            process = ends.enter_context(another(tmp_path, need, taken))
            ends.callback(process.kill)
            return process

        yield start


def waits(folder: Path, device: Planted, more: float) -> tuple[threading.Thread, list[str]]:
    """Ask for room beside what the test does next."""
    said: list[str] = []

    def ask() -> None:
        with shared(folder, said.append), room(device, int(more * GB)):
            said.append("has room")

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread, said


def test_who_shares_with_nobody_has_room(tmp_path):
    device = Planted(free=0)
    with room(device, GB) as share:
        share.look()
    assert device.given_back == 0 and not list(tmp_path.iterdir())


def test_what_others_will_take_is_not_free(tmp_path, beside):
    """10 GB are free; 8 of them are still to be taken by another, which has taken 4 of its 12."""
    process = beside(need=12, taken=4)
    with shared(tmp_path, pytest.fail), room(Planted(free=10), int(1.9 * GB)):
        pass
    thread, said = waits(tmp_path, Planted(free=10), 2.1)
    thread.join(0.3)
    assert said == ["for room on the GPU: it needs about 2.1 GB, and 2.0 GB are left"], "one line, and no room"
    assert thread.is_alive()
    process.kill()
    thread.join(10)


def test_what_others_have_taken_counts_once(tmp_path, beside):
    beside(need=12, taken=12)  # the driver has counted it already
    with shared(tmp_path, pytest.fail), room(Planted(free=10), 10 * GB):
        pass


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
def test_room_is_there_when_another_ends_however_it_ends(tmp_path, beside, end):
    process = beside(need=12, taken=0)
    device = Planted(free=10)
    thread, said = waits(tmp_path, device, 4)
    thread.join(0.2)
    assert thread.is_alive() and len(said) == 1
    process.send_signal(end) if end else process.stdin.close()
    thread.join(10)
    assert said[1:] == ["has room"] and device.given_back == 1


def test_who_is_alone_never_waits(tmp_path):
    """Nobody would make room, and the estimate may be too high."""
    with shared(tmp_path, pytest.fail), room(Planted(free=1), 100 * GB):
        (record,) = (tmp_path / "planted").glob("*.json")
        assert json.loads(record.read_text()) == {"need": 100 * GB, "taken": 0}
    assert not list((tmp_path / "planted").glob("*.json"))


def test_what_is_taken_is_written_down_as_it_grows(tmp_path):
    device = Planted(free=50, taken=3)
    with shared(tmp_path, pytest.fail), room(device, 10 * GB) as share:
        (record,) = (tmp_path / "planted").glob("*.json")
        assert json.loads(record.read_text()) == {"need": 13 * GB, "taken": 3 * GB}
        device.take(9)
        share.look()
        assert json.loads(record.read_text()) == {"need": 13 * GB, "taken": 12 * GB}
