"""Judging and training the classifiers of maps: planted answers, splits without a shared head, what is shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import cohen_kappa_score, f1_score

from bertscope.analyses.shapes import CLASSES, learn
from bertscope.analyses.shapes.labelled import LabelledMaps, agreement, read_labelled
from bertscope.analyses.shapes.net import facts, read_net, shipped
from bertscope.core.errors import UserError

PATTERNS = Path(__file__).parents[2] / "patterns"


@pytest.fixture(scope="module")
def labelled() -> LabelledMaps:
    return read_labelled(PATTERNS)


def maps_for_oracle(label, predicted, head, model="pocket") -> LabelledMaps:
    """Maps whose first row gives most to the token of the class that `Oracle` is to say."""
    maps = [np.full((6, 6), 0.1, dtype=np.float32) for _ in predicted]
    for one, place in zip(maps, predicted, strict=True):
        one[0, place] = 0.5
    about = pd.DataFrame({"id": np.arange(len(maps)), "model": model, "layer": 1, "head": head})
    return LabelledMaps(maps, [(0, 5)] * len(maps), np.array(label), about)


class Oracle(torch.nn.Module):
    def forward(self, maps):
        return maps.maps[:, :, 0, : len(CLASSES)]


def test_rows_of_the_confusion_are_labels_and_f1_is_scikit_learns():
    label, predicted = [0, 0, 0, 1, 1, 4, 4, 2, 3, 3], [0, 1, 1, 1, 1, 0, 4, 2, 3, 2]
    found = learn.judge("these", Oracle(), maps_for_oracle(label, predicted, head=np.arange(10)))
    assert found.confusion[0] == [1, 2, 0, 0, 0] and found.confusion[4] == [1, 0, 0, 0, 1]
    assert found.macro_f1 == pytest.approx(f1_score(label, predicted, average="macro"))
    assert list(found.f1.values()) == pytest.approx(f1_score(label, predicted, average=None).tolist())
    assert (found.accuracy, found.maps, found.heads) == (0.6, 10, 10)


def test_a_class_that_nobody_named_does_not_count():
    found = learn.judge("these", Oracle(), maps_for_oracle([0, 0, 1], [0, 0, 1], head=[1, 2, 3]))
    assert found.macro_f1 == 1 and np.isnan(found.f1["block"])


def test_the_interval_is_over_heads_not_maps():
    """Two heads of 100 maps: of the one all are right, of the other none. A resample of heads may have only one."""
    label, predicted = [0] * 200, [0] * 100 + [1] * 100
    found = learn.judge("these", Oracle(), maps_for_oracle(label, predicted, head=[1] * 100 + [2] * 100))
    assert (found.low, found.high, found.heads) == (0, 1, 2)


def test_no_head_that_is_judged_was_trained_on(labelled, monkeypatch):
    trained, judged = [], []
    monkeypatch.setattr(learn, "learn", lambda maps, method, seed: trained.append(maps))
    monkeypatch.setattr(learn, "judge", lambda name, net, maps: judged.append(maps))
    learn.evaluate(labelled, "features")
    quarter, another = zip(trained, judged, strict=True)
    for train, test in (quarter, another):
        assert len(train) + len(test) == len(labelled)
        assert not set(learn.heads(train)) & set(learn.heads(test))
    assert set(another[1].about["model"]) == {"minilm"} and "minilm" not in set(another[0].about["model"])
    # A tuned model's heads are its parent's: head 1.1 of pocket-sst2 is not a head that nobody saw.
    train, test = (
        {(row.layer, row.head) for row in maps.about.itertuples() if "pocket" in row.model} for maps in quarter
    )
    assert train and test and not train & test


@pytest.mark.parametrize("method", ["features", "cnn"])
def test_what_is_shipped_is_as_good_as_it_says(labelled, method):
    test = labelled.take(learn.held_out(labelled))
    found, known = learn.judge("a quarter of the heads", shipped(method), test), facts(method)["evaluations"][0]
    assert found.macro_f1 == pytest.approx(known["macro_f1"], abs=0.02)
    assert np.abs(np.subtract(found.confusion, known["confusion"])).sum() <= 4, "a map or two may be on the edge"
    assert f"| {method} | a quarter of the heads | {known['maps']} | {known['macro_f1']:.3f} [" in (
        PATTERNS.parent / "docs" / "methods.md"
    ).read_text("utf-8")


def test_two_labellers_agree_beyond_chance(tmp_path):
    one, other = list("aabbbc"), list("abbbbc")
    for name, labels in (("labels", one), ("second", other)):
        pd.DataFrame({"id": range(6), "label": labels}).to_csv(tmp_path / f"{name}.csv", index=False)
    found = agreement(tmp_path)
    # Chance: (2 * 1 + 3 * 4 + 1 * 1) / 36 = 15 / 36; (5/6 - 15/36) / (1 - 15/36) = 15 / 21.
    assert found == {"maps": 6, "share": pytest.approx(5 / 6), "kappa": pytest.approx(15 / 21)}
    assert found["kappa"] == pytest.approx(cohen_kappa_score(one, other))
    (tmp_path / "second.csv").unlink()
    assert agreement(tmp_path) is None


def test_learning_learns(monkeypatch):
    monkeypatch.setattr(learn, "_STEPS", 100)
    monkeypatch.setattr(learn, "_SYNTHETIC", 100)
    maps = learn._synthetic(np.random.default_rng(0)).take(np.arange(100))
    net = learn.learn(maps, "features")
    assert (learn.classify(net, maps) == maps.label).mean() > 0.8


def test_the_command_trains_judges_and_writes(command, monkeypatch, tmp_path):
    monkeypatch.setattr(learn, "_STEPS", 12)
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = command("train-patterns", PATTERNS, "--method", "features", "--out", tmp_path / "nets")
    assert code == 0 and "440 maps: vertical 108, diagonal 77" in out
    assert "agree on 0.67 of 100 maps (kappa 0.58)" in out and "every head of another model" in out
    net = read_net(tmp_path / "nets" / "features.safetensors", "features")
    assert not torch.equal(net.mean, torch.zeros_like(net.mean)), "features are standardised"


def test_a_folder_that_is_no_labelled_maps_is_refused(command, tmp_path, monkeypatch):
    code, _, error = command("train-patterns", tmp_path)
    assert code == 2 and "isn't a folder of labelled maps" in error and error.count("\n") == 1
    for name in ("maps.safetensors", "maps.jsonl"):
        (tmp_path / name).write_bytes((PATTERNS / name).read_bytes())
    labels = (PATTERNS / "labels.csv").read_text("utf-8").replace("heterogeneous", "heterogenous", 1)
    (tmp_path / "labels.csv").write_text(labels, "utf-8")
    with pytest.raises(UserError, match="is labelled 'heterogenous'; did you mean 'heterogeneous'"):
        read_labelled(tmp_path)
