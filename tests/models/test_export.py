"""ONNX: the same logits for any number of texts of any length, from the whole models and from uneven ones."""

from __future__ import annotations

import copy
import errno
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from bertscope.core.errors import FullDiskError, UserError
from bertscope.models import export
from bertscope.models.export import OnnxModel, export_onnx, quantise, weight_bytes, why_no_onnx
from bertscope.models.load import load
from families import ALIKE, CONFIGS, UNEVEN, tiny_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

SHAPES = ((1, 1), (1, 9), (2, 8), (7, 60), (33, 3))  # (2, 8) is what it is traced with


def inputs_for(encoder, rows: int, length: int) -> dict[str, torch.Tensor]:
    """Random tokens, rows of different lengths."""
    generator = torch.Generator().manual_seed(rows * length)
    real = torch.arange(length) < length - torch.arange(rows)[:, None] % length
    filled = {
        "input_ids": torch.randint(5, 8000, (rows, length), generator=generator) * real,
        "attention_mask": real.long(),
        "token_type_ids": torch.zeros(rows, length, dtype=torch.long),
    }
    return {name: filled[name] for name in encoder.tokenizer.model_input_names}


def exported(name, _pocket, folder, off=UNEVEN):
    encoder = load(tiny_model(name), tokenizer=_pocket.tokenizer)
    encoder = encoder.cut(off) if off else encoder
    return encoder, export_onnx(encoder, folder / "model.onnx")


def check(encoder, path) -> None:
    model = OnnxModel(path, encoder)
    for rows, length in SHAPES:
        inputs = inputs_for(encoder, rows, length)
        with torch.no_grad():
            wanted = encoder.model(**inputs).logits.numpy()
        assert np.allclose(model(inputs)["logits"], wanted, atol=1e-4), (rows, length)


@pytest.mark.slow
def test_an_uneven_model_in_onnx_and_int8(_pocket, tmp_path, texts):
    encoder, path = exported("bert", _pocket, tmp_path)
    before = encoder.fingerprint
    check(encoder, path)
    assert encoder.fingerprint == before and encoder.model.config._attn_implementation == "sdpa"
    graph = onnx.load(path).graph
    axes = {one.name: [axis.dim_param or axis.dim_value for axis in one.type.tensor_type.shape.dim]
            for one in (*graph.input, *graph.output)}  # fmt: skip
    assert axes == {name: ["batch", "length"] for name in encoder.tokenizer.model_input_names} | {
        "logits": ["batch", 3]
    }
    onnx.checker.check_model(path, full_check=True)
    assert b"site-packages" not in path.read_bytes()  # nothing of this machine is in a file for others
    assert path.stat().st_size < weight_bytes(encoder) + 2**17
    wanted, found = encoder.predict(texts), OnnxModel(path, encoder).predict(texts)
    assert np.allclose(found.logits, logits := wanted.logits, atol=1e-4)  # in the order of the texts
    assert (found.ids, found.labels, found.truncated) == (wanted.ids, wanted.labels, wanted.truncated)

    small = quantise(path, tmp_path / "model-int8.onnx")
    assert small.stat().st_size < 0.5 * path.stat().st_size
    kinds = {one.data_type for one in onnx.load(small).graph.initializer if len(one.dims) == 2}
    assert onnx.TensorProto.INT8 in kinds
    scales = {one.name: one.dims for one in onnx.load(small).graph.initializer if "_scale" in one.name}
    assert any(list(dims) == [40] for dims in scales.values())  # a scale for each neuron, not one for all
    threads = OnnxModel(small, encoder)._session.session.get_session_options().intra_op_num_threads
    assert threads == torch.get_num_threads()
    rounded = OnnxModel(small, encoder).predict(texts).logits
    assert not np.array_equal(rounded, logits)
    assert np.corrcoef(rounded.ravel(), logits.ravel())[0, 1] > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("off", [[], ["layer:2", "head:1.1"]], ids=["whole", "layer"])
@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "electra", "modernbert", "deberta-v2", "mpnet"])
def test_families(name, off, _pocket, tmp_path):
    check(*exported(name, _pocket, tmp_path, off))


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_every_family_cut(name, _pocket, tmp_path):
    encoder, path = exported(name, _pocket, tmp_path, ALIKE if name == "albert" else UNEVEN)
    check(encoder, path)
    assert quantise(path, tmp_path / "model-int8.onnx").stat().st_size < 0.5 * path.stat().st_size


@pytest.mark.slow
def test_deberta_v3(_pocket, tmp_path):
    model = tiny_model("deberta-v2", share_att_key=True, position_buckets=8, norm_rel_ebd="layer_norm")
    encoder = load(model, tokenizer=_pocket.tokenizer).cut(UNEVEN)
    check(encoder, export_onnx(encoder, tmp_path / "model.onnx"))


def test_a_file_is_told_of_padding_whatever_the_tokenizer_gives(_pocket, tmp_path, texts):
    tokenizer = copy.deepcopy(_pocket.tokenizer)
    tokenizer.model_input_names = ["input_ids"]
    encoder = load(tiny_model("bert"), tokenizer=tokenizer)
    file = OnnxModel(export_onnx(encoder, tmp_path / "model.onnx"), encoder)
    assert file.takes == ("input_ids", "attention_mask")
    np.testing.assert_allclose(file.predict(texts).logits, encoder.predict(texts).logits, atol=1e-4)


def test_missing_packages_are_one_line(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None if name == "onnxruntime" else name)
    with pytest.raises(UserError, match=r"onnxruntime must be installed .* pip install 'bertscope\[deploy\]'"):
        export_onnx(tiny, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_predicts_nothing_is_refused(tiny, tmp_path):
    with pytest.raises(UserError, match="has no task head that predicts"):
        export_onnx(replace(tiny, task_head="discriminator"), tmp_path / "model.onnx")


def test_a_full_disk_is_one_line_that_says_where(tiny, tmp_path, monkeypatch):
    empty = onnx.ModelProto(producer_name="nobody")
    path = tmp_path / "model.onnx"
    onnx.save(empty, path)
    room = shutil.disk_usage(tmp_path)._replace(free=path.stat().st_size)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: room)
    with pytest.raises(FullDiskError, match=rf"cannot write {tmp_path}: the disk is full"):
        quantise(path, tmp_path / "model-int8.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch.onnx, "export", lambda *args, **kwargs: SimpleNamespace(model_proto=empty))
    monkeypatch.setattr(onnx, "save", full)
    with pytest.raises(FullDiskError, match=rf"cannot write {tmp_path}/again\.onnx: the disk is full"):
        export_onnx(tiny, tmp_path / "again.onnx")


def test_models_that_one_file_can_not_hold_are_told(tiny, monkeypatch):
    assert not why_no_onnx(tiny)
    monkeypatch.setattr(export, "_LARGEST", weight_bytes(tiny))
    assert f"has {weight_bytes(tiny):,} bytes of weights, more than one ONNX file can hold" in why_no_onnx(tiny)


def test_batches_may_lie_on_a_gpu():
    class OnGpu:
        """A tensor that numpy can't read where it is."""

        def cpu(self):
            return torch.ones(1, 2)

    session = export._Session.__new__(export._Session)
    nn.Module.__init__(session)
    session.session = SimpleNamespace(run=lambda names, inputs: [inputs["input_ids"] + 1])
    session.takes, session.gives = ["input_ids"], ["logits"]
    assert session(input_ids=OnGpu()).logits.tolist() == [[2, 2]]
    with pytest.raises(AttributeError, match="the ONNX file gives logits, not start_logits"):
        _ = session(input_ids=OnGpu()).start_logits


def test_logging_and_warnings_are_as_they_were_after_an_error(monkeypatch, tiny, tmp_path):
    import logging

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = logging.root.manager.disable
    monkeypatch.setattr(torch.onnx, "export", full)
    with pytest.raises(OSError, match="No space left"):
        export_onnx(tiny, tmp_path / "model.onnx")
    assert logging.root.manager.disable == before
