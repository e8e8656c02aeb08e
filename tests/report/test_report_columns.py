"""What the page says of a table's columns."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.report.columns import ALWAYS, BY_DEFAULT, ENDS, explained
from planted_page import page_of, put

FIGURE = Figure(
    "lines", "curves", x="layer", y="gain", low="low", high="high", title="", caption="",
    labels={"low": "from", "high": "to", "gain": "points of accuracy", "name": "Name", "series": ""},
)  # fmt: skip


def test_a_figures_words_and_those_that_all_tables_share():
    columns = ["layer", "name", "gain", "gain_low", "gain_high", "series"]
    assert explained("curves", columns, [FIGURE]) == {
        "layer": ALWAYS["layer"],
        "gain": "points of accuracy",
        "gain_low, gain_high": f"{ENDS} of gain",
    }, "a label that is the column's name, or none, says nothing"


def test_words_of_another_tables_figure_are_not_this_ones():
    assert explained("others", ["gain", "value"], [FIGURE]) == {}
    assert explained("curves", ["gain", "value"], []) == {}


def test_where_figures_call_a_column_after_the_rows_they_draw_none_speaks_for_all():
    other = replace(FIGURE, labels={"gain": "bits", "name": "whose", "series": "line"})
    assert explained("curves", ["name", "gain", "series"], [FIGURE, other]) == {
        "name": "whose",
        "series": "line",
    }
    assert explained("curves", ["gain"], [FIGURE, FIGURE]) == {"gain": "points of accuracy"}


def test_ends_of_an_interval_are_called_so_whatever_a_figure_writes_beside_the_value():
    assert explained("curves", ["low", "high"], [FIGURE]) == {"low, high": ENDS}
    assert explained("curves", ["chance_low"], [FIGURE]) == {"chance_low": ENDS}


def test_ends_are_of_the_value_before_them():
    best = ["accuracy", "low", "high", "offset", "offset_direction", "offset_accuracy", "offset_low", "offset_high"]
    found = explained("best", best, [])
    assert found == {"low, high": ENDS, "offset_low, offset_high": f"{ENDS} of offset_accuracy"}
    areas = ["area", "low", "high", "more_than_random", "more_low", "more_high"]
    assert explained("areas", areas, [])["more_low, more_high"] == f"{ENDS} of more_than_random"


def test_what_is_another_thing_in_one_table_the_question_says():
    figure = replace(FIGURE, labels={"removed": "layers removed from the top"})
    columns, own = ["n", "removed", "low", "high"], {"n": "pairs", "removed": "how many layers", "low, high": "range"}
    assert explained("curves", columns, [figure], own) == own
    expected = {"n": BY_DEFAULT["n"], "removed": "layers removed from the top", "low, high": ENDS}
    assert explained("curves", columns, [figure]) == expected


def test_what_only_the_question_says_of_a_column_is_said():
    own = {"p_gold": "of what is right", "good, bad": "how likely each is", "absent": "", "p": "a probability"}
    told = explained("pairs", ["p", "p_gold", "good", "bad", "other"], [], own)
    assert told == {"p": "a probability", "p_gold": "of what is right", "good, bad": "how likely each is"}


def test_the_page_has_the_questions_own_words(tmp_path):
    rows = pd.DataFrame({"layer": [1], "median": [0.2], "low": [0.1], "high": [0.3]})
    put(tmp_path, Result("importance", 1, tables={"neurons_by_layer": rows, "agreement": rows}))
    page = page_of(tmp_path)
    assert page.count("<dd>between them are eight tenths of the layer&#39;s neurons</dd>") == 1
    assert page.count(f"<dd>{ENDS}</dd>") == 1


def test_a_figure_may_be_more_exact_but_not_about_what_is_always_so():
    labels = {"n": "texts", "layer": "Which layer", "p_holm": "p (Holm)", "head": "head (0: root)"}
    figure = Figure("lines", "curves", x="layer", y="n", title="", caption="", labels=labels)
    assert explained("curves", ["n", "p_holm", "seed", "head"], [figure]) == {
        "n": "texts",
        "p_holm": ALWAYS["p_holm"],
        "seed": BY_DEFAULT["seed"],
        "head": "head (0: root)",
    }


def test_units_are_parts_where_there_are_layers():
    assert "layer and number" in explained("effects", ["unit", "kind", "layer"], [])["unit"]
    assert explained("targets", ["target", "unit", "classes"], []) == {}, "words or texts"
    assert "unit" not in explained("ledger", ["effect", "unit", "n"], []), "what the effect is counted in"


def test_a_prediction_s_probability_is_not_called_a_p_value():
    columns = find("errors").columns
    for table in ("rows", "confident_mistakes", "least_sure", "doubted_labels"):
        told = explained(table, ["row", "text", "p", "p_gold"], [], columns[table])
        assert told["p"].startswith("probability of what is predicted"), table
        assert told["p_gold"].startswith("probability of"), table
