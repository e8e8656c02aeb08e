"""Judging and training the classifiers of maps: planted answers, splits without a shared head, what is shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import cohen_kappa_score, f1_score

from bertscope.analyses.shapes import CLASSES, LABELS, learn
from bertscope.analyses.shapes.labelled import NOBODY, LabelledMaps, agreement, read_labelled
from bertscope.analyses.shapes.net import facts, read_nets, shipped
from bertscope.core.errors import UserError

PATTERNS = Path(__file__).parents[2] / "patterns"


@pytest.fixture(scope="module")
def labelled() -> LabelledMaps:
    return read_labelled([PATTERNS])


def test_rows_of_the_confusion_are_labels_and_f1_is_scikit_learns():
    label, called = np.array([0, 0, 0, 1, 1, 4, 4, 2, 3, 3]), np.array([0, 1, 1, 1, 1, 0, 4, 2, 3, 2])
    found = learn.judge(label, called[None], np.arange(10))
    assert found.confusion[0] == [1, 2, 0, 0, 0] and found.confusion[4] == [1, 0, 0, 0, 1]
    assert found.macro_f1 == pytest.approx(f1_score(label, called, average="macro"))
    assert list(found.f1.values()) == pytest.approx(f1_score(label, called, average=None).tolist())
    assert (found.accuracy, found.maps, found.heads) == (0.6, 10, 10)


def test_a_class_that_nobody_named_does_not_count():
    found = learn.judge(np.array([0, 0, 1]), np.array([[0, 0, 1]]), np.array([1, 2, 3]))
    assert found.macro_f1 == 1 and np.isnan(found.f1["block"])


def test_the_interval_is_over_heads_not_maps():
    """Two heads of 100 maps: of the one all are right, of the other none. A resample of heads may have only one."""
    label, called = np.zeros(200, int), np.repeat([0, 1], 100)
    found = learn.judge(label, called[None], np.repeat([1, 2], 100))
    assert (found.low, found.high, found.heads) == (0, 1, 2)


def test_ways_of_dividing_the_heads_are_averaged():
    """All right one way, one of four wrong the other: of labels 0 0 1 1, 0 0 1 0 has F1 4/5 and 2/3."""
    label, called = np.array([0, 0, 1, 1]), np.array([[0, 0, 1, 1], [0, 0, 1, 0]])
    found = learn.judge(label, called, np.arange(4))
    other = (4 / 5 + 2 / 3) / 2
    assert found.macro_f1 == pytest.approx((1 + other) / 2) and found.spread == pytest.approx((1 - other) / 2**0.5)
    assert found.confusion[1][:2] == [0.5, 1.5] and found.accuracy == 7 / 8
    assert found.low < found.macro_f1 < found.high <= 1


def test_no_head_or_model_that_is_judged_was_trained_on(labelled, monkeypatch):
    """The nets are stood in for by what they were trained on: each says how many maps of the group it saw."""
    monkeypatch.setattr(learn, "_features", lambda maps: torch.arange(len(maps), dtype=torch.float32)[:, None])
    whole, head = learn.sample(labelled, "both"), learn.heads(labelled)
    model = labelled.about["model"].str.partition("-")[0].to_numpy()
    trained = []

    class Nothing(torch.nn.Module):
        standardised = staticmethod(lambda inputs: inputs)
        logits = staticmethod(lambda inputs: torch.zeros(1, len(inputs), len(CLASSES)))

    def stand_in(given, seed):
        trained.append(given.inputs[:, 0].long().numpy())
        return Nothing()

    monkeypatch.setattr(learn, "learn", stand_in)
    for group, what in ((learn.folds(labelled, 0), head), (learn.folds(labelled, 1), head), (model, model)):
        trained.clear()
        learn._held_out_chances(labelled, whole, group, 0)
        for one, seen in zip(np.unique(group), trained, strict=True):
            judged = np.flatnonzero(group == one)
            assert len(seen) + len(judged) == len(labelled)
            assert not set(what[seen]) & set(what[judged])
    # A tuned model's heads are its parent's: head 1.1 of pocket-sst2 is not a head that nobody saw.
    assert set(model) == {"pocket", "minilm"} and not any("-" in one for one in head)


def test_labellers_who_differ_count_half_each_and_one_may_be_followed():
    labels = np.array([[0, 4], [1, NOBODY], [3, 3]])
    maps = LabelledMaps([np.eye(5)] * 3, [(0, 4)] * 3, labels, pd.DataFrame({"set": [0, 0, 0]}))
    eye = np.eye(5)
    np.testing.assert_array_equal(maps.targets("both"), [(eye[0] + eye[4]) / 2, eye[1], eye[3]])
    np.testing.assert_array_equal(maps.targets("first"), eye[[0, 1, 3]])
    np.testing.assert_array_equal(maps.targets("second"), eye[[4, 1, 3]])
    assert maps.agreed().tolist() == [False, False, True]


def test_what_is_shipped_says_how_good_it_is_and_knows_its_maps(labelled):
    known = {(one["of_set"], one["held_out"], one["labels"]): one for one in facts()["evaluations"]}
    best = known[0, "head", "agreed"]
    assert best["maps"] == 115 and best["low"] < best["macro_f1"] < best["high"]
    told = (PATTERNS.parent / "docs" / "methods.md").read_text("utf-8")
    for one in known.values():
        assert f"{one['macro_f1']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" in told
    whole = learn.sample(labelled, "both")
    with torch.inference_mode():
        called = shipped()["both"](whole.inputs[:, :-1], meant=1.0).argmax(-1).numpy()
    assert (called == labelled.labels[:, 0]).mean() > 0.85, "it was trained on these"


def test_two_labellers_agree_beyond_chance():
    one, other = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 1, 1, 1, 2])
    maps = LabelledMaps([np.eye(5)] * 6, [(0, 4)] * 6, np.stack([one, other], 1), pd.DataFrame({"set": [0] * 6}))
    found = agreement(maps)
    # Chance: (2 * 1 + 3 * 4 + 1 * 1) / 36 = 15 / 36; (5/6 - 15/36) / (1 - 15/36) = 15 / 21.
    assert found == {"maps": 6, "share": pytest.approx(5 / 6), "kappa": pytest.approx(15 / 21)}
    assert found["kappa"] == pytest.approx(cohen_kappa_score(one, other))
    maps.labels[:, 1] = NOBODY
    assert agreement(maps) is None


def test_learning_learns(monkeypatch):
    monkeypatch.setattr(learn, "_STEPS", 60)
    made = learn._synthetic(0)
    net = learn.learn(made)
    with torch.inference_mode():
        called = net(made.inputs[:, :-1]).argmax(-1)
    assert (called == made.targets.argmax(-1)).float().mean() > 0.9


@pytest.mark.slow
def test_the_command_trains_judges_and_writes(command, monkeypatch, tmp_path):
    monkeypatch.setattr(learn, "_STEPS", 4)
    monkeypatch.setattr(learn, "_FOLDS", 2)
    monkeypatch.setattr(learn, "_SPLITS", 2)
    monkeypatch.setattr(learn, "_SYNTHETIC", 20)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(learn, "_REPEATS", 100)
    code, out, _ = command("train-patterns", PATTERNS, "--out", tmp_path / "nets")
    assert code == 0 and "440 maps: vertical 108, diagonal 77" in out
    assert "agree on 0.67 of 100 maps (kappa 0.58)" in out and "every model in turn" in out
    nets = read_nets(tmp_path / "nets" / "classifiers.safetensors")
    assert list(nets) == list(LABELS)
    assert not torch.equal(nets["first"].mean, torch.zeros_like(nets["first"].mean)), "features are standardised"
    torch.manual_seed(5)  # whatever was drawn before
    command("train-patterns", PATTERNS, "--out", tmp_path / "again")
    one, other = ((tmp_path / name / "classifiers.safetensors").read_bytes() for name in ("nets", "again"))
    assert one == other


def test_a_folder_that_is_no_labelled_maps_is_refused(command, tmp_path):
    code, _, error = command("train-patterns", tmp_path)
    assert code == 2 and "isn't a folder of labelled maps" in error and error.count("\n") == 1
    for name in ("maps.safetensors", "maps.jsonl"):
        (tmp_path / name).write_bytes((PATTERNS / name).read_bytes())
    labels = (PATTERNS / "labels.csv").read_text("utf-8").replace("heterogeneous", "heterogenous", 1)
    (tmp_path / "labels.csv").write_text(labels, "utf-8")
    with pytest.raises(UserError, match="is labelled 'heterogenous'; did you mean 'heterogeneous'"):
        read_labelled([tmp_path])
