"""How many threads a process may have: planted control groups; and what a command's process is told of waiting."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bertscope.core import threads
from bertscope.core.threads import CONSIDERATE, allowed_threads, be_considerate, users_environment

GROUPS = {
    "none": ({}, 8),
    "version 2": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 3),
    "no limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
    "less than one": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "20000 100000\n"}, 1),
    "more than there are": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "6400000 100000\n"}, 8),
    "the group above": (
        {
            "proc/self/cgroup": "0::/slice/job\n",
            "sys/fs/cgroup/slice/job/cpu.max": "max 100000\n",
            "sys/fs/cgroup/slice/cpu.max": "200000 100000\n",
        },
        2,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "3:cpuset:/\n1:cpu,cpuacct:/docker/1f\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_quota_us": "400000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_period_us": "100000\n",
        },
        4,
    ),
    "version 1 without a limit": (
        {
            "proc/self/cgroup": "1:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        8,
    ),
    "a container that sees the host's path": (
        {"proc/self/cgroup": "0::/kubepods/pod7\n", "sys/fs/cgroup/cpu.max": "500000 100000\n"},
        5,
    ),
    "damaged": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "many\n"}, 8),
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_control_groups_share_is_what_a_process_may_use(tmp_path, monkeypatch, name):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    files, wanted = GROUPS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert allowed_threads(tmp_path) == wanted


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system can't bind a process")
def test_processors_that_a_process_may_not_run_on_dont_count():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert allowed_threads() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("own", "allowed", "wanted"),
    [
        ({}, 8, CONSIDERATE),
        ({}, 2, CONSIDERATE | {"OMP_NUM_THREADS": "2"}),
        ({"OMP_WAIT_POLICY": "passive"}, 8, {}),
        ({"OMP_WAIT_POLICY": "active", "OMP_NUM_THREADS": "5"}, 2, {}),
        ({"GOMP_SPINCOUNT": "100"}, 8, {}),
        ({"KMP_BLOCKTIME": "200"}, 8, {}),
    ],
)
def test_a_users_own_setting_wins(monkeypatch, own, allowed, wanted):
    here = dict(own)
    monkeypatch.setattr(os, "environ", here)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(threads, "allowed_threads", lambda: allowed)
    monkeypatch.setattr(threads, "_ours", set())
    be_considerate()
    assert here == own | wanted
    assert users_environment() == own  # a worker beside others gets as many threads as its own share


_SHOWN = """
import os, sys
sys.argv = ["bertscope", "--version"]
from bertscope.cli.main import main
assert "torch" not in sys.modules and "numpy" not in sys.modules, "too late"
assert "OMP_WAIT_POLICY" not in os.environ, "importing has no effects"
try:
    main()
finally:
    import torch
    print(os.environ["OMP_WAIT_POLICY"])
"""


def test_a_command_says_it_before_torch_is_there():
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
    environment = plain | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_DISPLAY_ENV": "true"}
    asked = [sys.executable, "-c", _SHOWN]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=120)
    assert "passive" in done.stdout.split(), done.stderr
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr, "the library's own word for it"
