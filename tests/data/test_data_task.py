"""Tasks: scoring, chance, description; and the baselines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.baselines import bag_of_words, majority
from bertscope.data.task import Task


def examples(texts, labels, pairs=None):
    ids = tuple(str(i) for i in range(len(texts)))
    return Examples(ids, tuple(texts), None if pairs is None else tuple(pairs), np.array(labels))


def classification(train=(0, 0, 1), test=(0, 1, 1, 1), metric="accuracy", labels=("no", "yes")):
    words = ("bad film", "good film", "fine film")
    split = [examples([words[i] for i in part], list(part)) for part in (train, train, test)]
    return Task("toy", "classification", labels, *split, metric)


def regression():
    rng = np.random.default_rng(0)
    texts, scores = [], []
    for _ in range(90):
        goods = int(rng.integers(0, 6))
        texts.append(" ".join(["good"] * goods + ["film"]))
        scores.append(goods + rng.normal() * 0.1)
    parts = [examples(texts[a:b], scores[a:b]) for a, b in ((0, 60), (60, 70), (70, 90))]
    return Task("stars", "regression", (), *parts, "pearson")


def test_examples_take_keeps_the_columns_together():
    whole = Examples(
        ("a", "b", "c"), ("x", "y", "z"), ("1", "2", "3"), np.array([0, 1, 2]), (("x",), ("y",), ("z",)), (1, 0, 1)
    )
    part = whole.take(np.array([2, 0]))
    assert (part.ids, part.text, part.pair, part.words) == (("c", "a"), ("z", "x"), ("3", "1"), (("z",), ("x",)))
    assert part.label.tolist() == [2, 0] and len(part) == 2
    with pytest.raises(ValueError, match="2 ids, but 1 entries in text"):
        Examples(("a", "b"), ("x",))


def test_score_counts_right_answers_and_chance_follows_the_fit_split():
    task = classification()
    scores = task.score(np.array([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 5.0]]))
    assert scores.value == 0.75 and scores.n == 4
    assert scores.low <= 0.75 <= scores.high
    assert scores.chance == 0.25  # train says mostly 0; test does not
    assert scores.secondary.keys() == {"f1", "matthews"}
    assert scores.secondary["f1"] == pytest.approx(0.8)
    assert scores.number.key == "accuracy" and scores.number.n == 4


@pytest.mark.parametrize("right", [True, False])
def test_answers_that_are_all_right_or_all_wrong_may_still_be_luck(right):
    """A bootstrap of them is a point. Wilson's interval, by hand: of n it reaches to n / (n + 1.96 squared)."""
    task = classification()
    outputs = np.eye(2)[np.array([0, 1, 1, 1]) if right else np.array([1, 0, 0, 0])]
    scores = task.score(outputs)
    furthest = 4 / (4 + 1.959964**2)
    expected = (furthest, 1.0) if right else (0.0, 1 - furthest)
    assert (scores.low, scores.high) == pytest.approx(expected) and scores.value == right
    assert set(scores.draws) == {float(right)}, "what is paired stays paired"


def test_score_on_other_examples():
    task = classification()
    assert task.score(np.eye(2)[[0, 0, 1]], task.train).value == 1
    assert task.chance(task.train) == pytest.approx(2 / 3)


def test_three_classes_have_macro_f1_beside_accuracy():
    task = classification(train=(0, 1, 2), test=(0, 1, 2, 2), labels=("a", "b", "c"))
    scores = task.score(np.eye(3)[[0, 1, 2, 2]])
    assert scores.secondary == {"macro_f1": 1.0, "matthews": pytest.approx(1.0)}


def test_another_primary_metric_puts_accuracy_beside():
    scores = classification(metric="matthews").score(np.eye(2)[[0, 1, 1, 1]])
    assert (scores.metric, scores.value, scores.chance) == ("matthews", pytest.approx(1.0), 0.0)
    assert scores.secondary.keys() == {"accuracy", "f1"}


def test_regression_is_scored_by_correlation_and_chance_is_zero():
    task = regression()
    scores = task.score(2 * task.test.label[:, None] + 1)
    assert scores.value == pytest.approx(1) and scores.secondary["spearman"] == pytest.approx(1)
    assert scores.chance == 0 and task.score(majority(task)).value == 0


def test_moments_of_many_arms_are_those_of_each():
    task = classification()
    arms = np.random.default_rng(0).normal(size=(5, 4, 2))
    moments = task.moments(arms, task.test)
    assert moments.shape == (5, 4, 1)
    assert task.value(moments.mean(-2)) == pytest.approx([task.score(arm).value for arm in arms])


def test_a_model_with_the_wrong_number_of_outputs_is_refused():
    with pytest.raises(UserError, match=r"the model gives 3 outputs, but toy has 2 labels \(no, yes\)"):
        classification().score(np.zeros((4, 3)))
    with pytest.raises(UserError, match="but stars has one score"):
        regression().score(np.zeros((20, 2)))
    with pytest.raises(ValueError, match=r"outputs \(3, 2\) are not those of 4 examples"):
        classification().score(np.zeros((3, 2)))


def test_nan_outputs_and_missing_labels_are_refused():
    task = classification()
    with pytest.raises(UserError, match="1 of 8 outputs are NaN"):
        task.score(np.array([[np.nan, 1], [0, 1], [0, 1], [0, 1]]))
    with pytest.raises(UserError, match="no labels"):
        task.score(np.zeros((1, 2)), Examples(("a",), ("x",)))


def test_describe_is_plain_and_counts():
    said = json.loads(json.dumps(classification().describe()))
    assert said["splits"]["test"]["labels"] == {"no": 1, "yes": 3}
    assert said["splits"]["train"]["rows"] == 3 and said["chance"] == 0.25
    assert said["splits"]["train"]["words"] == {"min": 2, "median": 2, "mean": 2, "max": 2}
    stars = json.loads(json.dumps(regression().describe()))
    assert stars["splits"]["train"]["labels"].keys() == {"min", "median", "mean", "max"}


def test_describe_has_a_majority_and_chance_for_each_split():
    splits = classification().describe()["splits"]
    assert [splits[name]["majority"] for name in ("train", "validation", "test")] == ["no", "no", "yes"]
    # Chance answers what is frequent in train: "no", of which test has 1 in 4.
    assert [splits[name]["chance"] for name in ("train", "test")] == [pytest.approx(2 / 3), 0.25]
    assert {split["majority"] for split in regression().describe()["splits"].values()} == {None}


def test_describe_counts_the_words_of_both_texts():
    split = examples(["a b", "c"], [0, 1], ["x y z", "w"])
    task = Task("pairs", "classification", ("0", "1"), split, split, split, "accuracy")
    assert task.describe()["splits"]["train"]["words"]["max"] == 5


def test_bag_of_words_learns_words():
    task = classification(train=(0, 1) * 20, test=(0, 1, 1))
    assert task.score(bag_of_words(task)).value == 1
    assert regression().score(bag_of_words(regression())).value > 0.98
    assert (bag_of_words(task) == bag_of_words(task)).all()


def test_bag_of_words_sees_the_overlap_of_pairs():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]

    def some(n):
        texts = [" ".join(rng.choice(words, 6, replace=False)) for _ in range(n)]
        pairs = [text if i % 2 else " ".join(rng.choice(words, 6, replace=False)) for i, text in enumerate(texts)]
        return examples(texts, np.arange(n) % 2, pairs)

    task = Task("copy", "classification", ("0", "1"), some(200), some(40), some(40), "accuracy")
    assert task.score(bag_of_words(task)).value > 0.95


def test_bag_of_words_copes_with_labels_and_words_that_fit_lacks():
    one = classification(train=(1, 1, 1))
    assert (bag_of_words(one) == majority(one)).all()
    two_of_three = classification(train=(0, 2) * 5, test=(0, 1, 2), labels=("a", "b", "c"))
    outputs = bag_of_words(two_of_three)
    assert outputs.shape == (3, 3) and (outputs[:, 1] == 0).all()
    marks = examples(["!!!", "?"] * 6, [0, 1] * 6)
    assert bag_of_words(Task("marks", "classification", ("0", "1"), marks, marks, marks, "accuracy")).shape == (12, 2)
