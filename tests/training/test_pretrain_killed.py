"""Pre-training in processes of its own: kill -9 again and again, and five megabytes on a CPU."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertscope.models.load import load
from device import on_cpu
from planted_text import write_text

TRAIN = """
import json, resource, sys
import bertscope
made = bertscope.pretrain(
    [sys.argv[1]], layers=1, heads=2, units=32, positions=64, length=32, steps=int(sys.argv[3]), batch_tokens=2048,
    held_out=0.1, keep="even", checkpoints=3, out=sys.argv[2],
)
curve = made.result.tables["curve"].drop(columns="seconds")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
json.dump({"curve": curve.to_json(), "peak": peak}, open(sys.argv[2] + ".json", "w"))
"""


def start(text: Path, out: Path, steps: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", TRAIN, str(text), str(out), str(steps)], stderr=subprocess.PIPE)


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_kills_leave_the_same_curve_and_weights(tmp_path):
    text = write_text(tmp_path / "text.txt", documents=1500)
    began = time.perf_counter()
    assert start(text, tmp_path / "whole", 60).wait() == 0
    seconds, moments, kills = time.perf_counter() - began, random.Random(0), 0
    while kills < 5:
        run = start(text, tmp_path / "killed", 60)
        try:
            run.wait(timeout=seconds * moments.uniform(0.4, 0.95))
            break  # it came to its end before the moment did
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            kills += 1
    else:
        run = start(text, tmp_path / "killed", 60)
    assert run.wait() == 0, run.stderr.read()
    assert kills > 0
    one, other = (json.loads((tmp_path / f"{name}.json").read_text())["curve"] for name in ("whole", "killed"))
    assert one == other
    assert load(tmp_path / "killed").fingerprint == load(tmp_path / "whole").fingerprint
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"text.txt", "whole", "whole.json", "killed", "killed.json"}, "nothing else is left"


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_five_megabytes_are_learnt_from_and_not_held(tmp_path):
    """Ten times the text is no more memory, but for what a vocabulary of as many words takes."""
    peaks = {}
    for name, documents in (("half", 2200), ("five", 22_000)):
        text = write_text(tmp_path / f"{name}.txt", documents=documents)
        assert start(text, tmp_path / name, 20).wait() == 0
        found = json.loads((tmp_path / f"{name}.json").read_text())
        peaks[name] = found["peak"] * (1 if sys.platform == "darwin" else 1024)
    assert (tmp_path / "five.txt").stat().st_size > 5_000_000
    assert peaks["five"] - peaks["half"] < 60_000_000
