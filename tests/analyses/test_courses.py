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
SEEDS = np.array([[0.5, 0.6, 0.9], [0.5, 0.8, 0.8], [0.4, 0.5, 0.7]])
"""[training, step]"""


def one(values, **more):
    return course([answer(place, number("score", value), **more) for place, value in enumerate(values)])


def test_means_and_changes_are_those_of_the_trainings():
    found = courses([one(values) for values in SEEDS], names=("a", "b", "c"))
    means = found.tables["means"]
    assert means["step"].tolist() == [*STEPS] and means["mean"].tolist() == pytest.approx(SEEDS.mean(0))
    low, high = stats.t.interval(0.95, 2, SEEDS.mean(0), SEEDS.std(0, ddof=1) / 3**0.5)
    assert means["low"].to_numpy() == pytest.approx(low) and means["high"].to_numpy() == pytest.approx(high)
    (row,) = found.tables["changes"].itertuples()
    change = SEEDS[:, 2] - SEEDS[:, 0]
    ends = stats.t.interval(0.95, 2, change.mean(), stats.sem(change))
    assert (row.change, row.low, row.high) == pytest.approx((change.mean(), *ends)) and row.certain
    assert (row.told, row.earliest, row.latest) == (3, 10, 20), "the second is there at step 10"
    lines = found.tables["lines"]
    assert lines[lines["training"] == "b"]["value"].tolist() == SEEDS[1].tolist()
    told = found["final_change"]
    assert (told.value, told.n, told.of) == (pytest.approx(change.mean()), 3, {"line": "score"})
    assert found.subject["trainings"] == "3" and found.subject["question"] == "errors"
    assert "of 3 trainings, 1 of 1 numbers of errors changed for certain" in courses.sentence(found).sentence
    (follows,) = courses.consequences(found)
    assert "moves score up whatever the seed" in follows.text and not follows.is_open


def test_what_trainings_dont_share_is_open():
    """Certain in each by its texts, and in no one direction over trainings."""
    found = courses([one(values) for values in ([0.5, 0.5, 0.9], [0.5, 0.5, 0.2], [0.5, 0.5, 0.7])])
    assert not found.tables["changes"]["certain"].any() and found["certain"].value == 0
    (follows,) = courses.consequences(found)
    assert follows.is_open and "is open over 3 trainings" in follows.text


def test_where_nothing_changes_one_in_twenty_is_certain():
    """Trainings whose ends differ by chance alone."""
    luck = np.random.default_rng(0).normal(0.5, 0.1, (400, 4, 2))
    claimed = 0
    for some in luck:
        _, low, high = over_trainings(some[:, 1] - some[:, 0])
        claimed += low > 0 or high < 0
    assert 0.025 < claimed / 400 < 0.08


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
