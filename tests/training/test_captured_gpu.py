"""Steps as CUDA graphs, where there is a GPU: `BERTSCOPE_TEST_DEVICE=cuda`."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import captured_table
from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop
from bertscope.training.graphs import CudaGraphs
from bertscope.training.objective import Labelled
from device import DEVICE
from short_training import QUICK, make_task, same, stop_in_epoch

pytestmark = pytest.mark.skipif(DEVICE == "cpu", reason="CUDA graphs are for a GPU")


@pytest.mark.parametrize(("family", "objective"), list(captured_table.asked()))
def test_recorded_steps_are_those_one_by_one(_pocket, family, objective):
    found = captured_table.tried(family, objective, _pocket.tokenizer)
    assert found.cell == captured_table.documented()[family, objective] and found.apart < 1e-5, found.why


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_killed_training_goes_on_to_the_same_weights(tiny, monkeypatch, tmp_path, deterministic):
    task = make_task()

    def trained(out):
        encoder = with_classifier(tiny, task.labels, seed=1)
        history = loop.train(encoder, Labelled(encoder, task), QUICK.settled(24, 100), out=out, resume=True)
        assert history.notes == []
        return encoder

    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(deterministic)
    try:
        whole = trained(None)
        with monkeypatch.context() as killing:
            stop_in_epoch(killing, 3)
            with pytest.raises(KeyboardInterrupt):
                trained(tmp_path / "out")
        assert same(trained(tmp_path / "out"), whole)
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_recording_that_breaks_leaves_the_generator_whole(tiny):
    task = make_task()
    encoder = with_classifier(tiny, task.labels, seed=1)
    objective = Labelled(encoder, task)
    plain = objective.sized_loss

    def waiting(batch):
        loss, size = plain(batch)
        loss.item()  # can't be recorded
        return loss, size

    objective.sized_loss = waiting
    history = loop.train(encoder, objective, replace(QUICK, epochs=1).settled(24, 100), out=None, resume=False)
    (note,) = history.notes
    assert "recording a step failed" in note and np.isfinite(history.epochs[-1]["loss"])
    assert torch.rand(3, device=DEVICE).unique().numel() == 3


def test_graphs_of_a_training_that_is_gone_dont_break_a_recording():
    """They are garbage in a circle, and would be collected whenever enough is allocated."""
    older, graphs = (CudaGraphs(torch.device(DEVICE)) for _ in range(2))
    value = torch.zeros(4, device=DEVICE)
    circle = [older, older.record(lambda: value.add_(1))]
    circle.append(circle)
    del circle, older
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        add = graphs.record(lambda: [value.add_(1) for _ in [[] for _ in range(100)]])
    finally:
        gc.set_threshold(*before)
    assert value.sum().item() == 0, "to record does nothing"
    add()
    assert value.tolist() == [100.0] * 4


@pytest.mark.parametrize("deterministic", [False, True])
def test_kill_9_and_the_training_goes_on_to_the_same_weights(tiny, tmp_path, deterministic):
    """Each training in a process of its own; one is killed once it has its second checkpoint."""
    tiny.save(tmp_path / "base")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}

    def start(out: str) -> subprocess.Popen[bytes]:
        words = [
            sys.executable,
            "-c",
            _TRAINING,
            str(tmp_path / "base"),
            str(tmp_path / out),
            str(int(deterministic)),
        ]
        return subprocess.Popen(words, env=environment)

    assert start("whole").wait() == 0
    killed, history = start("killed"), tmp_path / "killed.checkpoint" / "history.json"
    while not (history.exists() and len(json.loads(history.read_text())["epochs"]) > 2):
        assert killed.poll() is None, "it has to be killed on its way"
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL and not (tmp_path / "killed").exists()
    assert start("killed").wait() == 0
    one, other = (load_file(tmp_path / out / "model.safetensors") for out in ("whole", "killed"))
    assert all(torch.equal(one[name], other[name]) for name in one)


_TRAINING = """
import sys
from pathlib import Path
import torch
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop
from bertscope.training.objective import Labelled
from dataclasses import replace
from short_training import QUICK, make_task
base, out, deterministic = sys.argv[1:]
torch.use_deterministic_algorithms(deterministic == "1")
task = make_task()
encoder = with_classifier(load(base), task.labels, seed=1)
loop.train(encoder, Labelled(encoder, task), replace(QUICK, epochs=12).settled(24, 100), out=Path(out), resume=True)
"""
