"""What is said of a smaller model, by hand: the card's lines, the headline, the tables of models and of times."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.data.scored import Scores
from bertscope.experiments.shrink import measure, writing
from bertscope.experiments.shrink import result as shrink_result
from bertscope.experiments.shrink.card import card
from bertscope.experiments.shrink.choice import chosen
from bertscope.experiments.shrink.question import ShrinkConfig, Target, shrink
from bertscope.models.config_notes import origin_note
from bertscope.models.export import export_onnx

BARE = ShrinkConfig(target="50%", retrain=False, onnx=False)
ARMS, NAMES = ["whole", "cut", "cut_int8"], ["whole", "cut", "cut, int8"]


@pytest.fixture
def models() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "arm": ARMS, "model": NAMES, "way": ARMS, "parameters": [7_000_000, 4_200_300, 4_200_300],
            "megabytes": [28.04, 16.81, 4.26], "validation": [0.95, 0.94, 0.93], "score": [0.9, 0.875, 0.87],
            "low": [0.88, 0.85, 0.845], "high": [0.92, 0.9, 0.895], "change": [0.0, -0.025, -0.03],
            "change_low": [0.0, -0.04, -0.05], "change_high": [0.0, -0.01, -0.012],
            "kept": [1.0, 0.938, 0.925], "kept_low": [1.0, 0.9, np.nan], "kept_high": [1.0, 0.974, np.nan],
        }
    )  # fmt: skip


@pytest.fixture
def times() -> pd.DataFrame:
    milliseconds, faster = [10.0, 5.0, 4.0, 160.0, 64.0, 80.0], [1.0, 2.0, 2.5, 1.0, 2.5, 2.0]
    return pd.DataFrame(
        {
            "arm": ARMS * 2, "model": NAMES * 2, "texts": [1] * 3 + [32] * 3,
            "load": ["1 text at a time"] * 3 + ["32 texts at a time"] * 3, "milliseconds": milliseconds,
            "faster": faster, "low": np.array(faster) - 0.1, "high": np.array(faster) + 0.25,
            "rounds": [15] * 3 + [9] * 3,
        }
    )  # fmt: skip


@pytest.fixture
def forms(models, times) -> pd.DataFrame:
    return chosen(models, times, Target.parse("2x"), 32)


@pytest.fixture
def said(models, times, forms) -> Result:
    layers = pd.DataFrame(
        {"layer": [1] * 3 + [2] * 3, "part": ["layer", "heads", "neurons"] * 2, "left": [1, 3, 40, 0, 0, 0],
         "whole": [1, 4, 48] * 2}
    )  # fmt: skip
    changed = pd.DataFrame(
        {"arm": ["cut", "cut_int8"], "n": [600, 600], "fixed": [4, 5], "broken": [9, 30],
         "both_right": [500, 480], "both_wrong": [87, 85], "p": [0.267, 1e-5], "p_holm": [0.267, 2e-5]}
    )  # fmt: skip
    by_label = pd.DataFrame(
        {"arm": ["cut"] * 3 + ["cut_int8"], "label": ["bad", "good", "good", "good"],
         "measure": ["recall", "recall", "precision", "recall"], "a": [0.9, 0.8, 0.7, 0.8],
         "b": [0.89, 0.85, 0.2, 0.6], "change": [-0.01, 0.05, -0.5, -0.2], "certain": [False, False, True, True]}
    )  # fmt: skip
    differences = pd.DataFrame(
        {"arm": ["cut", "cut", "cut_int8", "cut_int8"], "measure": ["score", "loss"] * 2, "change": [-0.025, 0.1] * 2,
         "low": [-0.04, 0.0] * 2, "high": [-0.01, 0.2] * 2, "p": [0.01, 0.3] * 2, "p_holm": [0.02, 0.6] * 2}
    )  # fmt: skip
    calibration = pd.DataFrame(
        {"arm": ARMS, "over": [0.02, 0.031, -0.01], "over_low": [0.01, 0.02, -0.03], "over_high": [0.03, 0.042, 0.01]}
    )  # fmt: skip
    tables = {"models": models, "times": times, "forms": forms, "layers": layers, "versus": changed,
              "changed_by_label": by_label, "differences": differences, "calibration": calibration}  # fmt: skip
    return Result(
        "shrink", 2, tables=tables,
        headline=[Number("chance", 0.5, unit="pearson")], models={"1": ModelRecord("1", "m")},
        subject={"task": "t", "target": "2x"},
    )  # fmt: skip


def test_the_card_says_what_the_tables_say(said, toy_model):
    lines = card(said, toy_model, onnx=False).splitlines()
    assert "m, cut for t by `bertscope shrink` (target: 2x)." in lines
    assert [line for line in lines if line.startswith("- cut")] == [
        "- cut: of 600 test rows 4 fixed, 9 broken (p = .267); "
        "the score changes by −2.5 (−4.0 to −1.0) points (p = .020); "
        "recall by class: good 0.800 to 0.850; bad 0.900 to 0.890; "
        "it is 3.1 (2.0 to 4.2) points surer than it is right, the whole model 2.0 (1.0 to 3.0)",
        "- cut, int8: of 600 test rows 5 fixed, 30 broken (p < .001); "
        "the score changes by −2.5 (−4.0 to −1.0) points (p = .020); "
        "recall by class: good 0.800 to 0.600, for certain; "
        "it is −1.0 (−3.0 to 1.0) points surer than it is right, the whole model 2.0 (1.0 to 3.0)",
    ]
    assert (
        "**cut**: the folder itself. It is 2.50 times as fast as the whole model (32 texts at a time) and has 60% "
        "of its size; its pearson on the test set changes by -0.025 [-0.040, -0.010]."
    ) in lines
    assert [line for line in lines if line.startswith("|")] == [
        "| model | parameters | MB | 1 text at a time | 32 texts at a time | pearson | change | kept |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| whole | 7,000,000 | 28.0 | 10.00 ms | 160.00 ms | 0.900 [0.880, 0.920] |  |  |",
        "| cut | 4,200,300 | 16.8 | 5.00 ms, 2.00 [1.90, 2.25]x | 64.00 ms, 2.50 [2.40, 2.75]x | "
        "0.875 [0.850, 0.900] | -0.025 [-0.040, -0.010] | 94% [90%, 97%] |",
        "| cut, int8 | 4,200,300 | 4.3 | 4.00 ms, 2.50 [2.40, 2.75]x | 80.00 ms, 2.00 [1.90, 2.25]x | "
        "0.870 [0.845, 0.895] | -0.030 [-0.050, -0.012] | 92% |",
        "| layer | heads left | neurons left |",
        "| --- | --- | --- |",
        "| 1 | 3 of 4 | 40 of 48 |",
        "| 2 | gone | gone |",
    ]


@pytest.mark.slow
def test_the_code_on_the_card_names_labels_and_cuts_long_texts(said, toy_model, tmp_path, monkeypatch):
    pytest.importorskip("onnxscript")
    toy_model.save(tmp_path / "small")
    export_onnx(toy_model, tmp_path / "small" / "model.onnx")
    monkeypatch.chdir(tmp_path / "small")
    told = card(said, toy_model, onnx=True)
    assert "any length" not in told and f"up to {toy_model.max_length} tokens" in told
    *_, with_pipeline, with_onnx = re.findall(r"^```python\n(.*?)^```$", told, re.DOTALL | re.MULTILINE)
    long = [" ".join(["river", "good"] + ["house"] * 2_000), "the food was bad"]
    session: dict = {}
    exec(with_onnx.replace('["a text", "another"]', repr(long)), session)
    assert session["answers"] == ["good", "bad"] and session["inputs"]["input_ids"].shape[1] == toy_model.max_length
    exec(with_pipeline.replace('["a text", "another"]', repr(long)), session)
    assert [one["label"] for one in session["answers"]] == ["good", "bad"]


def test_the_code_on_the_card_of_a_score_names_no_labels(said, toy_model, monkeypatch):
    monkeypatch.setattr(type(toy_model.model.config), "num_labels", 1)
    told = card(said, toy_model, onnx=True)
    assert "answers = logits[:, 0].tolist()" in told and "id2label" not in told


@pytest.mark.parametrize("batch", [1, 32])
def test_the_headline_says_what_the_tables_say(models, times, forms, toy_task, batch):
    test = replace(toy_task.test, label=np.array([0] * 100 + [1] * 28))  # whose majority isn't select's
    task = replace(toy_task, test=test)
    work = SimpleNamespace(task=task, config=ShrinkConfig(batch=batch), score=SimpleNamespace(chance=0.5))
    one = {"cut": (2.0, 1.9, 2.25, 15), "cut_int8": (2.5, 2.4, 2.75, 15)}
    many = {"cut": (2.5, 2.4, 2.75, 9), "cut_int8": (2.0, 1.9, 2.25, 9)}
    first, second = (one, many) if batch == 1 else (many, one)
    asked, other = ("1", "32") if batch == 1 else ("32", "1")
    found = shrink_result._headline(work, 0.6, models, times, forms)
    assert found == [
        *(Number("faster", *first[arm], "x", of={"arm": arm, "texts": asked}) for arm in ("cut", "cut_int8")),
        *(Number("faster", *second[arm], "x", of={"arm": arm, "texts": other}) for arm in ("cut", "cut_int8")),
        Number("left", 0.6, unit="of the blocks' parameters"),
        Number("size", 28.04, unit="MB", of={"arm": "whole"}),
        Number("size", 16.81, unit="MB", of={"arm": "cut"}),
        Number("size", 4.26, unit="MB", of={"arm": "cut_int8"}),
        Number("score", 0.9, 0.88, 0.92, 128, "accuracy", of={"arm": "whole"}),
        Number("score", 0.875, 0.85, 0.9, 128, "accuracy", of={"arm": "cut"}),
        Number("score", 0.87, 0.845, 0.895, 128, "accuracy", of={"arm": "cut_int8"}),
        Number("kept", 0.938, 0.9, 0.974, 128, "share", of={"arm": "cut", "against": "whole"}),
        Number("kept", 0.925, n=128, unit="share", of={"arm": "cut_int8", "against": "whole"}),
        Number("change", -0.025, -0.04, -0.01, 128, "accuracy", of={"arm": "cut", "against": "whole"}),
        Number("change", -0.03, -0.05, -0.012, 128, "accuracy", of={"arm": "cut_int8", "against": "whole"}),
        Number("chance", 100 / 128, n=128, unit="accuracy"),
    ]
    labels = [number.label for number in shrink.result(headline=found).headline]
    assert labels == [
        *(f"faster, {arm} ({texts} at a time)" for texts in (asked, other) for arm in ("cut", "cut, int8")), "left",
        "size, whole", "size, cut", "size, cut, int8", "score, whole", "score, cut", "score, cut, int8",
        "kept of the score above chance, cut", "kept of the score above chance, cut, int8", "change, cut",
        "change, cut, int8", "chance",
    ]  # fmt: skip


@pytest.mark.usefixtures("clock")
def test_intervals_times_and_shares_are_those_of_the_models(toy_model, toy_task):
    shrunk = shrink(toy_model, toy_task, replace(BARE, target="5%", step=0.5))
    tables = shrunk.result.tables
    models = tables["models"].set_index("arm")
    for name, encoder in (("whole", toy_model), ("cut", shrunk.encoder)):
        score = toy_task.score(encoder.predict(toy_task.test).logits)
        assert (models.loc[name, "low"], models.loc[name, "high"]) == (score.low, score.high)
        times = tables["times"].query("arm == @name")
        taken = 1 + 0.5 * encoder.n_layers + 0.25 * sum(encoder.head_counts) + 0.02 * sum(encoder.neuron_counts)
        assert times["milliseconds"].tolist() == pytest.approx([taken] * 2) and set(times["rounds"]) == {7}
    assert "take turns for 7 rounds or more" in " ".join(shrunk.result.notes)
    heads = tables["layers"].query("part == 'heads'")
    assert heads["share"].tolist() == [left / 4 for left in heads["left"]]


def test_the_config_names_what_was_cut_and_counts_neurons(toy_model, tmp_path):
    off = ["head:1.1", "mlp:2", "neuron:1.3", "neuron:1.7"]
    writing.save_cut(toy_model.cut(["layer:4"]).cut(off), tmp_path / "small")
    said = json.loads((tmp_path / "small" / "config.json").read_text())["bertscope"]
    assert said["cut"][-2:] == [["layer:4"], ["head:1.1", "mlp:2", "2 neurons"]]


def test_better_than_chance_by_luck_is_not_clearly_above_it(toy_model, toy_task, monkeypatch):
    lucky = Scores("accuracy", 0.6, 0.5, 0.7, 96, 0.5, {})
    monkeypatch.setattr(measure.Shrinking, "validation_score", lambda self, encoder: lucky)
    with pytest.raises(UserError, match=r"isn't clearly above chance on toy \(validation: 0\.600 \[0\.500, 0\.700\]"):
        measure.Shrinking(toy_model, toy_task, BARE, None)
    insisting = measure.Shrinking(toy_model, toy_task, replace(BARE, force=True, target=None), None)
    assert insisting.target == Target("times", 2.0)  # where none is given


def test_data_that_the_model_may_have_seen_are_told(toy_model, toy_task):
    told = "the model was fine-tuned on another split or other data"
    for tuned_on, warned in ((toy_task.fingerprint, False), ("another", True)):
        origin = Origin("finetune", data=DataRecord(tuned_on, "toy"))
        toy_model.model.config.bertscope = {**toy_model.model.config.bertscope, **origin_note(origin)}
        notes = measure.Shrinking(toy_model, toy_task, BARE, None).notes
        assert any(note.startswith(told) for note in notes) == warned


@pytest.mark.parametrize(("apart", "fine"), [(0.8, True), (-1.5, False), (1.5, False)])
def test_cut_and_masked_may_differ_by_1e_5_of_the_largest_logit(toy_model, toy_task, monkeypatch, apart, fine):
    logits = toy_model.predict(toy_task.validation).logits
    cut, largest = type(toy_model).cut, max(1.0, np.abs(logits).max())

    def wrong(encoder, off):
        smaller = cut(encoder, off)
        smaller.model.classifier.bias.data[0] += apart * 1e-5 * largest
        return smaller

    monkeypatch.setattr(type(toy_model), "cut", wrong)
    work = measure.Shrinking(toy_model, toy_task, BARE, None)
    if fine:
        work.finished([Unit("neuron", 4, 1)])
    else:
        with pytest.raises(
            RuntimeError, match=r"the cut model and the masked one give logits that differ by 1\.\de-05"
        ):
            work.finished([Unit("neuron", 4, 1)])
