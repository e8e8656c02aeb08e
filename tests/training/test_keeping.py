"""Checkpoints along a training: whole models after the right steps, the same bits after a kill, the same training."""

from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.seal import flaw
from bertscope.models.load import load
from bertscope.models.new_task_head import bare
from bertscope.study.file import read_study
from bertscope.training import checkpoint, keeping, loop
from bertscope.training.contrastive.question import ContrastiveConfig, contrastive
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.keeping import kept_steps
from device import on_cpu
from recorders import Again, capturing
from short_training import QUICK, make_task, same, stop_in_epoch

KEPT = replace(QUICK, keep=5)  # of 24 steps


@pytest.mark.parametrize("spacing", ["even", "logarithmic"])
@pytest.mark.parametrize(("total", "count"), [(1, 2), (7, 8), (24, 2), (24, 3), (24, 12), (1000, 12), (9000, 10)])
def test_as_many_steps_as_asked_for_with_both_ends(total, count, spacing):
    steps = kept_steps(total, count, spacing)
    assert len(steps) == count and steps[0] == 0 and steps[-1] == total
    assert all(after > before for before, after in pairwise(steps))
    gaps = np.diff(steps)
    if spacing == "even":
        assert gaps.max() - gaps.min() <= 1
    elif count > 2:
        assert steps[1] == 1 and (np.diff(gaps[1:]) >= -1).all(), "the later, the farther apart"


def test_what_cant_be_kept_is_refused(tiny, tmp_path):
    with pytest.raises(UserError, match="keep is 26, but the training has 24 steps: 25 checkpoints at most"):
        finetune(tiny, make_task(), replace(QUICK, keep=26), out=tmp_path / "model")
    with pytest.raises(UserError, match="keep is 5, and there is no place to keep them; give out= or store="):
        finetune(tiny, make_task(), KEPT)
    with pytest.raises(UserError, match="keep is 1; it must be at least 2"):
        FinetuneConfig(keep=1)
    with pytest.raises(UserError, match="keep is 5, but with patience nobody knows"):
        FinetuneConfig(keep=5, patience=2)
    with pytest.raises(UserError, match="unknown keep 'lst'; did you mean 'last'"):
        FinetuneConfig(keep="lst")
    with pytest.raises(UserError, match="keep is 'ten'; "):
        finetune(tiny, make_task(), keep="ten")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_before_the_first_step(tiny, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(keeping.shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 10**6, 10**6))
    monkeypatch.setattr(loop.Training, "epoch", lambda *_: pytest.fail("it began"))
    with pytest.raises(
        FullDiskError, match=r"5 checkpoints need about [\d.]+ (MB|GB) in .*, where 1\.0 MB are free; keep"
    ):
        finetune(tiny, make_task(), KEPT, out=tmp_path / "model")


@on_cpu
@pytest.mark.parametrize("regression", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_checkpoints_are_the_models_of_those_steps(tiny, tmp_path, monkeypatch, regression):
    """Against weights that a spy copies after each step of the same training without any checkpoint."""
    task, after = make_task(regression), []
    plain = loop.Training._step

    def spied(self, *args, **kwargs):
        value = plain(self, *args, **kwargs)
        after.append({name: tensor.clone() for name, tensor in self.model.state_dict().items()})
        return value

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "_step", spied)
        whole = finetune(tiny, task, QUICK)
    kept = finetune(tiny, task, KEPT, out=tmp_path / "model")
    assert same(kept.encoder, whole.encoder), "keeping changes nothing"
    assert kept.result.tables["checkpoints"]["step"].tolist() == [0, 6, 12, 18, 24]
    assert kept.result.tables["checkpoints"]["epoch"].tolist() == [0, 0.75, 1.5, 2.25, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"] and not flaw(tmp_path / "model")
    for step in (6, 12, 18, 24):
        one = load(tmp_path / "model" / f"checkpoint-{step}")
        weights = after[step - 1]
        if regression:  # checkpoints speak in the task's own units
            score = one.predict(task.test).logits[:, 0]
            one.model.load_state_dict(weights)
            bare = one.predict(task.test).logits[:, 0]
            scale = task.train.label.std(), task.train.label.mean()
            np.testing.assert_allclose(score, bare * scale[0] + scale[1], rtol=1e-4)
        else:
            found = one.model.state_dict()
            assert all(torch.equal(found[name], tensor) for name, tensor in weights.items())
    last = load(tmp_path / "model" / "checkpoint-24")
    assert same(last, kept.encoder)
    assert last.record.origin.step == 24 and kept.encoder.record.origin.step is None
    assert last.record.came_of(tiny.record) and last.record.trained_on.id == task.fingerprint
    assert last.name == f"{kept.encoder.name}, step 24"
    assert last.record.place != load(tmp_path / "model" / "checkpoint-0").record.place


@on_cpu
def test_recorded_steps_are_kept_too(tiny, tmp_path, monkeypatch):
    task = make_task()
    plain = finetune(tiny, task, KEPT, out=tmp_path / "plain")
    capturing(monkeypatch, Again())
    captured = finetune(tiny, task, KEPT, out=tmp_path / "captured")
    assert captured.result.tables["checkpoints"].equals(plain.result.tables["checkpoints"])
    again = load(tmp_path / "captured" / "checkpoint-24")
    assert same(again, captured.encoder) and not same(again, load(tmp_path / "captured" / "checkpoint-18"))
    assert same(*(load(tmp_path / name / "checkpoint-0") for name in ("plain", "captured")))


@on_cpu
@pytest.mark.parametrize("epoch", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_stopped_training_keeps_the_same_checkpoints(tiny, tmp_path, monkeypatch, epoch):
    task = make_task()
    finetune(tiny, task, KEPT, out=tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, epoch)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, KEPT, out=tmp_path / "model")
    finetune(tiny, task, KEPT, out=tmp_path / "model")
    files = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.safetensors")}
        for name in ("whole", "model")
    ]
    assert files[0] == files[1] and len(files[0]) == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]


def test_what_was_kept_and_is_lost_is_said(tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, make_task(), KEPT, out=tmp_path / "model")
    shutil.rmtree(tmp_path / "model.checkpoint-6")
    with pytest.raises(UserError, match=r"model\.checkpoint-6 was kept of this training, and it has no seal\.json"):
        finetune(tiny, make_task(), KEPT, out=tmp_path / "model")
    assert finetune(tiny, make_task(), KEPT, out=tmp_path / "model", resume=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("left", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_killed_while_it_clears_up_it_goes_on(tiny, tmp_path, monkeypatch, left):
    """All is in the model's folder already, and what was kept on the way is gone, or half of it."""
    finetune(tiny, make_task(), KEPT, out=tmp_path / "whole")
    whole = {path.name: load(path).fingerprint for path in (tmp_path / "whole").glob("checkpoint-*")}

    def killed(folder):
        if not folder.is_dir():
            return
        files = [path for path in sorted(folder.iterdir()) if path.name != "seal.json"]
        for path in files[left:]:
            path.unlink()
        if not left:
            shutil.rmtree(folder)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, make_task(), KEPT, out=tmp_path / "model")
    assert (tmp_path / "model" / "checkpoint-6").is_dir()
    other = replace(KEPT, seed=5)
    with pytest.raises(UserError, match="the checkpoint of another training"):
        finetune(tiny, make_task(), other, out=tmp_path / "model")
    finetune(tiny, make_task(), KEPT, out=tmp_path / "model")
    assert {path.name: load(path).fingerprint for path in (tmp_path / "model").glob("checkpoint-*")} == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]


def test_a_store_has_them_and_so_has_the_folder_of_the_user(tiny, tmp_path):
    base = tiny.save(tmp_path / "base")
    rows = [{"text": text, "label": ["no", "yes"][one]}
            for text, one in zip(make_task().train.text, make_task().train.label, strict=True)]  # fmt: skip
    trained = finetune(str(base), rows, KEPT, store=tmp_path / "store", out=tmp_path / "out")
    (inside,) = (tmp_path / "store" / "steps").glob("finetune-*/model")
    for folder in (inside, tmp_path / "out"):
        steps = sorted(int(path.name.rpartition("-")[2]) for path in folder.glob("checkpoint-*"))
        assert steps == trained.result.tables["checkpoints"]["step"].tolist() and len(steps) == 5
        assert load(folder / f"checkpoint-{steps[-1]}").fingerprint == trained.encoder.fingerprint


@pytest.mark.slow
def test_contrastive_trainings_keep_them_too(tiny, tmp_path):
    texts = [f"{text} {place}" for place, text in enumerate(make_task().train.text)]
    config = ContrastiveConfig(epochs=1, batch_size=8, keep=3)
    kept = contrastive(tiny, texts, config, out=tmp_path / "model")
    plain = contrastive(tiny, texts, replace(config, keep="last"))
    assert same(kept.encoder, plain.encoder)
    steps = kept.result.tables["checkpoints"]["step"].tolist()
    assert same(load(tmp_path / "model" / f"checkpoint-{steps[-1]}"), kept.encoder)
    assert same(load(tmp_path / "model" / "checkpoint-0"), bare(tiny, name="bare"))


def test_a_study_says_it_as_a_command_does(tmp_path):
    file = tmp_path / "study.yaml"
    written = (
        "model: pocket\ntasks: [demo/sentiment]\nquestions:\n  - finetune: {keep: KEEP, keep_spacing: logarithmic}"
    )
    file.write_text(written.replace("KEEP", "4"))
    (step,) = [one for one in read_study(file).steps if one.name == "finetune"]
    assert (step.config["keep"], step.config["keep_spacing"]) == (4, "logarithmic")
    file.write_text(written.replace("KEEP", "some"))
    with pytest.raises(UserError, match="keep is 'some'; "):
        read_study(file)
