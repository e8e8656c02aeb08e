"""What `shrink` writes, opened and run by a process that knows nothing of the one that wrote it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from bertscope.data.task import Task
from bertscope.experiments.shrink.question import ShrinkConfig, shrink
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.kinds import model_output
from device import DEVICE
from families import tiny_model
from planted_kinds import PLANTED
from planted_outputs import ROWS

TEXTS = ["good old house by the water", "bad road", "the long road with a happy house by the old water"]
SCRIPT = """
import sys, numpy, onnxruntime, torch, bertscope
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
folder, kind, texts = sys.argv[1], sys.argv[2], sys.argv[3:]
encoder = bertscope.load(folder, device="cpu")
asked = MODEL_OUTPUTS[kind](encoder)
coded = encoder.tokenizer(texts, padding=True, return_tensors="pt")
with torch.no_grad():
    ours = asked.deployed(encoder.model)(*(coded[name] for name in asked.reads))[0].numpy()
session = onnxruntime.InferenceSession(folder + "/model.onnx")
theirs = session.run(list(asked.gives), {one.name: coded[one.name].numpy() for one in session.get_inputs()})[0]
numpy.savez(folder + ".npz", ours=ours, theirs=theirs)
"""


def planted(kind: str, tokenizer) -> tuple[Encoder, Task]:
    if kind in PLANTED:
        return PLANTED[kind].model(tokenizer), PLANTED[kind].task(ROWS)
    task = PLANTED["classification"].task(ROWS)
    return with_classifier(load(tiny_model(kind).to(DEVICE), tokenizer=tokenizer), task.labels), task


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("kind", ["tokens", "several", "vectors", "modernbert"])
def test_a_new_process_and_onnxruntime_say_the_same(kind, _pocket, tmp_path: Path) -> None:
    model, task = planted(kind, _pocket.tokenizer)
    folder = tmp_path / "small"
    config = ShrinkConfig("60%", step=0.2, epochs=1, learning_rate=1e-4, force=True)
    small = shrink(model, task, config, out=folder).encoder
    asked = model_output(small, task.asked_of(small).output)
    coded = small.tokenizer(TEXTS, padding=True, return_tensors="pt").to(small.device)
    with torch.no_grad():
        wanted = asked.deployed(small.model)(*(coded[name] for name in asked.reads))[0].cpu().numpy()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), asked.kind, *TEXTS], env=environment, check=True, timeout=120
    )
    told = np.load(f"{folder}.npz")
    np.testing.assert_allclose(told["ours"], wanted, atol=1e-5)
    np.testing.assert_allclose(told["theirs"], wanted, atol=1e-4)
