"""versus: of every kind of output, of models that answer alike, and of those that can't be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.versus import measure
from bertscope.analyses.versus.question import VersusConfig, versus
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import ModelRecord
from bertscope.core.predictions import Predictions
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from planted_kinds import PLANTED

QUICK = VersusConfig(repeats=100, permutations=199)
ROWS = 40


def told(result) -> str:
    return versus.sentence(result).sentence


@pytest.fixture(scope="module", params=list(MODEL_OUTPUTS))
def planted(request, _pocket):
    """A task, a model that does it, and the same without a head that it needs."""
    one = PLANTED[request.param]
    model = one.model(_pocket.tokenizer)
    return one.task(ROWS), model, model.cut([one.needed[-1]])


def test_what_a_cut_breaks_is_found_in_every_kind(planted):
    task, model, cut = planted
    result = versus(model, cut, task, replace(QUICK, null=True))
    differences = result.tables["differences"].set_index("measure")
    assert differences["certain"].all() and {*differences.index} == {"rows", "score", "loss"}
    better, worse = ("fixed", "broken") if "fixed" in result else ("nearer", "further")
    assert result[better].value == 0 and result[worse].value > 0.9 * ROWS and result["change"].high < 0
    assert "p < .001" in told(result) and f"{result[worse].value:.0f} of {ROWS} rows" in told(result)
    assert null_panel.verdict(result) == "passes"
    assert result.tables["outcomes"]["blind"].sum() > 0
    rows = result.tables["rows"]
    assert rows["row"].tolist() == list(task.test.ids) and (rows["outcome"] == worse).sum() == result[worse].value
    assert {"text", "gold", "predicted_a", "predicted_b"} <= {*rows}
    assert ({"p_a", "p_b"} <= {*rows}) == ("calibration" in result.tables)


@pytest.mark.slow
def test_a_model_against_itself_in_every_kind(planted):
    task, model, _ = planted
    result = versus(model, model, task, QUICK)
    assert (result.tables["differences"]["p"] == 1).all() and result["change"].value == 0
    assert not result.tables["slices"]["certain"].any()
    assert "do equally well on every row" in told(result)
    assert not [number.key for number in result.headline if np.isnan(number.value)]
    assert len(result.models) == 2


def test_no_pass_is_made_twice(_pocket, monkeypatch):
    """One over the test set for each model; the validation set's for temperature, and then for the threshold too."""
    asked = []
    predict = Encoder.predict

    def counted(self, examples, *args, **kwargs):
        asked.append((id(self), len(examples)))
        return predict(self, examples, *args, **kwargs)

    monkeypatch.setattr(Encoder, "predict", counted)
    for kind in ("classification", "several", "regression"):
        asked.clear()
        one = PLANTED[kind]
        model, task = one.model(_pocket.tokenizer), one.task(ROWS)
        task = replace(task, validation=task.validation.take(range(ROWS - 10)))
        versus(model, model.cut([one.needed[-1]]), task, QUICK)
        assert len(asked) == len({*asked}) == (2 if kind == "regression" else 4), kind


class Says:
    """A model that says what it is told to, of the texts of a task."""

    def __init__(self, name: str, task: Task, outputs: np.ndarray, labels=None) -> None:
        self.name, self.labels, self.max_length, self.tuned_on = name, labels or task.labels, 32, None
        self.record = ModelRecord(name, name, task_head="classifier")
        self.tokenizer_digest = name
        self._outputs = outputs

    def form_of(self, kind, *, pairs):
        return kind

    def need(self, output):
        pass

    def notes_on(self, output, examples):
        return ()

    def marked(self, output, examples):
        return examples

    def predict(self, examples, output=None):
        return Predictions(examples.ids, self._outputs.astype(np.float32), tuple(self.labels), 0)


@pytest.fixture
def three():
    """A task of three classes, in half of whose rows a word stands, and what a model says that is always right."""
    rows = 240
    label = np.arange(rows) % 3
    text = tuple(f"the {'house' if row % 4 < 2 else 'road'} number {row}" for row in range(rows))
    split = Examples(tuple(f"row {row}" for row in range(rows)), text, label=label)
    noise = np.random.default_rng(0).normal(scale=0.2, size=(rows, 3))
    return Task("three", "classification", ("x", "y", "z"), split, split, split, "accuracy"), noise + 2 * np.eye(3)[
        label
    ]


def test_a_broken_class_is_found_by_class_and_by_slice_and_only_it(three):
    task, right = three
    wrong = right.copy()
    wrong[np.flatnonzero(task.test.label == 1)[::2], 1] -= 8
    result = versus.compute(Says("A", task, right), Says("B", task, wrong), task, QUICK)
    labels = result.tables["labels"].query("measure == 'recall'").set_index("label")
    assert labels["certain"].to_dict() == {"x": False, "y": True, "z": False}
    slices = result.tables["slices"]
    worse = slices[slices["certain"] & (slices["difference"] < 0)]
    assert worse[["kind", "slice"]].to_numpy().tolist() == [["label", "y"]]
    assert (worse["worse"].item(), worse["better"].item(), worse["n"].item()) == (40, 0, 80)
    assert result["broken"].value == 40
    assert "B fixes 0 and breaks 40 of 240 rows of A (p < .001), all of what is broken in class y" in told(result)
    assert "(recall of y \u221250.0 points, p < .001 corrected)" in told(result), "it was picked: no interval"


def test_a_broken_word_is_found_among_slices(three):
    task, right = three
    wrong, here = right.copy(), np.array(["house" in text for text in task.test.text])
    wrong[np.flatnonzero(here)[::3]] *= -1
    slices = versus.compute(Says("A", task, right), Says("B", task, wrong), task, QUICK).tables["slices"]
    found = slices[slices["certain"] & (slices["difference"] < 0)]
    assert found["slice"].tolist() == ["“house”"]
    alone = versus.compute(Says("A", task, right), Says("B", task, wrong), task, replace(QUICK, words=False))
    assert "word" not in set(alone.tables["slices"]["kind"])


def test_labels_are_matched_by_name_and_case(three):
    task, right = three
    other = Says("B", task, right[:, [2, 0, 1]], labels=("Z", "X", "Y"))
    result = versus.compute(Says("A", task, right), other, task, QUICK)
    assert result["flips"].value == 0 and result["divergence"].value == pytest.approx(0, abs=1e-9)


def test_label_sets_that_do_not_match_are_one_line(three):
    task, right = three
    with pytest.raises(UserError, match="the model answers p, q, r, but three is labelled x, y, z"):
        versus.compute(Says("A", task, right), Says("B", task, right, labels=("p", "q", "r")), task, QUICK)


@pytest.mark.slow
def test_each_model_has_its_own_threshold_but_not_its_other_form(_pocket):
    one = PLANTED["several"]
    task, model = one.task(ROWS), one.model(_pocket.tokenizer)
    cut = model.cut(["head:1.1"])
    assert measure.is_form(cut, model) and measure.is_form(cut.cut(["head:1.3"]), model)
    assert not measure.is_form(model, cut) and not measure.is_form(model, model)
    assert "B is a form of A, and held to its threshold" in versus(model, cut, task, QUICK).notes
    assert "A is a form of B, and held to its threshold" in versus(cut, model, task, QUICK).notes
    other = one.model(_pocket.tokenizer)
    other.name = "another"
    with_bias = other.model.classifier.bias.data
    with_bias += 1.0
    notes = versus(model, other, task, QUICK).notes
    assert sum("a label is given where its probability is above" in note for note in notes) == 2
    assert any(note.startswith("another: a label is given") for note in notes)


def test_two_kinds_of_answers_to_one_task(_pocket):
    """One output and two, for two labels, say the same thing; a score and a vector don't."""
    task = PLANTED["classification"].task(ROWS)
    two, one = (PLANTED[kind].model(_pocket.tokenizer) for kind in ("classification", "one_logit"))
    result = versus(two, one, task, QUICK)
    assert result["flips"].value == 0 and "divergence" not in result
    assert "the divergence is left out" in " ".join(result.notes)
    pairs = PLANTED["vectors"].task(ROWS)
    scores = replace(pairs, kind="regression")
    with pytest.raises(UserError, match=r"by vectors, .* by regression: nothing can be compared"):
        versus(
            PLANTED["vectors"].model(_pocket.tokenizer), PLANTED["regression"].model(_pocket.tokenizer), scores, QUICK
        )


def test_masked_words_of_two_tokenizers_are_refused(_pocket):
    one = PLANTED["masked"]
    a, b = (one.model(_pocket.tokenizer) for _ in range(2))
    b.tokenizer = type(a.tokenizer)(tokenizer_object=a.tokenizer.backend_tokenizer, **a.tokenizer.special_tokens_map)
    b.tokenizer.add_tokens(["zzz"])
    b.model.resize_token_embeddings(len(b.tokenizer))
    with pytest.raises(UserError, match="different tokenizers: the pieces of masked words"):
        versus(a, b, one.task(ROWS), QUICK)


def test_calibration_stands_side_by_side(three):
    task, right = three
    right[::10] *= -1  # somebody who is always right can't be too sure
    result = versus.compute(Says("A", task, right), Says("B", task, 5 * right), task, QUICK)
    table = result.tables["calibration"].set_index("model")
    assert list(table.index) == ["A", "B"] and table.loc["B", "temperature"] == pytest.approx(
        5 * table.loc["A", "temperature"], rel=1e-3
    )
    assert set(result.tables["bins"]["model"]) == {"A", "B"}


def test_settings_that_can_not_work():
    with pytest.raises(UserError, match="permutations"):
        VersusConfig(permutations=5)
