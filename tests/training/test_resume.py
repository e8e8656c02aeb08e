"""kill -9 in the middle of a fine-tuning, again and again: the last run ends with the undisturbed run's weights."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertscope.models.load import load
from device import on_cpu

TRAIN = """
import sys
from bertscope import FinetuneConfig, finetune, load, read_task
task = read_task("demo/sentiment", limit=240)
config = FinetuneConfig(epochs=6, learning_rate=1e-3, batch_size=16, weight_decay=0.01, keep=4)
finetune(load(sys.argv[1], device="cpu"), task, config, out=sys.argv[2])
"""


def start(base: Path, out: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", TRAIN, str(base), str(out)], stderr=subprocess.PIPE)


def weights(folder: Path) -> dict[str, str]:
    """Of the model, and of the checkpoints that were kept along its training."""
    found = [folder, *sorted(folder.glob("checkpoint-*"))]
    assert len(found) == 5
    return {one.relative_to(folder).as_posix(): load(one).fingerprint for one in found}


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_ten_kills_leave_the_same_weights(tiny, tmp_path):
    base = tiny.save(tmp_path / "base")
    started = time.perf_counter()
    assert start(base, tmp_path / "whole").wait() == 0
    seconds = time.perf_counter() - started
    moments, kills = random.Random(0), 0
    while kills < 10:
        run = start(base, tmp_path / "killed")
        try:
            run.wait(timeout=seconds * moments.uniform(0.3, 0.98))
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            kills += 1
            continue
        # It got to its end before the moment came: begin another one.
        assert run.returncode == 0, run.stderr.read()
        assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
        shutil.rmtree(tmp_path / "killed")
    assert start(base, tmp_path / "killed").wait() == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "killed", "whole"], "nothing else is left"
