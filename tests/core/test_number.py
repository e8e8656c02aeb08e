"""Numbers are found by their keys and what they are of, whatever their words say."""

from __future__ import annotations

import pytest

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.words import labelled


@pytest.fixture
def result() -> Result:
    arms = [Number("score", value, of={"arm": arm, "seed": "0"}) for arm, value in (("good", 0.9), ("bad", 0.6))]
    return Result("lottery", 1, headline=[*arms, Number("chance", 0.5, 0.4, 0.6, 12, "accuracy")])


def test_a_number_by_its_key(result):
    assert result["chance"].value == 0.5
    with pytest.raises(KeyError, match="no headline number 'chanse'; did you mean 'chance'"):
        result["chanse"]
    with pytest.raises(KeyError, match=r"2 numbers 'score'; say which: numbers\(key='score', arm=..., seed=...\)"):
        result["score"]


def test_numbers_by_what_they_are_of(result):
    assert [number.value for number in result.numbers(key="score", arm="bad")] == [0.6]
    assert [number.value for number in result.numbers(seed=0)] == [0.9, 0.6]
    assert len(result.numbers()) == 3 and not result.numbers(key="score", arm="other")
    assert [one.value for one in result.numbers()[1:]] == [0.6, 0.5]


def test_all_numbers_as_a_table(result):
    table = result.numbers().table
    assert list(table.columns) == ["key", "arm", "seed", "value", "low", "high", "n", "unit", "label"]
    assert table["arm"].tolist()[:2] == ["good", "bad"] and table.loc[2, ["low", "high", "n"]].tolist() == [
        0.4,
        0.6,
        12,
    ]
    assert list(Result("x", 1).numbers().table.columns) == ["key", "value", "low", "high", "n", "unit", "label"]


def test_labels_say_what_a_number_is_of_where_several_share_a_key():
    numbers = [
        Number("score", 1, of={"arm": "good", "stage": "new"}),
        Number("score", 2, of={"arm": "bad", "stage": "new"}),
    ]
    words = {"arm": {"good": "the best", "bad": "the worst"}}
    assert [one.label for one in labelled(numbers, {"score": "score"}, words)] == [
        "score, the best",
        "score, the worst",
    ]
    assert [one.label for one in labelled(numbers, {"score": "{arm} {stage}"}, words)] == [
        "the best new",
        "the worst new",
    ]
    assert labelled(numbers[:1], {"score": "score"}, words)[0].label == "score", "only one: nothing to tell apart"
    assert labelled(numbers[:1], {}, {})[0].label == "score", "words that nobody declared: the key"
