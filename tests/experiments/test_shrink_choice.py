"""Which form `shrink` says to take: int8 alone, the cut, or both. Speed and scores are planted."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.analyses.versus import measure as between
from bertscope.analyses.versus.question import VersusConfig, versus
from bertscope.cli.answer import what_to_try
from bertscope.core.consequence import consequences_of
from bertscope.core.registry import find
from bertscope.core.step import Root, Step
from bertscope.experiments.comparison import Contender
from bertscope.experiments.shrink import measure
from bertscope.experiments.shrink.choice import best_of, chosen, reasons
from bertscope.experiments.shrink.question import ShrinkConfig, Target, shrink
from bertscope.models import export
from bertscope.models.load import load
from bertscope.models.scorer import OnnxScorer

WHOLE, INT8, CUT, BOTH = "whole", "whole_int8", "cut", "cut_int8"
SIZES = {WHOLE: 100.0, INT8: 25.0, CUT: 60.0, BOTH: 15.0}
NAMES = {WHOLE: "whole", INT8: "whole, int8", CUT: "cut", BOTH: "cut, int8"}
GOOD = {WHOLE: 0.9, INT8: 0.9, CUT: 0.9, BOTH: 0.9}


def tables(
    faster: dict[str, float], validation: dict[str, float], **sizes: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    arms = [WHOLE, *faster]
    models = pd.DataFrame(
        {"arm": arms, "model": [NAMES[arm] for arm in arms], "validation": [validation[arm] for arm in arms],
         "megabytes": [(SIZES | sizes)[arm] for arm in arms]}
    )  # fmt: skip
    speeds = {WHOLE: 1.0} | faster
    times = pd.DataFrame(
        [{"arm": arm, "texts": texts, "faster": speeds[arm] if texts == 32 else 1.0} for texts in (1, 32)
         for arm in arms]
    )  # fmt: skip
    return models, times


def best(target: str | None, faster: dict[str, float], validation: dict[str, float], **sizes: float) -> str:
    asked = None if target is None else Target.parse(target)
    return best_of(chosen(*tables(faster, validation, **sizes), asked, 32))


@pytest.mark.parametrize(
    ("target", "faster", "validation", "wanted"),
    [
        # Twice as fast: 8 bits alone are, and nothing else is faster.
        ("2x", {INT8: 2.5, CUT: 2.1, BOTH: 2.4}, {}, INT8),
        # Nearly as fast as both: a tie, and nothing has to be trained.
        ("2x", {INT8: 2.97, CUT: 2.1, BOTH: 3.0}, {}, INT8),
        ("2x", {INT8: 2.9, CUT: 2.1, BOTH: 3.0}, {}, BOTH),
        # 8 bits alone don't reach it; int8 of the cut is slower than the cut itself.
        ("2x", {INT8: 1.5, CUT: 2.1, BOTH: 1.9}, {}, CUT),
        ("2x", {INT8: 1.5, CUT: 2.1, BOTH: 4.0}, {}, BOTH),
        # As good as asked but for what no two measurements agree in.
        ("2x", {INT8: 1.97, CUT: 1.5, BOTH: 1.6}, {}, INT8),
        # int8 that loses must not win, however fast: alone, of the cut, or both of them.
        ("2x", {INT8: 9.0, CUT: 2.1, BOTH: 3.0}, {INT8: 0.6}, BOTH),
        ("2x", {INT8: 2.2, CUT: 2.1, BOTH: 9.0}, {BOTH: 0.6}, INT8),
        ("2x", {INT8: 9.0, CUT: 2.1, BOTH: 8.0}, {INT8: 0.6, BOTH: 0.5}, CUT),
        # A cut that loses doesn't win by its speed either; a point is as good.
        ("2x", {INT8: 2.1, CUT: 4.0, BOTH: 8.0}, {CUT: 0.88, BOTH: 0.88}, INT8),
        ("2x", {INT8: 2.1, CUT: 4.0, BOTH: 8.0}, {CUT: 0.89, BOTH: 0.88}, CUT),
        # What doesn't meet the target sets no bar: all that do lose.
        ("4x", {INT8: 2.0, CUT: 4.1, BOTH: 6.0}, {CUT: 0.7, BOTH: 0.7}, BOTH),
        # None meets it: the best of what there is.
        ("9x", {INT8: 2.0, CUT: 4.0, BOTH: 6.0}, {CUT: 0.7, BOTH: 0.7}, INT8),
        # Of parameters, the smallest, whatever its speed.
        ("50%", {INT8: 2.5, CUT: 2.1, BOTH: 1.0}, {}, BOTH),
        ("50%", {INT8: 2.5, CUT: 2.1, BOTH: 9.0}, {BOTH: 0.7}, INT8),
        ("50%", {INT8: 2.5, CUT: 2.1, BOTH: 9.0}, {BOTH: 0.7, INT8: 0.7}, CUT),
        # Points: whatever loses no more, the fastest.
        ("3 points", {INT8: 2.0, CUT: 3.0, BOTH: 5.0}, {CUT: 0.87, BOTH: 0.86}, CUT),
        ("3 points", {INT8: 2.0, CUT: 3.0, BOTH: 5.0}, {CUT: 0.87, BOTH: 0.87}, BOTH),
        ("3 points", {INT8: 5.0, CUT: 3.0, BOTH: 5.0}, {CUT: 0.87, BOTH: 0.87}, INT8),
        ("3 points", {INT8: 9.0, CUT: 3.0, BOTH: 5.0}, {INT8: 0.8, CUT: 0.95, BOTH: 0.8}, CUT),
        # Without a target: as good, then the fastest.
        (None, {INT8: 2.0, CUT: 1.1, BOTH: 2.2}, {}, BOTH),
        (None, {INT8: 2.0, CUT: 1.1, BOTH: 2.2}, {BOTH: 0.85}, INT8),
        # Without onnxruntime.
        ("2x", {CUT: 2.1}, {}, CUT),
        ("9x", {CUT: 2.1}, {CUT: 0.1}, CUT),
    ],
)
def test_the_form_to_take(target, faster, validation, wanted):
    assert best(target, faster, GOOD | validation) == wanted


def test_in_parameters_int8_alone_must_be_as_small_as_the_cut_and_wins_ties():
    speeds = {INT8: 1.0, CUT: 2.0, BOTH: 2.0}
    assert best("50%", speeds, GOOD | {BOTH: 0.5}, whole_int8=60.5, cut=60.0) == CUT
    assert best("50%", speeds, GOOD, whole_int8=15.2, cut_int8=15.0) == INT8


def test_why_it_is_taken_is_said():
    forms = chosen(*tables({INT8: 1.5, CUT: 2.1, BOTH: 4.0}, GOOD | {BOTH: 0.8}), Target.parse("2x"), 32)
    assert reasons(forms, Target.parse("2x")) == [
        "to be taken (target: 2x): cut; whole, int8 doesn't meet the target; cut, int8 scores 10.0 points less on "
        "the validation set"
    ]
    forms = chosen(*tables({INT8: 2.97, CUT: 2.1, BOTH: 3.0}, GOOD), Target.parse("9x"), 32)
    assert reasons(forms, Target.parse("9x")) == [
        "to be taken (target: 9x): whole, int8; cut is slower; cut, int8 is hardly faster",
        "none of the forms meets the target 9x",
    ]
    forms = chosen(*tables({CUT: 2.1}, GOOD), None, 32)
    assert reasons(forms, None) == ["to be taken: cut; there was nothing else to choose from"]


@pytest.fixture
def planted_int8(monkeypatch):
    """Have `shrink` find these shares of an int8 form's answers turned round, by its key, and write files of
    nothing."""

    def plant(**wrong: float) -> None:
        def turned(said, share):
            logits = said.logits.copy()
            logits[: round(share * len(logits))] *= -1
            return replace(said, logits=logits)

        def in_onnx(self, model, encoder, folder):
            made = []
            for form in ("onnx", "int8"):
                name = f"{model.name}_{form}"
                (folder / f"model{'-int8' * (form == 'int8')}.onnx").write_bytes(b"-")
                said = [turned(one, wrong.get(name, 0.0)) for one in (model.validation, model.test)]
                size = model.megabytes / (4 if form == "int8" else 1)
                made.append(Contender(name, f"{model.name}_onnx", model.parameters, size, lambda _: None, *said))
            return made

        monkeypatch.setattr(measure.Shrinking, "in_onnx", in_onnx)
        monkeypatch.setattr(measure, "why_no_onnx", lambda encoder: "")

    return plant


TWICE = ShrinkConfig(target="2x", retrain=False)
FAST = {"whole_int8": 2.5, "cut_int8": 2.5}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("onnx", "wrong", "wanted", "said"),
    [
        (FAST, {}, INT8, "Best of these: 8 bits alone, for which nothing is trained."),
        (FAST | {"whole_int8": 14.0}, {}, BOTH, "Best of these: both."),
        (FAST | {"whole_int8": 14.0}, {"cut_int8": 0.3}, CUT, "Best of these: the cut one."),
        (FAST, {"whole_int8": 0.3, "cut_int8": 0.3}, CUT, "Best of these: the cut one."),
    ],
)
def test_from_end_to_end_with_planted_speeds_and_scores(
    toy_model, toy_task, tmp_path, clock, planted_int8, onnx, wrong, wanted, said
):
    clock.onnx = onnx
    planted_int8(**wrong)
    shrunk = shrink(toy_model, toy_task, TWICE, out=tmp_path / "small")
    result, text = shrunk.result, (tmp_path / "small" / "README.md").read_text()
    assert shrunk.best == wanted and result.numbers(key="faster")[0].of["arm"] == wanted
    assert f"**{NAMES[wanted]}**" in text and text.index("## Which to take") < text.index("## What it cost")
    assert (tmp_path / "small" / "whole-int8" / "model-int8.onnx").exists() == (wanted == INT8)
    assert load(tmp_path / "small").n_layers == shrunk.encoder.n_layers  # what was asked for is there all the same
    (sentence,) = consequences_of(result)
    assert sentence.text.endswith(said) and "Stored in 8 bits and run by ONNX Runtime, it is" in sentence.text
    speeds = result.tables["times"].query("texts == 32").set_index("arm")["faster"]
    alone = (
        f"the whole model {speeds['whole_onnx']:.2f} times as fast, and the cut one {speeds['cut_onnx']:.2f} times"
    )
    assert any(note.startswith("int8 runs in onnxruntime") and alone in note for note in result.notes)
    told = find("shrink").sentence(result)
    assert told is not None and told.sentence.startswith(f"{NAMES[wanted]} is the form to take (target: 2x): ")
    assert told.main == result.numbers(key="faster")[0].value
    for arm in (INT8, CUT, BOTH):
        for key in ("faster", "size", "score", "change", "kept", "fixed", "broken"):
            assert result.numbers(key=key, arm=arm), (key, arm)


@pytest.mark.usefixtures("clock")
def test_the_price_is_said_of_each_form(toy_model, toy_task, planted_int8, tmp_path):
    planted_int8(cut_int8=0.3)
    result = shrink(toy_model, toy_task, replace(TWICE, target="90%")).result
    (sentence,) = consequences_of(result)
    alone, cut, both = sentence.text.split("; ")
    assert alone.endswith("at 25% of its size and loses nothing on these texts")  # by what is planted
    assert cut.startswith("cut to ") and "% of its inner weights and not trained again, it is " in cut
    assert both.startswith("with both, it is ")
    broken = result.numbers(key="change", arm=BOTH)[0]
    assert f"loses {-100 * broken.value:.1f} points ({-100 * broken.high:.1f} to {-100 * broken.low:.1f})" in both
    assert not sentence.is_open and sentence.command == "bertscope shrink {model} --on {data} --out smaller"
    step = Step("shrink", shrink.version, {}, {"model": Root("model", "m", "1"), "task": Root("task", "t.csv", "2")})
    assert what_to_try(result, step, tmp_path) == ""  # nothing went wrong, and what was made isn't cut once more
    assert sentence.picture is not None and sentence.picture.names == ("whole", "8 bits", "cut", "both")


@pytest.mark.usefixtures("clock")
def test_the_card_says_what_versus_says(toy_model, toy_task, planted_int8, tmp_path):
    """By hand, of a form of which a quarter of the answers is turned round."""
    planted_int8(whole_int8=0.25, cut_int8=0.25)
    tables = shrink(toy_model, toy_task, replace(TWICE, target="90%"), out=tmp_path / "small").result.tables
    said = toy_model.predict(toy_task.test)
    turned = replace(said, logits=said.logits * np.where(np.arange(128) < 32, -1, 1)[:, None])
    a, b = (_Said(toy_model, name, one) for name, one in (("a", said), ("b", turned)))
    a.validation = b.validation = toy_model.predict(toy_task.validation)
    b.validation = replace(b.validation, logits=b.validation.logits * np.where(np.arange(96) < 24, -1, 1)[:, None])
    beside = between.measure(a, b, toy_task, VersusConfig(words=False))
    row = tables["versus"].set_index("arm").loc[INT8]
    told = tuple(beside[key].value for key in ("fixed", "broken", "rows_p"))
    assert (row["fixed"], row["broken"], row["p"]) == told
    score = tables["differences"].query("arm == @INT8 and measure == 'score'").iloc[0]
    wanted = beside.tables["differences"].set_index("measure").loc["score"]
    assert score[["change", "low", "high", "p"]].tolist() == wanted[["change", "low", "high", "p"]].tolist()
    by = tables["calibration"].set_index("arm").loc[[WHOLE, INT8]].reset_index(drop=True)
    pd.testing.assert_frame_equal(by, beside.tables["calibration"].drop(columns="model"))
    labels = tables["changed_by_label"].query("arm == @INT8").drop(columns="arm").reset_index(drop=True)
    pd.testing.assert_frame_equal(labels, beside.tables["labels"])


class _Said:
    """A model that says what is planted."""

    def __init__(self, encoder, id, test):
        self._encoder, self.id, self.test = encoder, id, test
        self.record = replace(encoder.record, id=id)

    def __getattr__(self, name):
        return getattr(self._encoder, name)

    def predict(self, examples, output=None):
        return self.test if len(examples) == len(self.test.logits) else self.validation


@pytest.mark.usefixtures("clock")
def test_without_the_packages_it_goes_on_and_says_so(toy_model, toy_task, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None if name == "onnxscript" else object())
    result = shrink(toy_model, toy_task, TWICE).result
    (note,) = (note for note in result.notes if "int8 was tried" in note)
    assert "onnxscript must be installed to write ONNX: pip install 'bertscope[deploy]'" in note
    assert result.tables["forms"]["arm"].tolist() == [CUT] and "model-int8" not in " ".join(result.notes)
    (sentence,) = consequences_of(result)
    assert sentence.text.startswith("Cut to ") and "8 bits" not in sentence.text and "Best" not in sentence.text


@pytest.mark.slow
def test_the_whole_model_in_int8_is_written_and_opens(toy_model, toy_task, tmp_path, clock):
    pytest.importorskip("onnxscript")
    clock.onnx = {"whole_int8": 0.5}
    toy_model.save(tmp_path / "whole")
    whole, folder = load(tmp_path / "whole"), tmp_path / "small"
    shrunk = shrink(whole, toy_task, TWICE, out=folder)
    assert shrunk.best == INT8
    assert not (folder / "whole-int8" / "model.onnx").exists()
    alone = Path(shutil.copytree(folder / "whole-int8", tmp_path / "alone"))  # it needs nothing around it
    file = OnnxScorer(alone / "model-int8.onnx")
    assert file.labels == whole.labels and between.is_form(file, whole)
    found = toy_task.score(file.predict(toy_task.test))
    assert found.value == shrunk.result.numbers(key="score", arm=INT8)[0].value
    beside = versus(whole, file, toy_task, words=False)
    row = shrunk.result.tables["versus"].set_index("arm").loc[INT8]
    assert (row["fixed"], row["broken"]) == (beside["fixed"].value, beside["broken"].value)
    assert json.loads((alone / "config.json").read_text())["num_hidden_layers"] == whole.n_layers
    shrink(whole, toy_task, TWICE, out=folder)  # what is ours is written over
