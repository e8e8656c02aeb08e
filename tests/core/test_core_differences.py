"""Results that say the same of themselves are told apart by what made them."""

from __future__ import annotations

from bertscope.core.differences import differences
from bertscope.core.step import Root, Step

MODEL, TASK = Root("model", "pocket", "aaaaaaaaaa"), Root("task", "reviews.csv", "bbbbbbbbbb", {"limit": 30})
SUBJECT = (["0011aabb"], {"task": "reviews"})


def prune(version: int = 1, task: Root = TASK, **config: object) -> Step:
    return Step("prune", version, {"method": "s", "threshold": 0.9, "units": ["head", "mlp"]} | config,
                {"model": MODEL, "task": task})  # fmt: skip


def test_only_what_differs_is_said():
    steps = [prune(), prune(threshold=0.8), prune(method="m")]
    assert differences(steps, [SUBJECT] * 3) == ["method s, threshold 0.9", "method s, threshold 0.8",
                                                 "method m, threshold 0.9"]  # fmt: skip
    assert differences([prune(), prune(units=[])], [SUBJECT] * 2) == ["units head,mlp", "units none"]
    assert differences([prune(), prune(version=2)], [SUBJECT] * 2) == ["version 1", "version 2"]


def test_subjects_and_questions_tell_enough():
    other = Step("ablate", 1, {"mode": "zero"}, {"model": MODEL, "task": TASK})
    assert differences([prune(), other], [SUBJECT] * 2) == ["", ""]
    steps, (models, subject) = [prune(), prune(threshold=0.8)], SUBJECT
    assert differences(steps, [SUBJECT, (models, subject | {"seed": "1"})]) == ["", ""]
    assert differences(steps, [SUBJECT, (["2233ccdd"], subject)]) == ["", ""], "its name tells it from the other"


def test_how_data_is_read_and_what_it_holds():
    whole, changed = (
        Root("task", "reviews.csv", "bbbbbbbbbb"),
        Root("task", "reviews.csv", "cccccccccc", TASK.options),
    )
    assert differences([prune(), prune(task=whole)], [SUBJECT] * 2) == ["limit 30", "limit none"]
    assert differences([prune(), prune(task=changed)], [SUBJECT] * 2) == ["task bbbbbbbb", "task cccccccc"]


def test_what_they_rest_on_where_they_are_the_same_themselves():
    tuned = [
        Step("finetune", 1, {"frozen": frozen, "seed": seed}, {"base": MODEL, "task": TASK})
        for frozen, seed in (("", 0), ("1-2", 0), ("1-2", 1))
    ]
    kept = [Step("states", 1, {"pool": pool}, {"model": one}) for pool in ("word", "cls") for one in tuned]
    found = differences(kept, [SUBJECT] * 6)
    assert found[0] == "pool word, frozen none, seed 0" and found[5] == "pool cls, frozen 1-2, seed 1"
    assert len(set(found)) == 6
    both = Step("scratch", 1, {}, {"tuned.0": tuned[0], "tuned.1": tuned[2]})
    assert differences([both, Step("scratch", 1, {}, {"tuned.0": tuned[0]})], [SUBJECT] * 2) == [
        "frozen none+1-2, seed 0+1", "frozen none, seed 0"
    ]  # fmt: skip
