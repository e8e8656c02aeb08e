"""What the page says of a table's columns."""

from __future__ import annotations

from bertscope.core.figure import Figure
from bertscope.report.columns import ALWAYS, ENDS, UNLESS_SAID, explained

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


def test_ends_of_an_interval_are_called_so_whatever_a_figure_writes_beside_the_value():
    assert explained("curves", ["low", "high"], [FIGURE]) == {"low, high": ENDS}
    assert explained("curves", ["chance_low"], [FIGURE]) == {"chance_low": ENDS}


def test_a_figure_may_be_more_exact_but_not_about_what_is_always_so():
    labels = {"n": "texts", "layer": "Which layer", "p_holm": "p (Holm)"}
    figure = Figure("lines", "curves", x="layer", y="n", title="", caption="", labels=labels)
    assert explained("curves", ["n", "p_holm", "seed"], [figure]) == {
        "n": "texts",
        "p_holm": ALWAYS["p_holm"],
        "seed": UNLESS_SAID["seed"],
    }
