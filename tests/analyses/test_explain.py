"""`explain`: every kind of output, a text in the place of data, and the mistakes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bertscope
import toy
from bertscope.analyses.explain.question import explain
from bertscope.analyses.explain.result import _said as said
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.given_text import given_text
from planted_kinds import PLANTED
from planted_outputs import BAD, GOOD
from six_sentences import SENTENCES

SIGNS = {*GOOD, *BAD}


@pytest.fixture(scope="module")
def planted(_pocket):
    made = {kind: (one.task(10), one.model(_pocket.tokenizer)) for kind, one in PLANTED.items()}
    return made.__getitem__


def strongest(words):
    """Of each row's targets, the word that did most."""
    return words.loc[words.groupby(["row", "target"])["attribution"].apply(lambda values: values.abs().idxmax())]


# Without the word that an answer points at, or whose governor is asked for, as much is lost.
_BY_LEAVING_OUT = [kind for kind in PLANTED if kind not in ("masked", "spans", "trees")]


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, "integrated") for kind in PLANTED if kind != "masked"),
        *((one, "leave_out") for one in _BY_LEAVING_OUT),
    ],
)
def test_what_a_planted_model_reads_is_found_in_every_text(planted, kind, method):
    task, model = planted(kind)
    result = bertscope.explain(model, task, method=method, word=2 if kind == "trees" else 0)
    words, targets = result.tables["words"], result.tables["targets"]
    if kind == "several":  # the first label is every text's, whatever it says
        targets = targets[targets["of"] != "any"]
        words = words.merge(targets[["row", "target"]])
    assert set(targets["row"]) == set(task.test.ids)
    assert set(strongest(words)["text"]) <= SIGNS
    assert result.subject == {"task": "planted"}


def test_masked_words_are_explained_by_those_they_are_guessed_from(planted):
    task, model = planted("masked")
    result = bertscope.explain(model, task)
    words = strongest(result.tables["words"]).merge(result.tables["targets"])
    assert [of.partition(",")[0] for of in words["of"]] == words["text"].tolist()


def test_a_typed_mask_is_what_is_explained(planted):
    _, model = planted("masked")
    result = bertscope.explain(model, "house house [MASK] house")
    assert result.tables["targets"]["of"].tolist() == ["house, masked piece 1"]
    assert result.tables["words"]["text"].tolist() == ["house"] * 3
    wanted = bertscope.explain(model, "house house [MASK] house", towards="road").tables["targets"]
    assert wanted["of"].tolist() == ["road, masked piece 1"]


# A text in the place of data


def test_a_text_a_pair_and_lists(toy_model):
    result = bertscope.explain(toy_model, "the food was good and cold")
    words = result.tables["words"]
    assert words["text"].tolist() == ["the", "food", "was", "good", "and", "cold"]
    assert words["word"].tolist() == [1, 2, 3, 4, 5, 6]
    assert result["texts"].value == 1 and result["top_word_share"].low is None
    again = bertscope.explain(toy_model, text="the food was good and cold").tables["words"]
    assert again.equals(words)
    pair = bertscope.explain(toy_model, "the food was good", text_pair="it was bad").tables["words"]
    assert pair["text"].tolist() == ["the", "food", "was", "good", "it", "was", "bad"]
    pairs = bertscope.explain(toy_model, [("the food was good", "it was bad"), ("good", "bad")]).tables["words"]
    np.testing.assert_allclose(pairs[pairs["row"] == "1"]["attribution"], pair["attribution"], atol=1e-5)
    both = bertscope.explain(toy_model, ["good", "the food was bad"])
    assert both.tables["targets"]["row"].tolist() == ["1", "2"]


def test_one_text_says_nothing_certain_of_the_model(toy_model):
    """So that, on a page, what was found in many texts comes before it."""
    for texts, is_open in (("the food was good", True), (["good food", "the food was bad", "so cold"], False)):
        (follows,) = explain.consequences(bertscope.explain(toy_model, texts))
        assert follows.is_open == is_open and follows.text.startswith("In the one text") == is_open


def test_a_word_that_was_learnt_is_found(toy_model, toy_task):
    found = strongest(bertscope.explain(toy_model, toy_task, sample=40, method="leave_out").tables["words"])
    assert found["text"].isin(["good", "bad"]).mean() > 0.8


def test_each_prediction_has_its_probability_and_is_said_to_be_right_or_wrong(toy_model, toy_task):
    result = bertscope.explain(toy_model, toy_task, sample=30, method="gradient")
    targets = result.tables["targets"].set_index("row")
    places = {name: place for place, name in enumerate(toy_task.test.ids)}
    some = toy_task.test.take([places[row] for row in targets.index])
    logits = toy_model.predict(some, toy_task.output).logits
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(targets["probability"], shares.max(1), atol=1e-5)
    names = np.array(toy_task.labels)
    assert targets["of"].tolist() == names[logits.argmax(1)].tolist()
    assert targets["gold"].tolist() == names[some.label].tolist()
    assert targets["right"].tolist() == (logits.argmax(1) == some.label).tolist()


def test_what_is_said_before_a_text():
    row = {"of": "good", "probability": 0.984, "right": True, "gold": "good"}
    assert said(row) == "good (probability 0.98, right)"
    assert said(row | {"right": False, "gold": "bad"}) == "good (probability 0.98, wrong: it is bad)"
    assert said({"of": "good", "probability": 0.984}) == "good (probability 0.98)"
    assert said(row | {"right": pd.NA}) == "good (probability 0.98)" and said({"of": "score"}) == "score"


def test_what_has_no_probability_has_none_and_what_is_not_known_isnt_said(toy_model, planted):
    result = bertscope.explain(toy_model, "the food was good and cold").tables["targets"]
    assert "right" not in result and "gold" not in result and 0.5 <= result["probability"][0] <= 1
    task, model = planted("regression")
    assert "probability" not in bertscope.explain(model, task, method="gradient").tables["targets"]


def test_a_sample_is_drawn_by_ids(toy_model, toy_task):
    result = bertscope.explain(toy_model, toy_task, sample=7, method="gradient")
    assert result.tables["targets"]["row"].nunique() == 7
    assert "7 of 128 texts are explained, chosen by a hash of their ids" in result.notes
    assert result["texts"].value == 7
    other = bertscope.explain(toy_model, toy_task, sample=7, method="gradient", seed=1)
    assert set(other.tables["targets"]["row"]) != set(result.tables["targets"]["row"])


def test_words_that_arent_read_are_said(tiny):
    result = bertscope.explain(tiny, ["good " * 100, "bad"], method="gradient")
    assert any("words of 1 text not read" in note for note in result.notes)
    assert len(result.tables["words"]) == 62 + 1


def test_texts_that_dont_add_up_are_counted(tiny, texts, monkeypatch):
    assert bertscope.explain(tiny, texts)["missed_share"].value == 0
    monkeypatch.setattr("bertscope.models.attribution._SHARE", 0.0)
    monkeypatch.setattr("bertscope.models.attribution._OF_SPREAD", 0.0)
    result = bertscope.explain(tiny, texts.take([0, 1]), nodes=512)  # rounding remains
    assert result["missed_share"].value == 1
    assert "the words of 2 of 2 predictions don't add up to the whole with 512 points" in result.notes


def test_given_text_leaves_names_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my texts.txt").write_text("one\n")
    assert given_text("my texts.txt", {}) == ("my texts.txt", {})
    assert given_text("no file", {})[0].text == ("no file",)
    assert given_text("", {})[0].text == ("",)
    assert given_text("file.csv", {"text": "review"}) == ("file.csv", {"text": "review"})
    with pytest.raises(UserError, match="a text is given twice"):
        given_text("a text", {"text": "another"})
    with pytest.raises(UserError, match="nothing to read is given"):
        given_text(None, {})


# Mistakes


def test_mistakes(tiny, toy_model, toy_task, pocket):
    with pytest.raises(UserError, match=r"has no label 'god'; did you mean 'good'\?"):
        bertscope.explain(toy_model, toy_task, towards="god")
    with pytest.raises(UserError, match="says nothing of single words; leave out word=2"):
        bertscope.explain(toy_model, toy_task, word=2)
    with pytest.raises(UserError, match="the text is empty; give one with words"):
        bertscope.explain(tiny, [" "])
    with pytest.raises(UserError, match=r"unknown method|method is 'saliency'"):
        bertscope.explain(tiny, list(SENTENCES), method="saliency")
    with pytest.raises(UserError, match="nodes is 513; it can be at most 512"):
        bertscope.explain(tiny, list(SENTENCES), nodes=513)
    with pytest.raises(UserError, match="the vocabulary of pocket has no piece 'xyzzyx'"):
        bertscope.explain(pocket, "the [MASK] house", towards="xyzzyx")


def test_a_number_has_no_labels_to_choose_from(planted):
    for kind in ("regression", "spans", "vectors", "trees"):
        task, model = planted(kind)
        with pytest.raises(UserError, match="gives no labels to choose from; leave out towards='good'"):
            bertscope.explain(model, task, towards="good")
    task, model = planted("choices")
    with pytest.raises(UserError, match="give the number of a candidate"):
        bertscope.explain(model, task, towards="good")
    with pytest.raises(UserError, match="no text has both"):
        bertscope.explain(model, task, towards="9")


def test_the_command(command, model):
    code, out, err = command("explain", model, "--text", "the old house was good", "--method", "leave_out")
    assert code == 0 and "texts explained" in out, err
    code, out, err = command("explain", model, "--text", "one text", "--text-pair", "another", "--json")
    assert code == 0 and '"texts"' in out, err
    code, _, err = command("explain", model)
    assert (
        code == 2
        and "nothing to read is given; name a task or a file of texts (--on), or give a text (--text)" in err
    )


def test_the_command_reads_columns_of_data(command, model, tmp_path):
    path = toy.write_reviews(tmp_path / "mine.csv", 40)
    path.write_text(path.read_text().replace("text,label", "review,label", 1))
    code, out, err = command("explain", model, "--on", path, "--text", "review", "--method", "gradient")
    assert code == 0 and "texts explained" in out, err


def test_stored_answers_are_found_again(tiny, tmp_path):
    first = bertscope.explain(tiny, Examples(("a",), ("good food",)), store=tmp_path / "store", method="gradient")
    again = bertscope.explain(tiny, Examples(("a",), ("good food",)), store=tmp_path / "store", method="gradient")
    assert again.tables["words"].equals(first.tables["words"])
    assert again.provenance == first.provenance
