"""What a reviewer found: each a way in which something went wrong without a word."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertscope.core import scratch as scratches
from bertscope.core.errors import UserError
from bertscope.core.folders import whole_folder
from bertscope.core.units import Unit, every
from bertscope.models import source
from bertscope.models.judge import predict_without
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop, objective
from bertscope.training.finetune.question import finetune
from device import one_by_one
from short_training import QUICK, make_task, stop_in_epoch

KIND = "toy"


def test_a_hub_id_can_be_planned(monkeypatch, tmp_path):
    snapshot = Path(shutil.copytree(source.POCKET, tmp_path / "snapshot"))
    monkeypatch.setattr(source, "_download", lambda name, patterns: snapshot)
    root = source.model_root("bert-base-uncased")
    assert root.source == "bert-base-uncased" and root.digest == source.model_root("pocket").digest


def test_a_classifier_without_its_pooler_is_refused(tiny, tmp_path):
    folder = tiny.save(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    save_file({k: v for k, v in weights.items() if "pooler" not in k}, folder / "model.safetensors", {"format": "pt"})
    (folder / "seal.json").unlink()
    with pytest.raises(UserError, match=r"lacks 2 of the model's weights, 'bert\.pooler"):
        load(folder)
    bare = load(folder, task_head="none")
    assert bare.model.pooler is None, "a random one would pass for pretrained"
    one, other = (with_classifier(load(folder, task_head="none"), ("a", "b"), seed=3) for _ in range(2))
    assert one.fingerprint == other.fingerprint


def test_a_cut_encoder_is_fine_tuned_as_it_is(tiny, tmp_path):
    smaller = tiny.cut(["heads:1", "head:2.2", "mlp:3"])
    for init in ("pretrained", "random"):
        trained = finetune(smaller, make_task(), replace(QUICK, epochs=1, init=init), out=tmp_path / init)
        assert trained.encoder.head_counts == [0, 3, 4] and trained.encoder.neuron_counts[2] == 0
        assert load(tmp_path / init).fingerprint == trained.encoder.fingerprint
    bare = load(smaller.save(tmp_path / "cut"), task_head="none")
    assert bare.task_head == "none" and bare.head_counts == [0, 3, 4]


def test_layers_without_heads_can_be_gated_and_averaged(tiny, texts):
    smaller = tiny.cut(["heads:1", "head:2.2"])
    assert [str(unit) for unit in every("heads", smaller.head_counts)] == ["heads:2", "heads:3"]
    means = smaller.means(texts)
    assert means.heads.shape == (3, 4, 6) and (means.heads[0] == 0).all() and (means.heads[1, 3] == 0).all()
    with smaller.gates(off=["heads:1", "heads:2"], mode="mean", reference=means) as gates:
        gates.heads.requires_grad_()
        smaller.predict(texts)
    with (
        pytest.raises(UserError, match=r"neuron:1\.99: layer 1 has neurons 1 to 48"),
        tiny.gates(off=["neuron:1.99"]),
    ):
        pass


def test_a_fractional_gate_around_a_scan_counts_once(tiny, texts):
    sets = [[], [Unit("head", 3, 1)], [Unit("mlp", 2)]]
    with tiny.gates() as gates:
        gates.layers[0], gates.layers[1], gates.heads[2, 2] = 0.5, 0.3, 0.7
        fast = predict_without(tiny, texts, sets).logits
        slow = predict_without(tiny, texts, sets, replay=False).logits
    assert np.allclose(fast, slow, atol=1e-5)


def test_a_forward_that_somebody_patched_comes_back(tiny, texts):
    block, calls = tiny.layers[0], []
    plain = block.forward
    block.forward = patched = lambda *args, **kwargs: calls.append(1) or plain(*args, **kwargs)
    predict_without(tiny, texts, [[Unit("head", 3, 1)]])
    assert block.forward is patched and calls


@one_by_one
def test_what_is_kept_of_a_failed_regression_is_in_the_tasks_units(tiny, tmp_path, monkeypatch):
    task, plain, calls = make_task(regression=True), objective.Labelled.loss, []

    def loss(self, batch):
        calls.append(0)
        return plain(self, batch) * (float("nan") if len(calls) > 10 else 1)

    monkeypatch.setattr(objective.Labelled, "loss", loss)
    with pytest.raises(UserError, match="the weights after epoch 1 are kept"):
        finetune(tiny, task, QUICK, out=tmp_path / "m")
    assert 80 < load(tmp_path / "m").predict(task.test).logits.mean() < 160


def test_a_checkpoint_of_other_data_is_refused(tiny, tmp_path, monkeypatch):
    """Two labels swapped: the same counts, the same lengths, another task."""
    task = make_task()
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, QUICK, out=tmp_path / "m")
    label = task.train.label.copy()
    label[[0, 1]] = label[[1, 0]]
    with pytest.raises(UserError, match="checkpoint of another training"):
        finetune(tiny, replace(task, train=replace(task.train, label=label)), QUICK, out=tmp_path / "m")


def test_a_training_killed_after_its_last_epoch_is_not_trained_again(tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("bertscope.training.finetune.measure.finetune_result", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            finetune(tiny, make_task(), QUICK, out=tmp_path / "m")
    monkeypatch.setattr(loop.Training, "epoch", lambda self, epoch, bar: pytest.fail("trained again"))
    finetune(tiny, make_task(), QUICK, out=tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_somebody_elses_checkpoint_folder_is_not_touched(tiny, tmp_path):
    mine = tmp_path / "m.checkpoint"
    mine.mkdir()
    (mine / "history.json").write_text("my history")
    with pytest.raises(UserError, match="bertscope didn't write"):
        finetune(tiny, make_task(), QUICK, out=tmp_path / "m", resume=False)
    assert (mine / "history.json").read_text() == "my history"


@pytest.mark.parametrize("renamed", [1, 2])
def test_a_kill_between_the_renames_is_mended(tmp_path, renamed):
    target = tmp_path / "t"
    for text in ("first", "second"):
        with whole_folder(target, KIND) as scratch:
            (scratch / "mark").write_text(text)
    # As a kill leaves it: the old one moved away, the new one complete; then also moved into place.
    part = scratches.new_name(target)
    part.with_suffix(".old").mkdir()
    (part.with_suffix(".old") / "mark").write_text("first")
    if renamed == 1:
        target.rename(part)
    with pytest.raises(KeyboardInterrupt), whole_folder(target, KIND) as scratch:
        raise KeyboardInterrupt
    assert (target / "mark").read_text() == "second" and [path.name for path in tmp_path.iterdir()] == ["t"]


def test_data_that_changed_since_the_plan_is_refused(tiny, tmp_path):
    from bertscope.core.registry import find
    from bertscope.data.read import task_root
    from bertscope.study.runner import run_steps

    data = tmp_path / "d.csv"
    data.write_text("text,label\n" + "\n".join(f"it was {row},{row % 2}" for row in range(40)))
    inputs = {"base": source.model_root(str(tiny.save(tmp_path / "m"))), "task": task_root(str(data))}
    step = find("finetune").step(inputs)
    data.write_text(data.read_text().replace("it was 7,1", "it was 7,0"))
    with pytest.raises(UserError, match="has changed since this run was planned"):
        run_steps([step], tmp_path / "store")


def test_models_that_would_be_misread_are_refused(tiny, texts, tmp_path):
    tiny.model.config.problem_type = "multi_label_classification"
    for ask in (lambda: tiny.predict(texts, make_task().output), lambda: make_task().asked_of(tiny)):
        with pytest.raises(UserError, match="any number of labels"):
            ask()
    with pytest.raises(UserError, match="half precision"):
        load(tiny.model.half(), tokenizer=tiny.tokenizer)
    folder = Path(shutil.copytree(source.POCKET, tmp_path / "decoder"))
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("BertForPreTraining", "BertLMHeadModel"))
    with pytest.raises(UserError, match="is a BertLMHeadModel"):
        load(str(folder))


def test_numbers_that_differ_are_not_matched(texts):
    task = replace(make_task(), labels=("0", "1"))
    with pytest.raises(UserError, match="the model answers 1, 2, but toy is labelled 0, 1"):
        task.output.match(["1", "2"])


def test_allowing_pickles_still_reads_safetensors(tiny, tmp_path):
    folder = tiny.save(tmp_path / "m")
    assert load(folder, allow_pickle=True).fingerprint == tiny.fingerprint
    torch.save(tiny.model.state_dict(), folder / "pytorch_model.bin")
    for name in ("model.safetensors", "seal.json"):
        (folder / name).unlink()
    assert load(folder, allow_pickle=True).fingerprint == tiny.fingerprint
