"""`courses`: several trainings side by side, against means and intervals worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bertscope.analyses.courses.measure import over_trainings
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.registry import find
from bertscope.core.store import Store
from bertscope.study.runner import run_steps
from checkpoints import drifting, keep, moved
from made_up_answers import answer, number

course, courses = find("course"), find("courses")
STEPS = (0, 10, 20)
SEEDS = np.array([[0.5, 0.6, 0.9], [0.5, 0.8, 0.8], [0.4, 0.5, 0.7], [0.4, 0.6, 0.9], [0.6, 0.7, 0.9]])
"""[training, step]"""


def one(values, **more):
    return course([answer(place, number("score", value), **more) for place, value in enumerate(values)])


def test_means_and_changes_are_those_of_the_trainings():
    found = courses([one(values) for values in SEEDS], names=tuple("abcde"))
    means = found.tables["means"]
    assert means["step"].tolist() == [*STEPS] and means["mean"].tolist() == pytest.approx(SEEDS.mean(0))
    low, high = stats.t.interval(0.95, 4, SEEDS.mean(0), SEEDS.std(0, ddof=1) / 5**0.5)
    assert means["low"].to_numpy() == pytest.approx(low) and means["high"].to_numpy() == pytest.approx(high)
    (row,) = found.tables["changes"].itertuples()
    change = SEEDS[:, 2] - SEEDS[:, 0]
    ends = stats.t.interval(0.95, 4, change.mean(), stats.sem(change))
    assert (row.change, row.low, row.high) == pytest.approx((change.mean(), *ends)) and row.certain
    assert (row.told, row.earliest, row.latest) == (5, 10, 20), "the second is there at step 10"
    lines = found.tables["lines"]
    assert lines[lines["training"] == "b"]["value"].tolist() == SEEDS[1].tolist()
    told = found["final_change"]
    assert (told.value, told.n, told.of) == (pytest.approx(change.mean()), 5, {"line": "score"})
    assert found.subject["trainings"] == "5" and found.subject["question"] == "errors"
    assert "of 5 trainings, 1 of 1 numbers of errors changed for certain" in courses.sentence(found).sentence
    (follows,) = courses.consequences(found)
    assert "moves score up whatever the seed" in follows.text and not follows.is_open


def test_what_trainings_dont_share_is_open():
    """Certain in each by its texts, and in no one direction over trainings."""
    ends = (0.9, 0.2, 0.7, 0.3, 0.5)
    found = courses([one([0.5, 0.5, end]) for end in ends])
    assert not found.tables["changes"]["certain"].any() and found["certain"].value == 0
    (follows,) = courses.consequences(found)
    assert follows.is_open and "is open over 5 trainings" in follows.text


@pytest.mark.parametrize("trainings", [2, 3, 4])
def test_fewer_than_five_are_points_and_nothing_is_certain(trainings):
    found = courses([one(values) for values in SEEDS[:trainings]])
    for table in ("means", "changes"):
        assert found.tables[table][["low", "high"]].isna().all(axis=None)
    assert not found.tables["changes"]["certain"].any()
    assert (found["certain"].value, found["certain"].n) == (0, 0)
    assert found.tables["means"]["mean"].tolist() == pytest.approx(SEEDS[:trainings].mean(0))
    told = found["final_change"]
    assert told.value == pytest.approx((SEEDS[:trainings, 2] - SEEDS[:trainings, 0]).mean())
    assert (told.low, told.high) == (None, None)
    assert any(f"{trainings} trainings are too few for an interval" in note for note in found.notes)
    assert "no number of errors is tested for a change" in courses.sentence(found).sentence
    (follows,) = courses.consequences(found)
    assert follows.is_open and f"{trainings} trainings are too few to say" in follows.text


def test_trainings_that_are_all_alike_dont_say_how_unlike_another_would_be():
    levels = np.linspace(0.1, 0.5, 5)
    found = courses([one([level, level + 0.1, level + 0.3]) for level in levels])
    (row,) = found.tables["changes"].itertuples()
    assert row.change == pytest.approx(0.3) and np.isnan([row.low, row.high]).all() and not row.certain
    assert any("changed by the same in all 5 trainings" in note and "score" in note for note in found.notes)
    (follows,) = courses.consequences(found)
    assert follows.is_open and "changed it by the same" in follows.text


def test_what_begins_with_the_model_itself_is_an_effect_size():
    """Every training has a divergence from its first checkpoint: that is no finding."""
    lines = [[level / 2, level] for level in (0.1, 0.12, 0.11, 0.13, 0.09)]
    answers = [
        [answer(at, number("divergence", value), question="change") for at, value in enumerate(line, 1)]
        for line in lines
    ]
    found = courses([course(some, steps=STEPS) for some in answers])
    (row,) = found.tables["changes"].itertuples()
    assert row.low > 0 and row.known_end and not row.certain and row.told == 5
    assert (found["certain"].value, found["certain"].n) == (0, 0)
    assert (found["final_change"].value, found["final_change"].low) == (row.change, row.low)
    (follows,) = courses.consequences(found)
    assert "takes divergence from 0.000 to 0.110, on average over 5 trainings: by +0.110 [" in follows.text
    old = course(answers[0], steps=STEPS)
    old.tables["onsets"] = old.tables["onsets"].drop(columns="known_end")
    with pytest.raises(UserError, match="ask them again"):
        courses([old, old])


def claims(changes: np.ndarray) -> int:
    ends = np.array([over_trainings(some)[1:] for some in changes])
    return int(((ends[:, 0] > 0) | (ends[:, 1] < 0)).sum())


def test_where_nothing_changes_one_in_twenty_is_certain():
    """Trainings whose ends differ by chance alone."""
    luck = np.random.default_rng(0).normal(0.5, 0.1, (400, 5, 2))
    assert 0.025 < claims(luck[..., 1] - luck[..., 0]) / 400 < 0.08


@pytest.mark.parametrize(("trainings", "least", "most"), [(2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0.02, 0.06)])
def test_where_few_texts_change_sides_alike_changes_are_no_finding(trainings, least, most):
    """Accuracy on 50 texts, of which each training turns two or so to right or to wrong, by chance: two trainings
    have exactly the same change in one of nine cases, and were then certain of it."""
    generator, runs = np.random.default_rng(0), 1000
    turned = generator.binomial(50, 0.04, (runs, trainings))
    changes = (2 * generator.binomial(turned, 0.5) - turned) / 50
    assert least <= claims(changes) / runs <= most


def test_mistakes():
    good = [one(values) for values in SEEDS]
    short = course([answer(place, number("score", 0.5 + place / 9)) for place in (0, 1, 3)], steps=(0, 10, 30))
    for given, said in (
        ([good[0]], "one training has no spread"),
        ([good[0], short], "checkpoints at other steps"),
        ([good[0], one(SEEDS[0, :2])], "as many checkpoints"),
        ([good[0], answer(1, number("score", 0.4))], "not by answers to errors"),
        ([good[0], one(SEEDS[0], subject={"task": "other"})], "of the same data"),
    ):
        with pytest.raises(UserError, match=said):
            courses(given)
    for names in (["a"], ["a", "a", "b"]):
        with pytest.raises(UserError, match="as many names"):
            courses(good, names=names)


def test_a_pattern_over_trainings_asks_each_as_alone_and_sets_them_side_by_side(tiny, tmp_path, command):
    drifting(tiny, tmp_path / "runs" / "0", steps=(1, 2, 3))
    keep([tiny, moved(tiny, None, 0.2, seed=5), moved(tiny, None, 0.25, seed=5)], tmp_path / "runs" / "1", (1, 2, 3))
    change = find("change")

    def plan(named: str):
        return planned(change, [named], "demo/corpus", change.config(repeats=100), {"limit": 20}, beside={})

    whole = plan(f"{tmp_path}/runs/*/checkpoint-*")
    alone = [plan(f"{tmp_path}/runs/{place}") for place in (0, 1)]
    assert whole.name == "courses" and [step.id for step in whole.before()] == [step.id for step in alone]
    store = Store(tmp_path / "store")
    run_steps([whole], store)
    found = store.result(whole)
    values = [store.result(step).tables["lines"].query("key == 'divergence'")["value"].to_numpy() for step in alone]
    mean = found.tables["means"].query("key == 'divergence'")
    assert mean["mean"].to_numpy() == pytest.approx(np.mean(values, 0)) and set(
        found.tables["lines"]["training"]
    ) == {"0", "1"}
    how = ("--on", "demo/corpus", "--limit", 20, "--repeats", 100, "--store", tmp_path / "store")
    code, out, err = command("change", f"{tmp_path}/runs/*/checkpoint-*", *how)
    assert code == 0 and "trainings" in out, err
    code, _, err = command("forgetting", "pocket", f"{tmp_path}/runs/*/checkpoint-*", "--on", "demo/corpus")
    assert code == 2 and "forgetting is asked of one training at a time" in err
