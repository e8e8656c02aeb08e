"""`bertscope study`: what it runs and says."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

import bertscope
from bertscope.core.store import Store
from bertscope.study.file import read_study
from bertscope.study.step_words import short
from device import draws_pages
from short_study import STUDY


@draws_pages
def test_a_study_from_nothing_to_a_page_and_back(run, tmp_path):
    code, out, _ = run("study", "run", "mine.yaml", "--dry-run")
    assert code == 0 and "8 steps, 0 stored; how long the others take is unknown" in out
    assert out.count("unknown  ") == 8 and not (tmp_path / "bertscope-store").exists()
    code, out, _ = run("study", "status", "mine.yaml")
    assert code == 0 and "8 steps: 8 waiting" in out

    code, _, err = run("study", "run", "mine.yaml")
    assert code == 0 and "8 steps made, 0 stored before" in err
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


@draws_pages
def test_the_page_shows_the_study_and_not_the_rest_of_the_store(run, tmp_path):
    run("patterns", "tiny", "--on", "reviews.csv", "--repeats", "100", "--weighted")
    run("study", "run", "mine.yaml", "--set", "questions=[finetune]", "--out", "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Train an encoder on a task" in text and "What shape is each head" not in text


@pytest.mark.slow
@draws_pages
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


@draws_pages
def test_a_store_that_may_only_be_read_gives_a_page_of_what_it_has(run, stored, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: "bertscope-store" not in str(path))
    code, _, err = run("study", "run", "mine.yaml", "--out", "page.html")
    assert code == 0 and "0 steps made" in err and (tmp_path / "page.html").exists()
    code, _, err = run("study", "run", "mine.yaml", "--set", "questions.patterns.seed=1")
    assert code == 2 and "permission denied" in err


@draws_pages
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


@draws_pages
def test_a_step_that_fails_takes_only_its_own_along(run, tmp_path, monkeypatch):
    from bertscope.models.outputs import classifier

    whole = classifier.with_classifier

    def broken(*args, init="pretrained", **kwargs):
        if init == "random":
            raise ValueError("no dice")
        return whole(*args, init=init, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(classifier, "with_classifier", broken)
        code, _, err = run("study", "run", "mine.yaml")
    assert code == 3 and "4 steps made, 0 stored before, 2 failed, 2 need what failed" in err
    code, out, _ = run("study", "status", "mine.yaml")
    assert code == 0 and re.search(r"failed   finetune-.*init=random: .*no dice", out)
    assert "8 steps: 4 done, 2 failed, 2 waiting" in out
    code, _, err = run("study", "run", "mine.yaml")
    assert code == 0 and "4 steps made, 4 stored before" in err
    assert "8 steps: 8 done" in run("study", "status", "mine.yaml")[1]


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
