"""Room on a device that several processes share: who needs some says so first, and waits until there is enough.

Free memory, as the device tells it, isn't room: another process may have begun and not have taken yet what it will
need. So each writes down how much that is, and how much of it is taken, in a file whose lock it holds; what a process
that died wrote counts no more. One process looks at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bertscope.core.files import write_text
from bertscope.core.locks import Busy, held, is_held

POLL = 1.0
"""Seconds until somebody who waits looks again."""
_ANOTHER_LOOKS = 0.02


class Device(Protocol):
    """Whatever has memory."""

    @property
    def name(self) -> str:
        """The same for all processes that share it, and no other's."""

    def free(self) -> int:
        """Bytes that no process has taken."""

    def taken(self) -> int:
        """Bytes that this process has taken."""

    def give_back(self) -> None:
        """Let others have what this process has taken and doesn't use."""


@dataclass(frozen=True)
class Sharing:
    """How the processes of a run share devices."""

    folder: Path
    """Where they write down what they need."""
    say: Callable[[str], None]
    """Who is told that one waits."""


_sharing: Sharing | None = None


@contextmanager
def shared(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """In the block this process is one of several that share their devices."""
    global _sharing
    before, _sharing = _sharing, Sharing(folder, say)
    try:
        yield
    finally:
        _sharing = before


class Share:
    """What a process may take of a device. Where nobody shares it, that is anything."""

    def __init__(self, device: Device, need: int, record: Path | None) -> None:
        self._device, self._need, self._record = device, need, record

    def look(self) -> None:
        """Write down how much is taken by now: the rest is still to come."""
        if self._record:
            write_text(self._record, json.dumps({"need": self._need, "taken": self._device.taken()}))


@contextmanager
def room(device: Device, more: int) -> Iterator[Share]:
    """Wait until `more` bytes are free on the device beside what others have and will take; they are this block's.

    Who is alone doesn't wait, however little there is: nobody would make room, and what is needed is an estimate.
    """
    if _sharing is None:
        yield Share(device, more, None)
        return
    folder, told = _sharing.folder / device.name, False
    record = folder / f"{os.getpid()}.json"
    with ExitStack() as ours:
        while True:
            with _alone(folder / "look.lock"):
                others = _to_come(folder)
                left = max(0, device.free() - sum(others))
                if not others or more <= left:
                    ours.enter_context(held(_lock(record)))
                    ours.callback(record.unlink, missing_ok=True)
                    share = Share(device, device.taken() + more, record)
                    share.look()
                    break
            if not told:
                told = True
                _sharing.say(f"for room on the GPU: it needs about {_size(more)}, and {_size(left)} are left")
            time.sleep(POLL)
        ours.callback(device.give_back)
        yield share


def _to_come(folder: Path) -> list[int]:
    """Of each other process that has room: bytes that it will still take."""
    found = []
    for record in folder.glob("*.json"):
        if is_held(_lock(record)):
            with suppress(FileNotFoundError):  # it has just ended
                said = json.loads(record.read_text(encoding="utf-8"))
                found.append(max(0, said["need"] - said["taken"]))
    return found


def _lock(record: Path) -> Path:
    return record.with_suffix(".lock")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with ExitStack() as lock:
        while True:
            try:
                lock.enter_context(held(path))
                break
            except Busy:
                time.sleep(_ANOTHER_LOOKS)
        yield


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB"
