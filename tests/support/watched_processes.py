"""Processes as Linux shows them in /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """The processes that a process has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended meanwhile
            continue
        found += [int(stat.parent.name)] if int(ppid) == parent and state != "Z" else []
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def doors(pid: int) -> list[str]:
    """The sockets of a process that have a port or a name, which others could open."""
    own = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this very listing
            own.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))  # noqa: PTH115 (no path)
    net = Path(f"/proc/{pid}/net")
    ports = [line for kind in ("tcp", "tcp6", "udp", "udp6") for line in _lines(net / kind) if line.split()[9] in own]
    named = [line for line in _lines(net / "unix") if len(line.split()) > 7 and line.split()[6] in own]
    return [*ports, *named]


def _lines(table: Path) -> list[str]:
    return table.read_text().splitlines()[1:] if table.exists() else []


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for it."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it didn't come about"
        time.sleep(0.02)
