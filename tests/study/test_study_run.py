"""`bertscope study`: what it runs, says and deletes."""

from __future__ import annotations

import json
import re
import shutil

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

import bertscope
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.study.file import read_study
from bertscope.study.garbage import delete_unneeded, unneeded
from bertscope.study.step_states import states
from bertscope.study.step_words import short
from bertscope.study.times import Times
from toy import write_reviews

STUDY = """\
title: Two questions
model: ./tiny
tasks: reviews.csv
training: {epochs: 1}
questions:
  - scratch: {patterns: false}
  - patterns: {repeats: 100}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, _tiny):
    """A folder with a model, data and a study."""
    folder = tmp_path_factory.mktemp("study")
    _tiny.save(folder / "tiny")
    write_reviews(folder / "reviews.csv", 60)
    (folder / "mine.yaml").write_text(STUDY)
    return folder


@pytest.fixture(scope="module")
def answered(folder, tmp_path_factory):
    """A store with the study's answers."""
    store = tmp_path_factory.mktemp("answered")
    assert not bertscope.run_study(folder / "mine.yaml", store=store, sets=_here(folder)).failed
    return store


def _here(folder) -> list[str]:
    return [f"model={folder / 'tiny'}", f"tasks={folder / 'reviews.csv'}"]


@pytest.fixture
def stored(answered, tmp_path) -> Store:
    """The study's answers where `run` runs: a step is known by what it rests on, not by where that is."""
    return Store(shutil.copytree(answered, tmp_path / "bertscope-store"))


@pytest.fixture
def run(command, tmp_path, folder):
    """A command in a copy of the folder."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return command


def test_a_study_from_nothing_to_a_page_and_back(run, tmp_path):
    code, out, _ = run("study", "run", "mine.yaml", "--dry-run")
    assert code == 0 and "8 steps, 0 stored; how long the others take is unknown" in out
    assert out.count("unknown  ") == 8 and not (tmp_path / "bertscope-store").exists()
    code, out, _ = run("study", "status", "mine.yaml")
    assert code == 0 and "8 steps: 8 waiting" in out

    code, _, err = run("study", "run", "mine.yaml")
    assert code == 0 and "8 steps made, 0 were stored" in err
    page = tmp_path / "mine-report.html"
    assert "<title>Two questions" in page.read_text(encoding="utf-8")
    assert '<section id="ledger"' in page.read_text(encoding="utf-8")
    code, out, _ = run("study", "run", "mine.yaml", "--dry-run")
    assert "8 steps, 8 stored: nothing to compute" in out
    assert "8 steps: 8 done" in run("study", "status", "mine.yaml")[1]

    written = page.stat().st_mtime_ns
    code, _, err = run("study", "run", "mine.yaml")
    assert code == 0 and "0 steps made" in err and page.stat().st_mtime_ns == written
    page.unlink()
    assert run("study", "run", "mine.yaml", "--out", page)[0] == 0 and page.exists()

    code, out, _ = run("study", "run", "mine.yaml", "--set", "questions.patterns.seed=1", "--dry-run")
    assert (
        "8 steps, 6 stored; about" in out and "one after the other" in out and "2 of the same models and data" in out
    )
    code, out, _ = run(
        "study",
        "run",
        "mine.yaml",
        "--set",
        "training.epochs=2",
        "--set",
        "questions=[{scratch: {patterns: false}}]",
        "--dry-run",
    )
    assert "7 steps, 1 stored" in out and "5 of the same models and data" in out


def test_the_page_shows_the_study_and_not_the_rest_of_the_store(run, tmp_path):
    run("patterns", "tiny", "--on", "reviews.csv", "--repeats", "100", "--weighted")
    run("study", "run", "mine.yaml", "--set", "questions=[finetune]", "--out", "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Train an encoder on a task" in text and "What shape is each head" not in text


def test_the_page_is_of_the_study_that_was_run_last(run, stored, tmp_path):
    """Also where every step of it was stored: by its steps and its title a page is known."""
    page, less = tmp_path / "page.html", ["--set", "questions=[{patterns: {repeats: 100}}]"]
    pretraining = "What does pretraining give?"
    for more, title, shown in (
        ([], "Two questions", True), (less, "Two questions", False), ([], "Two questions", True),
        (["--set", "title=Other"], "Other", True), (less, "Two questions", False),
    ):  # fmt: skip
        code, _, err = run("study", "run", "mine.yaml", "--out", page, *more)
        text = page.read_text(encoding="utf-8")
        assert code == 0 and f"<title>{title}</title>" in text and (pretraining in text) == shown
    assert "0 steps made" in err, "the last round had nothing to compute"
    assert '<meta name="shows"' in text[:4096]


def test_what_nobody_reads_any_more_is_not_needed(run, stored):
    study = read_study("mine.yaml")
    tuned = study.steps[0].inputs["tuned.0"]
    stored.delete(stored.path(tuned))
    code, out, _ = run("study", "run", "mine.yaml", "--dry-run")
    assert code == 0 and f"not needed  {short(tuned)}" in out
    assert "8 steps, 7 stored, 1 not needed: nothing to compute" in out
    assert "8 steps: 7 done, 1 not needed" in run("study", "status", "mine.yaml")[1]
    assert "0 steps made" in run("study", "run", "mine.yaml")[2] and not stored.has(tuned)
    stored.delete(stored.path(study.steps[1]))  # patterns: it reads the tuned model
    assert "8 steps, 6 stored; about" in run("study", "run", "mine.yaml", "--dry-run")[1]
    assert "8 steps: 6 done, 2 waiting" in run("study", "status", "mine.yaml")[1]


def test_a_step_that_fails_takes_only_its_own_along(run, tmp_path, monkeypatch):
    from bertscope.training import kinds

    whole = kinds.with_classifier

    def broken(*args, init="pretrained", **kwargs):
        if init == "random":
            raise ValueError("no dice")
        return whole(*args, init=init, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(kinds, "with_classifier", broken)
        code, _, err = run("study", "run", "mine.yaml")
    assert code == 3 and "4 steps made, 0 were stored, 2 failed, 2 need what failed" in err
    code, out, _ = run("study", "status", "mine.yaml")
    assert code == 0 and re.search(r"failed   finetune-.*init=random: .*no dice", out)
    assert "8 steps: 4 done, 2 failed, 2 waiting" in out
    code, _, err = run("study", "run", "mine.yaml")
    assert code == 0 and "4 steps made, 4 were stored" in err
    assert "8 steps: 8 done" in run("study", "status", "mine.yaml")[1]


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
    made = [one for one in stored.finished() if one.step.name == "finetune"]
    for seconds, one in zip((1, 2, 3, 19, 20), made, strict=True):
        marker = one.folder / "result" / "result.json"
        said = json.loads(marker.read_text())
        marker.write_text(json.dumps(said | {"provenance": said["provenance"] | {"seconds": seconds}}))
    asked = {
        "same": read_study("mine.yaml", ["questions=[finetune]", "seeds=7"]),
        "model": read_study("mine.yaml", ["questions=[finetune]", "tasks=demo/sentiment"]),
        "other": read_study("mine.yaml", ["questions=[finetune]", "model=pocket"]),
        "none": read_study("mine.yaml", ["questions=[ablate]"]),
    }
    times = Times.of_store(stored)
    for name, like in (("same", "same models and data"), ("model", "same models"), ("other", "other models")):
        found = times.guess(asked[name].steps[0])
        assert found.seconds == 3 and like in found.like
    assert not {step.name for step in asked["none"].steps if times.guess(step)} - {"claims"}


def test_a_new_store_knows_how_long_our_demo_took(folder):
    """Of every question that it asks, so that the first plan has an estimate; of other models and data nothing."""
    steps, times = graph(read_study("demo").steps), Times()
    found = {name: times.guess(step) for name, step in steps.items()}
    assert {one.like for one in found.values()} == {"of the demo, on another machine"}
    assert times.left(steps.values()) == sum(one.seconds for one in found.values()) > 60
    times.add(next(step for step in steps.values() if step.name == "ablate"), 7.0)
    again = next(step for step in read_study("demo", ["data_seed=1"]).steps if step.name == "ablate")
    assert times.guess(again).seconds == 7, "what this machine took counts more"
    own = read_study("demo", ["questions=[patterns]", f"tasks={folder / 'reviews.csv'}"])
    assert not any(times.guess(step) for step in own.steps)


def test_a_plan_says_whose_times_it_has(command):
    code, out, _ = command("study", "run", "demo", "--dry-run", "--set", "questions=[patterns]", "--set", "limit=4")
    assert code == 0 and out.splitlines()[-1].endswith(
        "median of steps of its question: 3 of the demo, on another machine"
    )


def test_show_and_list(run):
    code, out, _ = run("study", "list")
    assert code == 0 and out.splitlines()[0].startswith("course-project  ") and "dark-secrets" in out
    code, out, _ = run("study", "show", "mine.yaml", "--set", "seeds=[3]")
    assert code == 0 and "seeds: [3]" in out and "training: {epochs: 1}" in out
    lines = out.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("scratch-"))
    assert lines[at + 1].startswith("  finetune-") and "tiny on reviews.csv; epochs=1 seed=3" in lines[at + 1]
    assert lines[-2].startswith("patterns-") and "(uses 1 of the above)" in lines[-2]


def test_mistakes_are_one_line_and_exit_code_2(run, tmp_path):
    (tmp_path / "bad.yaml").write_text(STUDY.replace("scratch", "scrach"))
    (tmp_path / "taken.html").write_text("mine")
    for words, said in (
        (["run", "bad.yaml"], "bad.yaml, line 6: no question 'scrach'; did you mean 'scratch'?"),
        (["run", "nowhere"], "no study 'nowhere'"),
        (["run", "mine.yaml", "--set", "modle=x"], "--set modle: unknown key"),
        (["run", "mine.yaml", "--out", "taken.html"], "not a page of bertscope"),
        (["runn", "mine.yaml"], "run"),
        (["status", "bad.yaml"], "line 6"),
        (["show", "bad.yaml"], "line 6"),
        (["gc", "bad.yaml"], "line 6"),
    ):
        code, _, err = run("study", *words)
        assert code == 2 and len(err.splitlines()) == 1 and said in err, err
    assert not (tmp_path / "bertscope-store").exists()


def test_from_python(run, tmp_path):
    pages = []
    outcome = bertscope.run_study("mine.yaml", store=tmp_path / "here", sets=["questions=[finetune]"],
                                  page=lambda: pages.append(1))  # fmt: skip
    assert len(outcome.done) == 1 and not outcome.failed and outcome.exit_code == 0 and pages
    again = bertscope.run_study(bertscope.read_study("mine.yaml", ["questions=[finetune]"]), store=Store("here"))
    assert not again.done and list(again.stored) == list(outcome.done)
