"""Numbers are found by their keys and what they are of, whatever their words say."""

from __future__ import annotations

import pytest

from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.words import labelled


@pytest.fixture
def result() -> Result:
    arms = [Number("score", value, of={"arm": arm, "seed": "0"}) for arm, value in (("good", 0.9), ("bad", 0.6))]
    return Result("lottery", 1, headline=[*arms, Number("chance", 0.5, 0.4, 0.6, 12, "accuracy")])


def test_a_number_by_its_key(result):
    assert result["chance"].value == 0.5
    assert "chance" in result and "kappa" not in result and list(result) == ["score", "chance"] == result.keys()
    with pytest.raises(KeyError, match="no headline number 'chanse'; did you mean 'chance'"):
        result["chanse"]
    with pytest.raises(KeyError, match="this lottery has no headline number 'kappa'"):
        result["kappa"]
    with pytest.raises(KeyError, match="no headline number 0"):
        result[0]
    with pytest.raises(KeyError, match=r"2 numbers 'score'; say which: numbers\(key='score', arm=..., seed=...\)"):
        result["score"]


def test_numbers_by_what_they_are_of(result):
    assert [number.value for number in result.numbers(key="score", arm="bad")] == [0.6]
    assert [number.value for number in result.numbers(seed=0)] == [0.9, 0.6]
    assert len(result.numbers()) == 3 and not result.numbers(key="score", arm="other")
    with pytest.raises(KeyError, match="no headline number 'scroe'; did you mean 'score'"):
        result.numbers(key="scroe")
    with pytest.raises(KeyError, match="no number of lottery is of a amr; did you mean 'arm'"):
        result.numbers(amr="bad")
    with pytest.raises(IndexError, match="there is no such number"):
        result.numbers(arm="other")[0]
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


def test_what_a_number_is_of_never_hides_its_own_columns():
    table = Result("ablate", 1, headline=[Number("change_without", 0.1, n=3, unit="accuracy", of={"unit": "mlp:1"})])
    row = table.numbers().table.iloc[0]
    assert row["unit"] == "accuracy" and row["of_unit"] == "mlp:1"


def test_where_there_is_one_model_every_number_is_of_it():
    one, other = ModelRecord("m1", "a"), ModelRecord("m2", "b")
    numbers = [Number("score", 1.0), Number("chance", 0.5)]
    alone = Result("ablate", 1, headline=numbers, models={"m1": one})
    assert len(alone.numbers(model="m1")) == 2 and not alone.numbers(model="m2")
    assert not Result("ablate", 1, headline=numbers, models={"m1": one, "m2": other}).numbers(model="m1")


def test_a_number_is_one_where_one_is_wanted():
    number = Number("score", 0.51234, 0.4, 0.6)
    assert float(number) == 0.51234 and f"{number:.2f}" == "0.51" and f"{number}" == str(number)


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
