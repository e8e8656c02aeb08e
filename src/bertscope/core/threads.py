"""How many threads this process may have, and what they do while they wait.

A library that shares work among threads (OpenMP: torch's) lets those that are done spin, so that the next piece of
work finds them awake. On a machine that others use, too, they spin in the place of those that still work: with two
busy neighbours a pass takes several times as long as with one thread. And a machine has more processors than a
container may use.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_OWN = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""By these a user may have said how long threads spin; GNU's library and Intel's each read one of their own, too."""
CONSIDERATE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "30000"}
"""Threads that wait sleep. GNU's library lets them spin for some tens of microseconds before: the pause between two
matrix products of a small model is shorter, and to wake a thread takes about as long. Beside others that is spun in
vain, but not for long (`benchmarks/busy.py`)."""


_ours: set[str] = set()
"""What was set here, in the place of a user who said nothing."""


def be_considerate() -> None:
    """Let the threads of this process sleep once they have waited for a moment, and be as many as it may use, unless
    the user's own settings say otherwise. It counts if it comes before torch or numpy is imported."""
    if not any(name in os.environ for name in _OWN):
        for name, value in CONSIDERATE.items():
            _suggest(name, value)
    if (allowed := allowed_threads()) < (os.cpu_count() or 1):
        _suggest("OMP_NUM_THREADS", str(allowed))


def _suggest(name: str, value: str) -> None:
    if name not in os.environ:
        os.environ[name] = value
        _ours.add(name)


def users_environment() -> dict[str, str]:
    """The environment without what `be_considerate` said of this process: one of several has fewer threads."""
    return {name: value for name, value in os.environ.items() if name not in _ours}


def allowed_threads(root: Path = Path("/")) -> int:
    """As many as this process may keep busy: of the machine's processors those that it may run on, and of their time
    what its control group has; one at least."""
    runs_on = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([runs_on, *(math.ceil(share) for share in _shares(root))]))


def _shares(root: Path) -> Iterator[float]:
    """How many processors' time each control group that this process is in may use, where it has a limit."""
    groups, version_2 = root / "sys/fs/cgroup", "0::"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if line.startswith(version_2):
            for folder in _upwards(groups, path):
                yield from _share(*_read(folder / "cpu.max").split()[:2])
        elif "cpu" in controllers.split(","):
            for folder in _upwards(groups / controllers, path):
                yield from _share(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _upwards(top: Path, path: str) -> Iterator[Path]:
    """The folder of a group, and of those that it is in. Inside a container the path may be the host's: then only the
    topmost is there, which is its own."""
    inside = Path(path.lstrip("/"))
    yield from (top / one for one in (inside, *inside.parents))


def _share(quota: str = "", period: str = "") -> Iterator[float]:
    """Of a quota of time in a period; none where there is no limit (`max`, -1), or no such file."""
    try:
        if int(quota) > 0 and int(period) > 0:
            yield int(quota) / int(period)
    except ValueError:
        return


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
