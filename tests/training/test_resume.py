"""kill -9 in the middle of a fine-tuning, again and again: the last run ends with the undisturbed run's weights."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest

from bertscope.models.load import load
from device import on_cpu
from killed_training import start, warm


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
    warm()
    started, whole = time.perf_counter(), start(base, tmp_path / "whole")
    whole.join()
    seconds = time.perf_counter() - started
    assert whole.exitcode == 0
    moments, kills = random.Random(0), 0
    while kills < 10:
        run = start(base, tmp_path / "killed")
        run.join(seconds * moments.uniform(0.3, 0.98))
        if run.exitcode is None:
            run.kill()
            run.join()
            kills += 1
            continue
        # It got to its end before the moment came: begin another one.
        assert run.exitcode == 0
        assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
        shutil.rmtree(tmp_path / "killed")
    last = start(base, tmp_path / "killed")
    last.join()
    assert last.exitcode == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "killed", "whole"], "nothing else is left"
