"""A page of many tasks: what answers are made of is folded, and words, verdicts and counts follow the switch."""
# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from stored_steps import put_step

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("playwright")

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.core.store import Store
from bertscope.report.build import build_report, stored_findings
from bertscope.report.subjects import parts
from bertscope.study.ledger import refresh
from browsing import NEEDS_CHROMIUM, browser, open_folds, visit  # noqa: F401
from planted_page import heads, id_of, models
from planted_trainings import truncate

TASKS = ("cola", "mnli", "rte", "sst2")
EFFECTS = (-0.2, 0.0, 0.05, 0.1)  # of removing the top layer: one clear loss, three that can't be one
MODEL = Root("model", "pocket", id_of("pocket"))


def save(store: Path, step: Step, result: Result) -> Step:
    result.provenance = {"created": "2026-11-15T10:00:00+00:00"}
    put_step(store, step, result)
    return step


def training(store: Path, task: str, seed: int) -> Step:
    step = Step("finetune", 2, {"seed": seed}, {"base": MODEL, "task": Root("task", f"glue/{task}", task * 2)})
    about = {"task": f"glue/{task}", "seed": str(seed)}
    number = Number("after", 0.8, 0.78, 0.82, 400, "accuracy")
    return save(store, step, Result("finetune", 2, {"t": heads()}, headline=[number], models=models(), subject=about))


def removal(store: Path, task: str, effect: float, trainings: int = 2) -> Step:
    """An experiment, made of trainings."""
    (result,) = truncate(effect, 0.001)
    result.models, result.subject = models(), {"task": f"glue/{task}"}
    inputs = {f"tuned.{seed}": training(store, task, seed) for seed in range(trainings)}
    return save(store, Step("truncate", result.version, {}, {"base": MODEL, **inputs}), result)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("store")
    for task, effect in zip(TASKS, EFFECTS, strict=True):
        removal(store, task, effect)
    refresh(Store(store))
    return build_report(store, store / "page.html")


# What answers are made of


def test_what_answers_are_made_of_is_folded_where_it_is_much(page_file):
    page = page_file.read_text(encoding="utf-8")
    glance = page.split('<section id="glance"')[1].split("</section>")[0]
    section = page.split('<section id="question-finetune"')[1].split("</section>")[0]
    contents = page.split("<nav")[1].split("</nav>")[0]
    assert "seed 1" not in glance + contents and glance.count("data-models") == len(TASKS)
    assert '<span class="times">8</span> results that other answers are made of' in section
    assert section.count('<details class="part"') == section.count("<article") == 8
    folded = section.split('<details class="parts"')[0]
    assert "<article" not in folded
    assert '<dd>4 <span class="unit">of 13 steps</span></dd>' in page  # with the ledger


def test_few_parts_stand_among_the_answers(tmp_path):
    removal(tmp_path, "rte", 0.1, trainings=3)
    page = build_report(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'class="parts"' not in page and "seed 1" in page.split('<section id="glance"')[1].split("</section>")[0]


def test_an_experiment_that_another_reads_is_no_part(tmp_path):
    inputs = {f"lottery.{task}": removal(tmp_path, task, 0.1) for task in (*TASKS, "qqp")}
    table = pd.DataFrame({"x": [1]})
    save(tmp_path, Step("overlap", 1, {}, inputs), Result("overlap", 1, {"t": table}, models=models()))
    found = parts(stored_findings(tmp_path))
    assert len(found) == 10 and {name.partition("-")[0] for name in found} == {"finetune"}


# In words, and the ledger


def test_several_results_are_told_by_their_ends_and_each_by_its_task(page_file):
    page = page_file.read_text(encoding="utf-8")
    words = page.split('<section id="summary"')[1].split("</section>")[0]
    text = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", words))
    assert "goes from −20.0 points (glue/cola) to 10.0 points (glue/sst2)" in text
    assert text.count("Without its top layer") == len(TASKS)


def test_results_of_a_sweep_are_told_by_their_setting(tmp_path):
    for threshold, effect in ((0.8, -0.2), (0.9, 0.1)):
        (result,) = truncate(effect, 0.001)
        result.models, result.subject = models(), {"task": "glue/rte"}
        save(tmp_path, Step("truncate", result.version, {"threshold": threshold}, {"base": MODEL}), result)
    refresh(Store(tmp_path))
    page = build_report(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    about = "pocket on glue/rte, threshold"
    assert f"goes from −20.0 points ({about} 0.8) to 10.0 points ({about} 0.9)" in re.sub(r"\s+", " ", page)


def test_readings_of_a_claim_share_an_axis(page_file):
    page = page_file.read_text(encoding="utf-8")
    ledger = page.split('<section id="ledger"')[1].split("</section>")[0]
    claim = ledger.split("Removing the top layer costs nothing.")[1].split("</details>")[0]
    rows = re.findall(r'<svg class="scale" role="img".*?</svg>', claim, re.DOTALL)
    bounds = {re.search(r'class="bound" x1="([\d.]+)%', row)[1] for row in rows}
    places = [float(re.search(r'cx="([\d.]+)%', row)[1]) for row in rows]
    assert len(rows) == len(TASKS) and len(bounds) == 1 and places == sorted(places)
    ratio = (places[1] - places[0]) / (places[2] - places[1])
    assert ratio == pytest.approx((EFFECTS[1] - EFFECTS[0]) / (EFFECTS[2] - EFFECTS[1]), rel=0.01)


@NEEDS_CHROMIUM
def test_words_and_verdicts_follow_the_switch(visit):
    page = visit()
    open_folds(page)
    words, ledger = page.locator("#summary"), page.locator("#ledger")
    claim = ledger.locator(".many", has_text="Removing the top layer costs nothing")
    assert "Over 4 results" in words.inner_text() and "Without its top layer" not in words.inner_text()
    assert claim.locator(".verdicts").inner_text().split() == ["✓", "holds", "3", "✗", "fails", "1"]
    page.get_by_label("Task").select_option("glue/cola")
    assert "Over 4 results" not in words.inner_text()
    assert words.locator("li li:visible").all_inner_texts() == [
        "glue/cola Without its top layer and trained again, the model's score changes by −20.0 (−20.1 to −19.9) "
        "points (5 seeds). truncate"
    ]
    shown = claim.locator(".verdicts > :not([hidden])").all_text_contents()
    assert [each.split() for each in shown] == [["✗", "fails", "1"]]
    assert claim.locator(".readings li:visible").count() == 1 == claim.locator("g:not([hidden])").count()
    assert page.locator("details.parts .times").inner_text() == "2"
    page.get_by_label("Task").select_option("")
    assert "Over 4 results" in words.inner_text() and claim.locator(".readings li:visible").count() == 0
    assert page.locator("details.parts .times").inner_text() == "8"


@NEEDS_CHROMIUM
def test_an_address_inside_a_fold_opens_it(visit):
    page = visit()
    step = page.locator(".part article").first.get_attribute("id")
    page = visit(at=f"#{step}")
    page.locator(f"[id='{step}']").wait_for(state="visible")
    assert page.locator(".part article:visible").count() == 1


@NEEDS_CHROMIUM
def test_the_card_folds_what_answers_are_made_of(visit):
    page = visit(at="#head-1.2")
    fold = page.locator("#head-card .behind")
    fold.locator("section").first.wait_for()  # open, for nothing else speaks of the head
    assert fold.locator("summary").inner_text() == "8 results that others are made of"
    assert fold.locator("section").count() == 8
