"""What the head card takes from results, and by which models and tasks results are found: without a browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report import head_card, subjects
from planted_page import heads as of_heads


class Declared:
    def __init__(self, *card, **words) -> None:
        self.card, self.words = card, words


def result(**tables: pd.DataFrame) -> Result:
    return Result("made-up", 1, tables)


def test_an_undeclared_question_gives_every_measured_column_of_every_table_with_heads():
    table = of_heads().assign(entropy=1.0, entropy_low=0.5, entropy_high=1.5, n=7, shape=list("ababab"), same="x")
    found = head_card.facts(result(heads=table, layers=pd.DataFrame({"layer": [1], "value": [2.0]})), None)
    columns = {(fact["column"], fact["low"], fact["high"]) for fact in found}
    assert columns == {("shape", "", ""), ("effect", "low", "high"), ("entropy", "entropy_low", "entropy_high")}
    assert {fact["table"] for fact in found} == {"heads"}


def test_what_a_head_of_a_shrunk_model_costs_is_no_head():
    """In parameters, as for `--target 50%`: a card's grid would have so many layers."""
    answer = result(costs=pd.DataFrame([{"layer": 1152.0, "head": 12336, "neuron": 385}]))
    assert head_card.shape(answer, None) != []
    assert head_card.shape(answer, find("shrink")) == head_card.facts(answer, find("shrink")) == []


def test_undeclared_rows_of_one_head_are_told_apart_by_their_words():
    table = pd.concat([of_heads().assign(checkpoint=name) for name in ("before", "after")])
    (fact,) = head_card.facts(result(heads=table), None)
    assert fact["column"] == "effect" and fact["items"] == ("checkpoint",)


def test_what_a_question_declares_is_all_that_is_shown():
    one = HeadFact("heads", "effect", "effect", "low", "high", beside={"p": "p"})
    (fact,) = head_card.facts(result(heads=of_heads().assign(p=0.5, other=1.0)), Declared(one))
    assert fact["column"] == "effect" and fact["beside"] == {"p": "p"}
    assert head_card.facts(result(heads=of_heads()), Declared()) == []
    assert head_card.about_heads(result(heads=of_heads()), Declared()) == []


def test_the_rows_that_a_fact_is_about_are_named_as_the_page_has_them():
    one = HeadFact("heads", "effect", "effect", where={"arm": "random_tuned", "layer": 1, "shape": "vertical"})
    table = of_heads().assign(arm="random init, tuned", shape="vertical")
    (fact,) = head_card.facts(result(heads=table), Declared(one, arm={"random_tuned": "random init, tuned"}))
    assert fact["where"] == {"arm": "random init, tuned", "layer": 1, "shape": "vertical"}


def test_an_older_result_is_shown_without_what_it_lacks():
    declared = Declared(
        HeadFact("heads", "effect", "effect", beside={"p": "p"}), HeadFact("heads", "cosine", "cosine"),
        HeadFact("others", "effect", "effect"), HeadMaps("head_maps", "maps", "map_tokens"),
    )  # fmt: skip
    (fact,) = head_card.facts(result(heads=of_heads()), declared)
    assert fact["column"] == "effect" and fact["beside"] == {}
    assert head_card.maps(result(heads=of_heads()), declared) is None


def test_maps_are_given_row_by_row():
    levels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    where = pd.DataFrame({"checkpoint": "a", "layer": 1, "head": [1, 2], "example": 0})
    tokens = pd.DataFrame({"example": 0, "position": [1, 2, 3], "token": list("abc")})
    answer = Result("made-up", 1, {"head_maps": where, "map_tokens": tokens}, arrays={"maps": levels})
    found = head_card.maps(answer, Declared(HeadMaps("head_maps", "maps", "map_tokens")))
    assert found == {"table": "head_maps", "tokens": "map_tokens", "side": 3,
                     "levels": [list(range(9)), list(range(9, 18))]}  # fmt: skip


def test_the_grid_has_the_heads_that_results_speak_of():
    cut = of_heads(3, 4).query("layer != 2 and not (layer == 3 and head > 2)")
    parts = pd.concat([cut, pd.DataFrame({"layer": [5], "head": [None], "effect": [1.0]})])  # an MLP
    assert head_card.shape(result(heads=parts.convert_dtypes()), None) == [4, 0, 2]
    assert head_card.shape(result(layers=pd.DataFrame({"layer": [1]})), None) == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_declare_each_column_in_words(name):
    for one in find(name).card or ():
        if isinstance(one, HeadFact):
            assert one.label and one.column and bool(one.low) == bool(one.high)


# Models and tasks


def root(kind: str, source: str) -> Root:
    return Root(kind, source, "0" * 16)


def test_a_result_is_found_by_the_models_and_tasks_it_began_with():
    tuned = Step("finetune", 1, {}, {"base": root("model", "pocket"), "task": root("task", "glue/rte@/data/glue")})
    states = Step("states", 1, {}, {"model": tuned, "examples": root("examples", "/data/ud/ewt-dev.conllu")})
    step = Step("probe", 1, {}, {"states.0": states, "examples": root("examples", "/data/ud/ewt-dev.conllu")})
    assert subjects.PageModels([]).began(step) == ["pocket"]
    assert subjects.tasks(step) == ["ewt-dev.conllu", "glue/rte"]


@pytest.mark.parametrize(
    ("config", "one"),
    [({"seeds": [3]}, True), ({"seeds": [0, 1]}, False), ({"seed": 0}, False), ({"seeds": []}, False)],
)
def test_one_seed(config, one):
    assert subjects.one_seed(Step("lottery", 1, config, {})) is one
