"""What follows from `ablate`, `circuit`, `redundancy` and `errors` is no more than their numbers say."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import bertscope
import toy
from bertscope.analyses.patch.question import patch
from bertscope.analyses.versus.question import versus
from bertscope.core.consequence import Consequence, consequences_of
from bertscope.core.number import Number
from planted_consequences import RANDOM, TUNED, ablate, errors, finding
from quick_configs import QUICK_ABLATE


def only(found) -> Consequence:
    (one,) = consequences_of(found.result)
    return one


def test_the_loss_of_scores_in_another_unit_says_no_part_is_needed():
    by_loss = ablate("layer", (2, 3))
    assert only(by_loss).text.startswith("It needs 2 of its 4 layers")
    rows = by_loss.result.tables["effects"].assign(squared_change=0.1, certain=[False, True, False, False])
    for told_by, needed in (("loss", 2), ("metric", 1)):
        of_scores = replace(by_loss.result, tables={"effects": rows.assign(told_by=told_by)})
        assert only(replace(by_loss, result=of_scores)).text.startswith(f"It needs {needed} of its 4 layers")
    nothing = replace(by_loss.result, tables={"effects": rows.assign(told_by="metric", certain=False)})
    assert only(replace(by_loss, result=nothing)).is_open


def test_a_loss_that_is_certain_to_rise_alone_makes_no_part_needed():
    found = ablate("layer", (2, 3))
    rows = found.result.tables["effects"]

    def told(**columns) -> str:
        return only(replace(found, result=replace(found.result, tables={"effects": rows.assign(**columns)}))).text

    by_loss = told(certain=False)
    assert by_loss.startswith("It uses 2 of its 4 layers") and "needs" not in by_loss
    assert "its loss is certain to rise, most without layer 3, but no fall of its score is certain." in by_loss
    assert "Layer 3 matters most: without it the score falls by 15.0 points." in told()


def test_what_may_cost_more_than_all_that_is_certain_is_named():
    found = ablate("layer", (2, 3))
    assert only(found).text.endswith("Switching off any one of the other 2 does no harm that is certain.")
    rows = found.result.tables["effects"].assign(loss_rise=[0.1, 0.2, 0.3, 0.4])  # 4 costs a few texts much
    uneven = replace(found.result, tables={"effects": rows})
    assert only(replace(found, result=uneven)).text.endswith("that is certain, though layer 4 may matter more.")


def test_a_model_without_a_mistake_has_no_group_to_fail_on():
    found = errors(1.0, 0.0)
    (_, fails) = consequences_of(found.result)
    assert fails.text.startswith("No group of texts was found")
    perfect = replace(found.result, headline=[*found.result.headline, Number("right", 1.0, 1.0, 1.0, 400, "share")])
    (_, fails) = consequences_of(perfect)
    assert fails.is_open and fails.text.startswith("Nowhere on these 400 texts.")


def circuit(verdict: str, kept: int = 3, mode: str = "mean") -> Consequence:
    change = {"as_good": (0.0, -0.01, 0.01), "worse": (-0.1, -0.15, -0.05), "open": (-0.02, -0.08, 0.04)}[verdict]
    smallest = {"kind": "head", "ranking": "loss", "kept": kept, "of": 12, "validation_area": 0.8, "verdict": verdict,
                **dict(zip(("change", "low", "high"), change, strict=True))}  # fmt: skip
    curves = [{"kind": "head", "ranking": "loss", "kept": at, "score": 0.5 + at / 30} for at in (0, 3, 12)]
    known = {"kind": "head", "ranking": "loss", "split": "validation"}
    tables = {
        "smallest": pd.DataFrame([smallest]),
        "curves": pd.DataFrame(curves),
        "reliability": pd.DataFrame([known]),
    }
    found = finding("circuit", tables, [])
    return only(replace(found, result=replace(found.result, subject={"task": "demo", "mode": mode})))


def test_a_circuit_does_the_work_only_where_the_test_set_says_so():
    good = circuit("as_good")
    assert not good.is_open and good.text.startswith("3 of its 12 attention heads do nearly all of its work: holding")
    worse = circuit("worse")
    assert not worse.is_open and "do nearly all of its work: " not in worse.text
    assert worse.text.endswith(
        "on the test set, holding the others at their usual output costs 10.0 points (5.0 to 15.0)."
    )
    undecided = circuit("open")
    assert undecided.is_open and undecided.text.startswith("Whether 3 of its 12 attention heads do nearly all")
    assert circuit("as_good", kept=12).is_open and "can be spared is open" in circuit("as_good", kept=12).text


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("zero", "switching the others off"),
        ("uniform", "switching the others off"),
        ("position", "at their usual output"),
        ("optimal", "missed least"),
    ],
)
def test_a_circuit_says_what_is_done_to_the_other_parts(mode, told):
    assert told in circuit("as_good", mode=mode).text
    assert mode == "position" or "usual" not in circuit("as_good", mode=mode).text


def redundancy(count: int, *beyond: float) -> Consequence:
    of = {"model": TUNED.id, "kind": "similar"}
    numbers = [Number("pairs_redundant", float(count), n=10, of=of)]
    if beyond:
        numbers.append(Number("loss_interaction_difference", *beyond, of={**of, "against": "random"}))
    return only(finding("redundancy", {}, numbers))


def test_similar_heads_stand_in_for_each_other_only_if_they_do_more_so_than_random_pairs():
    assert not redundancy(10, 0.03, 0.01, 0.05).is_open
    # Two that have nothing to do with each other cost more together than apart by the loss, which is convex.
    for beyond in ((0.001, -0.01, 0.012), (-0.02, -0.03, -0.01), ()):
        undecided = redundancy(10, *beyond)
        assert undecided.is_open and "no more so" in undecided.text and not undecided.command
    assert redundancy(0, 0.03, 0.01, 0.05).text.startswith("In none of the 10 pairs")


def test_how_sure_a_tagger_is_stands_beside_how_many_words_are_right():
    """Not beside how many sentences are."""
    found = errors()
    bins = {"series": ["model", "model", "calibrated"], "n": [100, 300, 400], "share": [0.4, 0.8, 0.9]}
    numbers = [Number("overconfidence", 0.2, 0.1, 0.3), Number("right", 0.1)]
    tables = found.result.tables | {"reliability": pd.DataFrame(bins)}
    made = replace(found.result, headline=[*found.result.headline, *numbers], tables=tables)
    (picture,) = (one.picture for one in consequences_of(made) if "confidence" in one.text)
    assert picture.values == pytest.approx((0.9, 0.7))


def test_heads_that_pull_the_other_way_are_not_said_to_carry_the_difference():
    rows = [
        {"kind": "head", "unit": f"head:1.{at}", "layer": 1, "head": at, "role": "all", "direction": "denoise",
         "share": share, "low": share - 0.1, "high": share + 0.1, "certain": certain}
        for at, (share, certain) in enumerate([(0.5, True), (0.3, True), (-0.2, True), (-0.1, False)], start=1)
    ]  # fmt: skip
    found = finding("patch", {"patches": pd.DataFrame(rows)}, [])
    assert "of 4 heads, 2 are found to carry some and 1 to take some away (p < .05, Holm)" in str(
        patch.sentence(found.result)
    )
    assert only(found).text.endswith("2 of 4 heads carry some of it.")


@pytest.mark.parametrize(("permutations", "few"), [(238, True), (239, True), (240, False)])
def test_as_many_permutations_as_leave_p_at_the_level_are_too_few(tiny, permutations, few):
    """Of 12 heads the lowest corrected p is 12 / (1 + permutations)."""
    result = bertscope.ablate(tiny, toy.task(), replace(QUICK_ABLATE, units=("head",), permutations=permutations))
    assert result.table["loss_p_holm"].min() > 12 / (1 + permutations) - 1e-9
    assert any("too few" in note for note in result.notes) is few


@pytest.mark.parametrize(
    ("without", "told"),
    [
        (0.89, "they cost 1.0 points of the score; as many at random cost 5.0 points"),
        (0.95, "they bring 5.0 points of the score; as many at random cost 5.0 points"),
    ],
)
def test_heads_without_which_the_score_rises_are_not_said_to_cost_less_than_nothing(without, told):
    rows = [
        {"kind": "head", "order": order, "off": off, "share": off / 4, "score": score, "low": score, "high": score}
        for order, scores in (("importance", (0.9, without, 0.5)), ("random", (0.9, 0.85, 0.5)))
        for off, score in zip((0, 2, 4), scores, strict=True)
    ]
    assert told in only(finding("importance", {"curves": pd.DataFrame(rows)}, [])).text


@pytest.mark.parametrize(
    ("change", "told"), [(0.0, "do equally well on every row."), (-0.005, "the score changes by −0.5")]
)
def test_rows_of_several_answers_may_change_without_becoming_right_as_a_whole(change, told):
    measures = pd.DataFrame({"measure": ["rows", "score"], "p": [1.0, 0.5]})
    numbers = [Number("fixed", 0.0, n=60), Number("broken", 0.0, n=60), Number("change", change, -0.02, 0.01, 60)]
    found = finding("versus", {"differences": measures}, numbers)
    models = {TUNED.id: TUNED, RANDOM.id: RANDOM}
    sentence = versus.sentence(replace(found.result, models=models)).sentence
    assert told in sentence and (change == 0) is ("equally" in sentence)
