"""Models on the page: tables hold their ids, readers see names, and no two models share one."""
# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("playwright")

from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report.build import build_report
from bertscope.report.compare import compare_stores
from bertscope.report.export import export_report
from bertscope.report.finding import Finding
from bertscope.report.subjects import PageModels
from browsing import NEEDS_CHROMIUM, browser, draw_all, visit  # noqa: F401
from planted_page import data_of, heads, page_of, put

BASE = ModelRecord("ba5e0000", "minilm", source="/models/minilm", made="2026-11-16T09:00:00+00:00")
NAME = "minilm tuned on tickets"


def tuned(id: str, made: str, name: str = NAME) -> ModelRecord:
    origin = Origin("finetune", BASE, DataRecord("data0000", "tickets", "classification"), 0)
    return ModelRecord(id, name, origin, "classifier", "/models/mine", f"2026-11-16T{made}:00+00:00")


OLD, NEW = tuned("01d00000", "14:02"), tuned("4e300000", "14:31")


def shapes(*models: ModelRecord, **more) -> Result:
    """A table of heads for each model, as `patterns` has it, and numbers of each."""
    table = pd.concat([heads().assign(checkpoint=one.id, entropy=1.0 + place) for place, one in enumerate(models)])
    figures = [
        Figure("heatmap", "heads", "head", "layer", "All", "c", value="entropy", facet="checkpoint", key="all"),
        Figure("heatmap", "heads", "head", "layer", "Of one", "c", value="entropy", key="one",
               where={"checkpoint": models[-1].id}),
    ]  # fmt: skip
    numbers = [Number("share", 0.25, of={"model": one.id}) for one in models]
    return Result("made-up", 1, {"heads": table}, headline=numbers, figures=figures,
                  models={one.id: one for one in models}, subject={"task": "tickets"}, **more)  # fmt: skip


def store_of(folder: Path, *results: Result) -> Path:
    for place, result in enumerate(results):
        put(folder, result, place=place)
    return folder


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = store_of(tmp_path_factory.mktemp("store"), shapes(BASE, OLD), shapes(BASE, NEW))
    return build_report(store, store / "page.html")


def test_readers_see_names_that_tell_models_apart(page_file):
    page = page_file.read_text(encoding="utf-8")
    assert re.findall("<h3><bdi>(.*)</bdi>", page) == [f"minilm and {NAME}, of {time}" for time in ("14:02", "14:31")]
    first, second = (data for data in data_of(page) if data["tables"])  # and what they share
    for data, time in ((first, "14:02"), (second, "14:31")):
        cells = data["tables"]["heads"]["cells"][data["tables"]["heads"]["columns"].index("checkpoint")]
        assert list(dict.fromkeys(cells)) == ["minilm", f"{NAME}, of {time}"]
        assert [figure["where"] for figure in data["figures"]] == [{}, {"checkpoint": f"{NAME}, of {time}"}]
        assert data["figures"][0]["spec"]["facet"]["sort"] == ["minilm", f"{NAME}, of {time}"]
    labels = re.findall(r'<li><span class="name">(.*?)</span>', page)
    assert labels[:2] == ["share, minilm", f"share, {NAME}, of 14:02"]
    assert not re.search(f"{OLD.id}|{NEW.id}", page), "an id is for code"


def test_a_name_that_is_the_only_one_says_nothing_more(tmp_path):
    page = page_of(store_of(tmp_path, shapes(BASE, OLD), shapes(BASE)))
    assert f"<h3><bdi>minilm and {NAME}</bdi>" in page and "14:02" not in page


def test_one_model_read_twice_is_told_apart_in_its_own_result(tmp_path):
    twice = shapes(BASE, BASE)
    twice.models["ba5e0000-2"] = BASE
    assert "<h3><bdi>minilm and minilm (2) on tickets</bdi>" in page_of(store_of(tmp_path, twice))


def test_the_switch_names_what_a_step_began_with_as_results_do():
    task = Root("task", "tickets", "1" * 16)

    def finding(record: ModelRecord, result: Result) -> Finding:
        return Finding(
            Step("patterns", 1, {}, {"models.0": Root("model", record.source, record.id), "task": task}), result
        )

    both = [finding(OLD, shapes(OLD)), finding(NEW, shapes(NEW)), finding(BASE, shapes(OLD))]
    models = PageModels(both)
    assert [models.began(one.step) for one in both] == [[f"{NAME}, of 14:02"], [f"{NAME}, of 14:31"], ["minilm"]]
    drawn = shapes(replace(BASE, name="minilm (random init)"))
    assert PageModels([*both, finding(BASE, drawn)]).began(both[2].step) == ["minilm"], "the plainest of its names"
    elsewhere = [Step("ablate", 1, {}, {"model": Root("model", f"/{place}/mini", place * 8)}) for place in "ab"]
    unknown = PageModels([Finding(step, Result("ablate", 1)) for step in elsewhere])
    assert [unknown.began(step) for step in elsewhere] == [["mini, of aaaaaa"], ["mini, of bbbbbb"]]


def test_files_are_named_and_filled_with_names(tmp_path):
    export_report(store_of(tmp_path / "s", shapes(BASE, OLD), shapes(BASE, NEW)), tmp_path / "out", formats=("svg",))
    tables = sorted((tmp_path / "out").rglob("heads.csv"))
    assert [path.parent.name for path in tables] == [
        f"minilm-and-minilm-tuned-on-tickets-of-{time}" for time in ("14-02", "14-31")
    ]  # fmt: skip
    assert f'"{NAME}, of 14:02"' in tables[0].read_text() and OLD.id not in tables[0].read_text()


# Two stores


def test_models_of_two_stores_are_the_same_by_what_they_hold_or_by_their_place(tmp_path):
    here = store_of(tmp_path / "here", shapes(BASE, OLD), shapes(BASE))
    there = store_of(tmp_path / "there", shapes(BASE, replace(NEW, name="my-run", source="/elsewhere")), shapes(BASE))
    numbers = compare_stores(here, there).tables["numbers"]
    assert len(numbers) == 3 and set(numbers["other_about"]) == {""}, (
        "trained as each other, whatever they are called"
    )
    assert numbers["key"].tolist() == ["share"] * 3
    other = replace(OLD, id="07e40000", origin=replace(OLD.origin, data=DataRecord("data0001", "tickets")))
    apart = compare_stores(
        store_of(tmp_path / "one", shapes(BASE, OLD)), store_of(tmp_path / "two", shapes(BASE, other))
    )
    assert apart.tables["numbers"]["number"].tolist() == ["share, minilm"], "learned from other data, another model"
    assert apart.tables["numbers"]["other_about"].tolist() != [""]


def test_numbers_are_matched_by_key_of_and_unit_not_by_label(tmp_path):
    one, other = shapes(BASE), shapes(BASE)
    one.headline = [Number("score", 0.5, unit="accuracy", of={"arm": arm}, label="called") for arm in ("a", "b")]
    other.headline = [Number("score", 0.75, unit="accuracy", of={"arm": "b"}, label="otherwise"),
                      Number("score", 0.9, unit="f1", of={"arm": "a"}, label="called")]  # fmt: skip
    found = compare_stores(store_of(tmp_path / "one", one), store_of(tmp_path / "two", other)).tables["numbers"]
    assert found["difference"].tolist() == [0.25]


# In the browser


@NEEDS_CHROMIUM
def test_the_switch_tells_both_apart_and_nothing_fails(visit):
    page = visit()
    draw_all(page)
    assert page.locator("article .chart svg").count() == 4 and page.locator(".side-by-side .chart svg").count() == 2
    page = visit(at="#head-1.2")
    card = page.locator("#head-card")
    card.get_by_text(f"{NAME}, of 14:31", exact=True).first.wait_for()
    assert card.get_by_text(f"{NAME}, of 14:02", exact=True).count() >= 1
