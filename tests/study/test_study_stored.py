"""A study and what is stored: what nobody needs any more, and how long the rest will take."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

import bertscope
from bertscope.core import seal
from bertscope.core.result import Result
from bertscope.core.step import graph
from bertscope.study.file import read_study
from bertscope.study.garbage import delete_unneeded, unneeded
from bertscope.study.step_states import states
from bertscope.study.times import Times
from device import draws_pages
from short_study import STUDY


@pytest.mark.slow
@draws_pages
def test_gc_deletes_what_no_named_study_needs(run, stored, tmp_path):
    (tmp_path / "less.yaml").write_text(STUDY.replace("  - patterns: {repeats: 100}\n", ""))
    steps = tmp_path / "bertscope-store" / "steps"
    before = {path.name for path in steps.iterdir()}
    code, out, _ = run("study", "gc", "less.yaml")
    assert code == 0 and "steps/patterns-" in out and "not needed: 2 folders" in out and "--yes" in out
    assert {path.name for path in steps.iterdir()} == before
    assert "not needed: 0 folders" in run("study", "gc", "less.yaml", "mine.yaml")[1]
    code, out, _ = run("study", "gc", "less.yaml", "--yes")
    assert code == 0 and "deleted: 2 folders" in out
    assert {name.partition("-")[0] for name in before - {path.name for path in steps.iterdir()}} == {
        "patterns",
        "claims",
    }
    assert not list((tmp_path / "bertscope-store" / "work").iterdir())
    code, _, err = run("study", "gc", "--yes")
    assert code == 2 and "name the studies" in err
    assert "2 steps made" in run("study", "run", "mine.yaml")[2], "what was deleted can be made again"


def test_a_ledger_is_kept_as_long_as_what_it_rests_on(run, stored, tmp_path):
    (tmp_path / "less.yaml").write_text(STUDY.replace("  - patterns: {repeats: 100}\n", ""))
    run("study", "run", "mine.yaml")
    assert list((tmp_path / "bertscope-store" / "steps").glob("claims-*"))
    assert "not needed: 0 folders" in run("study", "gc", "mine.yaml")[1]
    out = run("study", "gc", "less.yaml")[1]
    assert "not needed: 2 folders" in out and "steps/patterns-" in out and "steps/claims-" in out


def test_gc_leaves_everything_while_another_studys_step_is_running(run, stored):
    from filelock import FileLock

    store, study = stored, read_study("mine.yaml", ["questions=[finetune]", "training.epochs=2"])
    other = next(step for step in read_study("mine.yaml").steps if step.name == "patterns")
    waste = unneeded(store, [study])
    assert {one.folder.name.partition("-")[0] for one in waste} == {
        "finetune",
        "untuned",
        "scratch",
        "patterns",
        "claims",
    }
    assert sum(one.size for one in waste) > 10_000 and waste[0].size == max(one.size for one in waste)
    with FileLock(store.folder / "locks" / f"{other.id}.lock"):
        with pytest.raises(bertscope.UserError, match=f"{other.id} is running"):
            delete_unneeded(store, [study])
        assert store.has(other)
        shutil.rmtree(store.path(other))
        assert states([other], store)[other.id] == "running"
    assert states([other], store)[other.id] == "waiting"
    delete_unneeded(store, [study])
    assert not list((store.folder / "steps").iterdir())


def test_estimates_prefer_what_is_most_alike(run, stored):
    """The seconds are written by hand: the median of the same model and data, else of the model, else of any."""
    bertscope.run_study("mine.yaml", store=stored, sets=["questions=[finetune]", "seeds=1"])
    trainings = [one for one in stored.finished() if one.step.name == "finetune"]
    for seconds, one in zip((1, 2, 3, 19, 20), trainings, strict=True):
        result = Result.load(one.folder)
        result.provenance["seconds"] = seconds
        result.save(one.folder / "result")
        seal.write(one.folder, one.step.id)
    studies = {
        "same": read_study("mine.yaml", ["questions=[finetune]", "seeds=7"]),
        "model": read_study("mine.yaml", ["questions=[finetune]", "tasks=demo/sentiment"]),
        "other": read_study("mine.yaml", ["questions=[finetune]", "model=pocket"]),
        "none": read_study("mine.yaml", ["questions=[ablate]"]),
    }
    times = Times.of_store(stored)
    for name, like in (("same", "same_models_and_data"), ("model", "same_models"), ("other", "other_models")):
        found = times.guess(studies[name].steps[0])
        assert found.seconds == 3 and found.like == like
    assert not {step.name for step in studies["none"].steps if times.guess(step)} - {"claims"}


def test_a_new_store_knows_how_long_our_demo_took(folder):
    """Of every question that it asks, so that the first plan has an estimate; of other models and data nothing."""
    steps, times = graph(read_study("demo").steps), Times()
    found = {name: times.guess(step) for name, step in steps.items()}
    assert {one.like for one in found.values()} == {"demo"}
    assert times.left(steps.values()) == sum(one.seconds for one in found.values()) > 60
    times.add(next(step for step in steps.values() if step.name == "ablate"), 7.0)
    again = next(step for step in read_study("demo", ["data_seed=1"]).steps if step.name == "ablate")
    assert times.guess(again).seconds == 7, "what this machine took counts more"
    own = read_study("demo", ["questions=[patterns]", f"tasks={folder / 'reviews.csv'}"])
    assert not any(times.guess(step) for step in own.steps)


def test_longer_trainings_than_the_demos_are_foretold_to_take_longer():
    seconds = []
    for recipe in ("pocket", "auto"):
        steps = graph(read_study("demo", ["questions=[ablate]", f"training.recipe={recipe}"]).steps).values()
        seconds.append({step.name: Times().guess(step).seconds for step in steps})
    short, long = seconds
    assert long == {**short, "finetune": 2 * short["finetune"]}


def test_a_plan_says_whose_times_it_has(command):
    code, out, _ = command("study", "run", "demo", "--dry-run", "--set", "questions=[patterns]", "--set", "limit=4")
    assert code == 0 and out.splitlines()[-1].endswith(
        "median of steps of its question: 3 of the demo, on another machine"
    )
