"""What the page says of a table's columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bertscope.core.figure import Figure
from bertscope.report.columns import ALWAYS, ENDS, OTHERWISE, UNLESS_SAID, explained

FIGURE = Figure(
    "lines", "curves", x="layer", y="gain", low="low", high="high", title="", caption="",
    labels={"low": "from", "high": "to", "gain": "points of accuracy", "name": "Name", "series": ""},
)  # fmt: skip


def test_a_figures_words_and_those_that_all_tables_share():
    columns = ["layer", "name", "gain", "gain_low", "gain_high", "series"]
    assert explained("probe", "curves", columns, [FIGURE]) == {
        "layer": ALWAYS["layer"],
        "gain": "points of accuracy",
        "gain_low, gain_high": f"{ENDS} of gain",
    }, "a label that is the column's name, or none, says nothing"


def test_words_of_another_tables_figure_are_not_this_ones():
    assert explained("probe", "others", ["gain", "value"], [FIGURE]) == {}
    assert explained("probe", "curves", ["gain", "value"], []) == {}


def test_where_figures_call_a_column_after_the_rows_they_draw_none_speaks_for_all():
    other = replace(FIGURE, labels={"gain": "bits", "name": "whose", "series": "line"})
    assert explained("probe", "curves", ["name", "gain", "series"], [FIGURE, other]) == {
        "name": "whose",
        "series": "line",
    }
    assert explained("probe", "curves", ["gain"], [FIGURE, FIGURE]) == {"gain": "points of accuracy"}


def test_ends_of_an_interval_are_called_so_whatever_a_figure_writes_beside_the_value():
    assert explained("probe", "curves", ["low", "high"], [FIGURE]) == {"low, high": ENDS}
    assert explained("probe", "curves", ["chance_low"], [FIGURE]) == {"chance_low": ENDS}


def test_ends_are_of_the_value_before_them():
    best = ["accuracy", "low", "high", "offset", "offset_direction", "offset_accuracy", "offset_low", "offset_high"]
    said = explained("relations", "best", best, [])
    assert said == {"low, high": ENDS, "offset_low, offset_high": f"{ENDS} of offset_accuracy"}
    areas = ["area", "low", "high", "more_than_random", "more_low", "more_high"]
    assert explained("importance", "areas", areas, [])["more_low, more_high"] == f"{ENDS} of more_than_random"


@pytest.mark.parametrize(("question", "table", "named"), OTHERWISE)
def test_what_is_another_thing_in_one_table_is_said_there_alone(question, table, named):
    figure = replace(FIGURE, table=table, labels={"removed": "layers removed from the top"})
    columns = ["layer", *named.split(", ")]
    assert explained(question, table, columns, [figure])[named] == OTHERWISE[question, table, named]
    usual = {"n": UNLESS_SAID["n"], "removed": "layers removed from the top"}
    assert explained("ablate", table, columns, [figure])[named] == usual.get(named, ENDS)


def test_a_figure_may_be_more_exact_but_not_about_what_is_always_so():
    labels = {"n": "texts", "layer": "Which layer", "p_holm": "p (Holm)", "head": "head (0: root)"}
    figure = Figure("lines", "curves", x="layer", y="n", title="", caption="", labels=labels)
    assert explained("structure", "curves", ["n", "p_holm", "seed", "head"], [figure]) == {
        "n": "texts",
        "p_holm": ALWAYS["p_holm"],
        "seed": UNLESS_SAID["seed"],
        "head": "head (0: root)",
    }


def test_units_are_parts_where_there_are_layers():
    assert "layer and number" in explained("ablate", "effects", ["unit", "kind", "layer"], [])["unit"]
    assert explained("probe", "targets", ["target", "unit", "classes"], []) == {}, "words or texts"
    assert "unit" not in explained("claims", "ledger", ["effect", "unit", "n"], []), "what the effect is counted in"
