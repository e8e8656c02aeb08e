"""What follows from results: every question says it, and the heaviest of each theme comes first."""

from __future__ import annotations

import pytest

from bertscope.core.consequence import HEADS, LAYERS, THEMES, Consequence, how_good, lost, ranked, spoken_of
from bertscope.core.estimate import Estimate
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.registry import QUESTIONS, find, resolve
from bertscope.core.small_picture import Bars, Cells, Line


def test_every_question_of_the_catalogue_says_what_follows():
    for name, entry in QUESTIONS.items():
        if entry.group:
            folder = find(name).module.rpartition(".")[0]
            assert callable(resolve(f"{folder}.consequence:consequences")), name


def test_of_a_theme_the_heaviest_is_told_and_an_open_one_only_where_nothing_is_certain():
    light, heavy = Consequence("needs", "light.", 0.2), Consequence("needs", "heavy.", 0.8)
    undecided = Consequence("needs", "open.", 1.0, is_open=True)
    alone = Consequence("works", "alone.", 0.1, is_open=True)
    assert [one.text for one in ranked([light, undecided, heavy, alone])] == ["alone.", "heavy."]
    assert [one.text for one in ranked([undecided])] == ["open."]
    assert [one.theme for one in ranked([Consequence(theme, "x.", 0.5) for theme in reversed(THEMES)])] == [*THEMES]


def test_of_two_checkpoints_of_a_training_from_random_weights_the_last_is_spoken_of():
    drawn = ModelRecord("drawn", "drawn", Origin("random", init="random"))
    steps = [ModelRecord(f"at {step}", "mine", Origin("finetune", init="random", step=step)) for step in (0, 9)]
    change = find("change")
    assert spoken_of(change.result(models={one.id: one for one in steps})) == "at 9"
    assert spoken_of(change.result(models={one.id: one for one in (*steps, drawn)})) == "at 9"
    assert spoken_of(change.result(models={"drawn": drawn})) == "drawn"


def test_what_a_word_means_is_said_once():
    needs = Consequence("needs", f"It needs 5 of its 12 {LAYERS}.", 0.5)
    changed = Consequence("changed", f"It lives in 7 of its 12 {LAYERS}, and in its {HEADS}.", 0.5)
    unseen = Consequence("changed", f"Of its {HEADS} nothing is known.", 0.1)
    assert [one.text for one in ranked([changed, unseen, needs])] == [
        "It needs 5 of its 12 layers (the steps in which it reads).",
        "It lives in 7 of its 12 layers, and in its attention heads (the parts that let words look at each other).",
    ]


def test_a_weight_out_of_bounds_is_refused():
    with pytest.raises(ValueError, match="weighs 0 to 1"):
        Consequence("needs", "x.", 1.2)


def test_changes_and_scores_in_words():
    assert lost(Estimate(0.05, 0.02, 0.08)).startswith("adds 5.0 points")
    assert lost(Estimate(-0.05)) == "changes the score by −5.0 points"
    assert how_good(1.0, "accuracy") == "all answers right" and how_good(0.5, "matthews") == "a Matthews of .50"


def test_small_pictures_of_tables():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"layer": [1, 1, 2, 2], "head": [1, 2, 1, 2], "value": [0.1, 0.2, 0.3, 0.4]})
    grid = Cells.of(table, "value", marked=table[table["value"] > 0.35])
    assert grid.values == ((0.1, 0.2), (0.3, 0.4)) and grid.marked == ((1, 1),)
    strip = Cells.of(table[table["head"] == 1], "value", column=None)
    assert strip.values == ((0.1, 0.3),)
    assert Bars.of({"a": 0.2, "b": 0.4}).most == 0.4 and Line.of(table, "layer", "value").low == ()
