"""ONNX for every kind of output: the file gives what torch gives, and the same is made of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.models.export import OnnxModel, export_onnx, quantise
from bertscope.models.latency import sample_batches
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from bertscope.training.task_kinds import with_task_head
from planted_kinds import PLANTED

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

ALWAYS = ("spans",)
"""An export takes ten seconds: the others are tried with all tests."""
KINDS = [pytest.param(kind, marks=() if kind in ALWAYS else pytest.mark.slow) for kind in MODEL_OUTPUTS]


def drawn(encoder, seed: int = 0):
    """Weights of a size at which every part matters; the planted ones say nothing but the answer."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in encoder.model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3 + (parameter.ndim == 1))
    return encoder


def longer(task):
    """With rows that a model of 32 tokens reads in windows, or not to their end."""
    if task.test.pair is None or task.test.answers is None:
        return task
    pair = tuple(f"{text} " + "the road by the house " * (2 * (row % 5)) for row, text in enumerate(task.test.pair))
    return replace(task, test=replace(task.test, pair=pair))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_what_torch_gives_and_says_the_same(kind, _pocket, tmp_path):
    planted = PLANTED[kind]
    model = planted.model(_pocket.tokenizer)
    task = longer(planted.task(24).asked_of(model))
    random = drawn(with_task_head(model, task, init="random"))
    for encoder in (model, random):
        path = export_onnx(encoder, tmp_path / "model.onnx", task.output)
        onnx, asked = OnnxModel(path, encoder), model_output(encoder, task.output)
        module = asked.deployed(encoder.model)
        for size in (1, 3, 8):
            for inputs in sample_batches(encoder, task.test, size, count=2, output=task.output):
                with torch.no_grad():
                    wanted = module(*(inputs[name] for name in asked.reads))
                found = onnx(inputs)
                assert tuple(found) == asked.gives
                for name, one in zip(asked.gives, wanted, strict=True):
                    assert np.allclose(found[name], one.cpu(), atol=1e-4), (name, size)
        told, wanted = (one.predict(task.test, task.output) for one in (onnx, encoder))
        assert (told.ids, told.labels, told.truncated) == (wanted.ids, wanted.labels, wanted.truncated)
        assert told.logits.dtype == wanted.logits.dtype and np.allclose(told.logits, wanted.logits, atol=1e-4)
    small = OnnxModel(quantise(path, tmp_path / "model-int8.onnx"), random).predict(task.test, task.output)
    assert small.logits.shape == wanted.logits.shape


@pytest.mark.slow
def test_it_is_the_file_that_runs(_pocket, tmp_path, monkeypatch):
    """Whoever goes past it, to the library's model, would compare torch with itself."""
    model = PLANTED["spans"].model(_pocket.tokenizer)
    path = export_onnx(model, tmp_path / "model.onnx")
    onnx, task = OnnxModel(path, model), PLANTED["spans"].task(4)

    def never(*args, **kwargs):
        raise AssertionError("torch was asked")

    monkeypatch.setattr(type(model.model), "forward", never)
    with pytest.raises(AssertionError, match="torch was asked"):
        model.predict(task.test, task.output)
    assert task.score(onnx.predict(task.test, task.output)).value == 1
