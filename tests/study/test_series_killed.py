"""kill -9 while a series is asked: what was stored stays, and the next run ends as an undisturbed one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bertscope.core.planning import planned
from bertscope.core.registry import find
from bertscope.core.store import Store
from bertscope.study.runner import run_steps
from checkpoints import drifting
from device import on_cpu

ASK = """
import os, signal, sys
from bertscope.core.store import Store
from bertscope.models.stage import Stage
from bertscope.study.runner import run_steps
from test_series_killed import plan

left, real = int(sys.argv[1]), Stage.on

def on(self, encoders):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, encoders)

Stage.on = on
run_steps([plan(sys.argv[2])], Store(sys.argv[3]))
"""


def plan(run: str):
    patterns = find("patterns")
    return planned(patterns, [run], "demo/corpus", patterns.config(repeats=100), {"limit": 20}, beside={})


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_a_killed_series_goes_on(tiny, tmp_path):
    """Of three checkpoints each comes on the stage when its part is made ready (1 to 3), when it reads the window (4
    to 6), and when its answer is made (7 to 9): it is killed while a model reads, and when one answer is stored."""
    run = str(drifting(tiny, tmp_path / "run", steps=(1, 2, 3)))
    store, alone, whole = Store(tmp_path / "killed"), Store(tmp_path / "alone"), plan(run)
    for moment, kept in ((2, 0), (5, 0), (8, 1)):
        killed = subprocess.run(
            [sys.executable, "-c", ASK, str(moment), run, str(store.folder)], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, check=False,
        )  # fmt: skip
        assert killed.returncode == -9, killed.stderr
        assert sum(map(store.has, whole.before())) == kept and not store.has(whole)
    outcome = run_steps([whole], store)
    assert (len(outcome.stored), len(outcome.done)) == (1, 3), "two answers and what follows them"
    run_steps([whole], alone)
    for step in [*whole.before(), whole]:
        assert store.result(step).equals(alone.result(step)), step.id
    folders = [sorted(path.name for path in (one.folder / "steps").iterdir()) for one in (store, alone)]
    assert folders[0] == folders[1], "nothing else is left"
