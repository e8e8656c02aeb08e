"""What a notebook or a terminal shows of the objects that users hold: short, and what they want to know first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.formatting import as_text
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result


@pytest.fixture
def result():
    return Result(
        "ablate",
        1,
        tables={"effects": pd.DataFrame({"layer": [1, 2], "effect": [0.1, 0.2]})},
        arrays={"outputs": np.zeros((2, 3))},
        headline=[Number("score", 0.5, 0.4, 0.6, 20, "accuracy"), Number("parts", 12)],
        figures=[
            Figure("intervals", "effects", x="effect", y="layer", title="By layer", caption="c", key="by_layer")
        ],
        models={"1": ModelRecord("1", "pocket")},
        subject={"task": "<mine>"},
        notes=["a text was cut"],
    )


def test_a_result_shows_its_numbers_and_what_it_holds(result):
    assert repr(result) == as_text(result) == str(result)
    assert repr(result).splitlines() == [
        "ablate: pocket on <mine>",
        "                  value    95% interval   n",
        "score (accuracy)  0.500  0.400 to 0.600  20",
        "parts                12",
        "tables: effects (2 rows)",
        "arrays: outputs [2, 3]",
        "figures: by_layer (By layer)",
        "note: a text was cut",
    ]
    assert repr(Result("ablate", 1)) == "ablate"


def test_a_notebook_shows_the_same_as_html(result):
    html = result._repr_html_()
    assert "<td>score (accuracy)</td><td>0.500</td><td>0.400 to 0.600</td><td>20</td>" in html
    assert (
        "pocket on &lt;mine&gt;" in html
        and "by_layer (By layer)" in html
        and "<table>" not in Result("x", 1)._repr_html_()
    )


def test_a_figure_that_is_not_there_is_refused_with_those_that_are(result):
    for which in (1, -1, "curve"):
        with pytest.raises(UserError, match=rf"no figure {which!r}; ablate has by_layer \(By layer\)"):
            result.plot(which)


def test_data_and_models_are_one_line(tiny, texts):
    task = bertscope.read_task("demo/sentiment", limit=4)
    assert repr(task) == (
        "<Task demo/sentiment: classification (negative, positive), rows 4 train, 4 validation, 4 test, "
        "scored by accuracy>"
    )
    assert repr(bertscope.read_task("demo/qa", limit=4)).startswith("<Task demo/qa: spans, rows 4 train")
    mine = bertscope.Examples(ids=("a", "b"), text=("one", "two"), pair=("x", "y"), name="mine")
    assert repr(mine) == "<Examples mine: 2 texts with pair>"
    size = f"{sum(one.numel() for one in tiny.model.parameters()):,} parameters"
    assert f": bert, {tiny.n_layers} layers of {tiny.n_heads} heads, {tiny.hidden_size} hidden units, {size}" in repr(
        tiny
    )
    store = bertscope.hidden_states(tiny, mine)
    assert f"<StatesStore {tiny.name}: {len(store):,} rows (pool: word) of 2 texts" in repr(store)
    assert repr(bertscope.Store("kept")) == "Store('kept')"


def test_studies_and_steps_are_one_line():
    study = bertscope.read_study("demo", ["questions=[scratch]"])
    assert repr(study) == "<Study demo: scratch, claims>"
    assert repr(study.steps[0]) == f"<Step {study.steps[0].id}>"
