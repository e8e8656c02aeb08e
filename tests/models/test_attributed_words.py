"""Word attributions: which words and labels, whatever the texts are like, and mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bags import plain_bert
from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.attribution import METHODS, attribute
from bertscope.models.outputs.classifier import OneLabel
from bertscope.models.windows import text_windows
from plain_margins import margin
from six_sentences import SENTENCES

SOME = Examples(tuple("abcdef"), SENTENCES)


@pytest.fixture(scope="module")
def tokenizer(_pocket):
    return _pocket.tokenizer


@pytest.fixture(scope="module")
def bert(tokenizer):
    return plain_bert(tokenizer)


# What is explained


def test_a_label_that_is_asked_for(bert):
    found = attribute(bert, None, SOME, wanted=Wanted(label=2), method="leave_out")
    assert set(found.targets.label) == {2} and set(found.explained) == {"LABEL_2"}
    other = attribute(bert, None, SOME, wanted=Wanted(label=0), method="leave_out")
    assert np.abs(found.values - other.values).max() > 0.1


def test_given_targets_are_explained_again(bert):
    first = attribute(bert, None, SOME, method="leave_out")
    again = attribute(bert, None, SOME, first.targets, method="leave_out")
    np.testing.assert_array_equal(again.values, first.values)
    one = Targets(np.array([3]), np.array([-1]), np.array([1]))
    found = attribute(bert, None, SOME, one, method="gradient")
    assert len(found) == 1 and found.targets.example[0] == 3 and found.explained == ("LABEL_1",)


def test_labels_are_in_the_task_s_order(bert, toy_task):
    """The model's third label is the task's first."""
    bert.model.config.id2label = {0: "x", 1: "y", 2: "z"}
    try:
        task = replace(toy_task, labels=("z", "x", "y"))
        asked = attribute(bert, task.output, SOME, wanted=Wanted(label=0), method="leave_out")
        own = attribute(bert, None, SOME, wanted=Wanted(label=2), method="leave_out")
    finally:
        bert.model.config.id2label = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    np.testing.assert_array_equal(asked.values, own.values)
    assert set(asked.explained) == {"z"}


def test_words_are_as_the_text_has_them(bert):
    texts = Examples(("a",), ("Don't  SHOUT, naïve\tman!",), ("It's ok",))
    found = attribute(bert, None, texts, method="leave_out")
    assert found.words_of(0) == ("Don", "'", "t", "SHOUT", ",", "naïve", "man", "!", "It", "'", "s", "ok")
    np.testing.assert_array_equal(found.word, np.arange(12))


def test_truncated_words_have_no_attribution(bert):
    texts = Examples(("a", "b"), ("old house " * 60, "good"), ("bad food " * 60, "bad"))
    found = attribute(bert, None, texts, method="leave_out")
    assert found.unread[1] == 0 and found.unread[0] == 240 - len(found.of(0))
    numbers = found.word[: len(found.of(0))]
    second = numbers >= 120  # a second text's words come after all of the first one's, read or not
    assert set(np.array(found.words_of(0))[second]) == {"bad", "food"} and 0 < second.sum() < 60
    assert set(np.array(found.words_of(0))[~second]) == {"old", "house"}


@pytest.mark.parametrize("pair", [False, True])
def test_words_that_are_cut_from_the_left_keep_their_places(bert, pair):
    """Some tokenizers cut the beginning: the words that are read are the last."""
    words = tuple(f"{number}" for number in range(100))
    given = Examples(("a", "b"), (" ".join(words), "good"), (" ".join(words[:70]), "bad") if pair else None)
    bert.tokenizer.truncation_side = "left"
    try:
        found = attribute(bert, None, given, method="leave_out")
    finally:
        bert.tokenizer.truncation_side = "right"
    numbers, read = found.word[: len(found.of(0))], found.words_of(0)
    assert 0 < found.unread[0] == (170 if pair else 100) - len(read)
    assert read == tuple((*words, *words[:70])[number] for number in numbers)
    assert numbers[-1] == (169 if pair else 99) and 99 in numbers and 0 not in numbers
    assert found.words_of(1) == (("good", "bad") if pair else ("good",))


def test_windows_share_words(bert, toy_task):
    """A long text read in windows: words are counted through it, and each is masked wherever it is read."""
    task = replace(toy_task, labels=("LABEL_0", "LABEL_1", "LABEL_2"), windows=3)
    long = " ".join(["the old house by the river"] * 20)
    found = attribute(bert, task.output, Examples(("a", "b"), (long, "good")), method="integrated", nodes=64)
    assert len(found.of(0)) == 120 and found.unread[0] == 0
    assert " ".join(found.words_of(0)) == long
    left = attribute(bert, task.output, Examples(("a", "b"), (long, "good")), method="leave_out")
    masked = long.split()
    masked[45] = bert.tokenizer.mask_token
    asked = OneLabel(bert, task.output)
    with torch.no_grad():
        said = [
            margin(asked.run(next(iter(asked.batches(Examples(("a",), (text,)))))), left.targets.label[0])
            for text in (long, " ".join(masked))
        ]
    assert left.of(0)[45] == pytest.approx(float(said[0] - said[1]), abs=1e-5)
    assert abs(left.of(0)[45]) > 1e-4


def test_a_word_of_windows_is_one(tokenizer):
    read = text_windows(tokenizer, Examples(("a",), ("a b c d e f",)), 5, 4)
    assert [word for word in read.tokens.words if word >= 0] == [0, 1, 2, 2, 3, 4, 4, 5]


# Texts at the edge, and mistakes


@pytest.mark.parametrize("method", METHODS)
def test_texts_without_words_are_left_out(bert, method):
    found = attribute(bert, None, Examples(tuple("abc"), ("", "good", " [SEP] ")), method=method)
    np.testing.assert_array_equal(found.targets.example, [1])
    assert found.words_of(0) == ("good",)
    if method != "gradient":
        assert found.of(0).sum() == pytest.approx(found.whole[0] - found.baseline[0], rel=0.01)
    assert not len(attribute(bert, None, Examples(("a",), ("",)), method=method))


def test_unknown_words_are_words(bert):
    found = attribute(bert, None, Examples(("a",), ("good 語 bad",)), method="leave_out")
    assert found.words_of(0) == ("good", "語", "bad") and np.isfinite(found.values).all()


def test_mistakes(tokenizer, bert):
    with pytest.raises(UserError, match=r"no texts; give some"):
        attribute(bert, None, Examples((), ()))
    with pytest.raises(UserError, match=r"unknown method 'integratd'; did you mean 'integrated'\?"):
        attribute(bert, None, SOME, method="integratd")
    broken = plain_bert(tokenizer)
    with torch.no_grad():
        broken.model.bert.encoder.layer[1].output.dense.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="NaN or infinite values"):
        attribute(broken, None, SOME)


def test_a_tokenizer_without_masks_is_refused(bert, monkeypatch):
    monkeypatch.setattr(type(bert.tokenizer), "mask_token_id", None, raising=False)
    with pytest.raises(UserError, match=r"has no mask token, .* give a model that has one"):
        attribute(bert, None, SOME)
