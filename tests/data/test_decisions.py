"""What outputs decide, what is right of each example, and counts by label: hand-worked, and held to scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import precision_recall_fscore_support

from bertscope.core.examples import NO_CANDIDATE, NOTHING
from bertscope.core.output import SILENT
from bertscope.data.outputs.choices import OneChoice
from bertscope.data.outputs.classes import Classes
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.outputs.one_logit import OneLogit
from bertscope.data.outputs.scores import OneScore
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.outputs.spans import Spans
from bertscope.data.outputs.tags import Tags
from bertscope.data.outputs.trees import Trees


def test_classes_decide_once_an_example() -> None:
    outputs = np.random.default_rng(0).normal(size=(50, 3))
    gold = np.random.default_rng(1).integers(0, 3, 50)
    output = Classes("t", ("a", "b", "c"), "accuracy")
    found = output.decisions(outputs, gold)
    assert found is not None and len(found) == 50 and found.names == ("a", "b", "c")
    np.testing.assert_allclose(found.shares, softmax(outputs, -1))
    np.testing.assert_allclose(found.confidence, softmax(outputs, -1).max(1))
    np.testing.assert_allclose(found.of_gold, softmax(outputs, -1)[np.arange(50), gold])
    np.testing.assert_array_equal(found.right, output.correct(outputs.argmax(1), gold))


@pytest.mark.parametrize("several", [False, True])
def test_counts_by_label_are_those_of_scikit_learn(several: bool) -> None:
    generator = np.random.default_rng(2)
    if several:
        predicted, gold = generator.integers(0, 2, (2, 80, 4))
        output = SeveralLabels("t", ("a", "b", "c", "d"), "micro_f1")
    else:
        predicted, gold = generator.integers(0, 4, (2, 80))
        output = Classes("t", ("a", "b", "c", "d"), "accuracy")
    names, counts = output.by_label(predicted, gold)
    right, given, true = counts.sum(0).T
    precision, recall, _, support = precision_recall_fscore_support(gold, predicted)
    assert names == ("a", "b", "c", "d") and counts.shape == (80, 4, 3)
    np.testing.assert_allclose(right / given, precision)
    np.testing.assert_allclose(right / true, recall)
    np.testing.assert_array_equal(true, support)


def test_one_logit_decides_between_two() -> None:
    outputs, gold = np.array([[2.0], [-1.0], [0.0]]), np.array([1, 1, 0])
    found = OneLogit("t", ("no", "yes"), "accuracy").decisions(outputs, gold)
    np.testing.assert_allclose(found.shares[:, 1], expit(outputs[:, 0]))
    np.testing.assert_array_equal(found.predicted, [1, 0, 0])
    np.testing.assert_allclose(found.confidence, [expit(2), expit(1), 0.5])


def test_several_labels_are_decided_one_by_one_by_the_threshold() -> None:
    output = SeveralLabels("t", ("a", "b"), "micro_f1", threshold=-1.0)
    found = output.decisions(np.array([[-0.5, -2.0], [3.0, -0.5]]), np.array([[1, 0], [0, 1]]))
    np.testing.assert_array_equal(found.example, [0, 0, 1, 1])
    np.testing.assert_array_equal(found.predicted, [1, 0, 1, 1])
    np.testing.assert_array_equal(found.right, [True, True, False, True])
    np.testing.assert_allclose(found.confidence, [expit(-0.5), 1 - expit(-2.0), expit(3.0), expit(-0.5)])
    np.testing.assert_array_equal(output.correct(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [0, 1]])), [1, 0])


def test_candidates_that_are_not_there_have_no_probability() -> None:
    outputs = np.array([[1.0, 2.0, NO_CANDIDATE], [0.0, 0.0, 1.0], [NO_CANDIDATE] * 3])
    gold = np.array([[1, 2], [0, 3], [0, 3]])
    found = OneChoice("t", "accuracy").decisions(outputs, gold)
    np.testing.assert_array_equal(found.example, [0, 1])  # of the third nothing is said
    np.testing.assert_allclose(found.shares[0], [*softmax([1.0, 2.0]), 0.0])
    np.testing.assert_array_equal(found.right, [True, False])


def test_tags_are_decided_word_by_word() -> None:
    output = Tags("t", ("B-LOC", "I-LOC", "O"), "entity_f1")
    gold = np.array([[0, 1, 2], [2, 2, NOTHING]])
    said = output.certain(np.array([[0, 1, 2], [0, NOTHING, NOTHING]])) * 4
    said[1, 1:] = SILENT  # a word that isn't read, and none
    found = output.decisions(said, gold)
    np.testing.assert_array_equal(found.example, [0, 0, 0, 1])
    np.testing.assert_array_equal(found.right, [True, True, True, False])
    np.testing.assert_allclose(found.confidence, softmax([4.0, 0.0, 0.0])[0])
    predicted = output.predictions(said)
    np.testing.assert_array_equal(output.correct(predicted, gold), [1, 0])
    names, counts = output.by_label(predicted, gold)
    assert names == ("LOC",)
    np.testing.assert_array_equal(counts[:, 0], [[1, 1, 1], [0, 1, 0]])  # right, given, there


def test_a_tag_that_only_the_model_has_is_decided_and_wrong() -> None:
    output = Tags("t", ("B-LOC", "O"), "entity_f1")
    match = output.match(("B-LOC", "I-LOC", "O", "B-PER"))
    said = match.ordered(np.array([[[0.0, 0.0, 0.0, 5.0], [3.0, 0.0, 0.0, 0.0]]]))
    found = output.decisions(said, np.array([[1, 0]]))
    np.testing.assert_array_equal(found.right, [False, True])
    assert len(found.names) == found.shares.shape[1]
    assert found.names[found.predicted[0]].startswith("B-another")


def test_parts_of_speech_are_counted_by_tag() -> None:
    output = Tags("t", ("NOUN", "VERB"), "word_accuracy")
    gold, predicted = np.array([[0, 1], [0, NOTHING]]), np.array([[0, 0], [0, NOTHING]])
    names, counts = output.by_label(predicted, gold)
    assert names == ("NOUN", "VERB")
    np.testing.assert_array_equal(counts.sum(0), [[2, 3, 2], [0, 0, 1]])


def test_whether_all_of_an_example_is_right() -> None:
    spans = Spans("t", "token_f1")
    gold = np.empty(2, dtype=object)
    gold[:] = [("the red house", ((4, 13),)), ("the red house", ((4, 7),))]
    np.testing.assert_array_equal(spans.correct(np.array([[0, 13], [0, 13]]), gold), [1, 0])  # articles don't count
    trees = Trees("t", ("root", "obj"), "las")
    tree = np.array([[[-1, 0, 0, 0], [0, 1, 1, 0]]])
    both = np.array([[[[-1, 0], [0, 1]]], [[[-1, 0], [-1, 1]]]])
    families = trees._families
    tree[..., 2] = [[families["root"], families["obj"]]]
    np.testing.assert_array_equal(trees.correct(both, tree), [[1], [0]])
    masked = MaskedWords("t", "accuracy")
    pieces = np.array([[5, 6], [7, NOTHING], [NOTHING, NOTHING]])
    guessed = np.stack([np.array([[5, 6], [1, NOTHING], [NOTHING, NOTHING]]), np.ones((3, 2))], -1)
    np.testing.assert_array_equal(masked.correct(guessed, pieces), [1, 0, np.nan])
    assert np.isnan(OneScore("t", "pearson").correct(np.zeros(3), np.zeros(3))).all()
    for output in (spans, trees, masked, OneScore("t", "pearson")):
        assert output.decisions(np.zeros((1, 1)), gold) is None and output.by_label(np.zeros(1), gold) is None
