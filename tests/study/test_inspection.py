"""What is going on in a model: which questions are asked in which time, and what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.store import Store
from bertscope.models.config_notes import origin_in, origin_note
from bertscope.models.known_base import found_base
from bertscope.models.load import load
from bertscope.study import inspection
from bertscope.study.inspection import inspect
from device import draws_pages
from toy import fresh, learned, task, write_reviews

QUICK = ("errors", "ablate (layers)", "patterns")


@pytest.fixture(scope="module")
def folder(_pocket, tmp_path_factory):
    encoder = learned(task(labels=("0", "1")), _pocket.tokenizer)
    return str(encoder.save(tmp_path_factory.mktemp("models") / "learned"))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    return str(write_reviews(tmp_path_factory.mktemp("data") / "reviews.csv", 200))


@pytest.fixture
def few(monkeypatch):
    """Only quick questions."""
    monkeypatch.setattr(inspection, "QUESTIONS", tuple(one for one in inspection.QUESTIONS if one.name in QUICK))


def test_it_asks_what_fits_tells_what_follows_and_goes_on_where_it_stopped(folder, reviews, few, tmp_path):
    heard = []
    first = inspect(folder, reviews, minutes=0.0001, store=tmp_path, told=lambda one: heard.append([*one.results]))
    assert [*first.results] == ["check"] and [*first.left] == [*QUICK], "the first look is always had"
    assert any("for want of time" in note for note in first.notes()) and first.enough > 1
    second = inspect(folder, reviews, minutes=5, store=tmp_path, told=lambda one: heard.append([*one.results]))
    assert [*second.results] == ["check", *QUICK] and not second.left and not second.failed
    assert second.results["check"].provenance["created"] == first.results["check"].provenance["created"]
    assert heard[0] == ["check"] and heard[-1] == ["check", *QUICK]
    assert [one.theme for one in second.consequences][:1] == ["works"] and "It works" in repr(second)
    assert all(Store(tmp_path).has(step) for step in second.steps)


def test_the_data_is_named_once():
    assert inspection.Inspection("pocket tuned on reviews", "reviews").about == "pocket tuned on reviews"
    assert inspection.Inspection("pocket tuned on reviews", "views").about == "pocket tuned on reviews on views"
    assert repr(inspection.Inspection("mine", "reviews")).splitlines()[0] == "mine on reviews"


def test_what_is_too_long_of_all_rows_is_asked_of_fewer(folder, reviews, few, tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "_ROWS", (20,))
    slow = inspection.Asked("errors", lambda of: 1e9 if of.rows > 20 else 1.0, {"neighbours": 0})
    monkeypatch.setattr(inspection, "QUESTIONS", (slow,))
    found = inspect(folder, reviews, minutes=5, store=tmp_path)
    assert found.rows == {"errors": 20} and found.results["errors"]["score"].n == 20


def test_a_base_adds_what_training_changed_and_training_needs_leave(folder, reviews, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(inspection._Asking, "_make", lambda self, one, step, seconds: asked.append(one.name))
    inspect(folder, reviews, minutes=60, store=tmp_path)
    assert "graft" not in asked and not any("trained" in name for name in asked)
    asked.clear()
    inspect(folder, reviews, base="pocket", minutes=60, train=True, store=tmp_path)
    assert {"graft", "change", "shrink (trained again)", "truncate"} <= {*asked}


def test_what_cannot_be_asked_is_said_and_the_rest_goes_on(folder, reviews, tmp_path, monkeypatch):
    wrong = inspection.Asked("graft", lambda of: 1.0, {"units": ("layer",)}, ("base", "model"))
    right = inspection.Asked("errors", lambda of: 1.0, {"neighbours": 0})
    monkeypatch.setattr(inspection, "QUESTIONS", (wrong, right))
    found = inspect(folder, reviews, base="pocket", minutes=5, store=tmp_path)  # of another shape
    assert [*found.failed] == ["graft"] and "errors" in found.results
    assert any("can't be asked here" in note for note in found.notes())


def test_what_is_refused_before_it_begins_is_said_too(folder, reviews, tmp_path, monkeypatch):
    """Not taken for something that there was no time for."""
    asked = inspection.Asked("ablate", lambda of: 1.0, {"units": ("head",)})
    monkeypatch.setattr(inspection, "QUESTIONS", (asked,))

    def refuse(*args, **kwargs):
        raise UserError("no such thing here; give another")

    begin = inspection._Asking.begin
    monkeypatch.setattr(
        inspection._Asking, "begin", lambda self: (begin(self), monkeypatch.setattr(inspection, "run_steps", refuse))
    )
    found = inspect(folder, reviews, minutes=5, store=tmp_path)
    assert found.failed == {"ablate": "no such thing here; give another"} and not found.left and not found.rows


@draws_pages
def test_what_to_do_next_is_said_as_the_page_says_it_and_can_be_copied(folder, reviews, few, tmp_path, command):
    found = inspect(folder, reviews, minutes=5, store=tmp_path, label="label", seed=3)
    assert found.next() == f"bertscope shrink {folder} --on {reviews} --label label --data-seed 3"
    held = inspect(load(folder), reviews, minutes=5, store=tmp_path)
    assert held.next() == "", "a model in memory has no name"
    _, out, _ = command("inspect", folder, "--on", reviews, "--minutes", 5, "--no-open", "--private")
    assert f"What to do next?\n  bertscope shrink {folder} --on {reviews}\n" in out
    assert f"bertscope shrink {folder} <span>--on</span> {reviews}</code>" in Path("inspect.html").read_text()


def test_paths_are_names_and_so_is_the_base_that_the_models_files_name(folder, reviews, tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "QUESTIONS", ())
    model = load(folder)
    model.model.config.bertscope = origin_note(Origin("finetune", ModelRecord("", "pocket", source="pocket")))
    tuned = model.save(tmp_path / "tuned")
    found = inspect(Path(tuned), Path(reviews), minutes=5, store=tmp_path / "store")
    assert found.given == {"model": str(tuned), "data": reviews, "base": "pocket"}
    assert found.next().startswith("bertscope ") and f"--on {reviews}" in found.next()


@pytest.mark.parametrize(("name", "id", "init", "found"), [
    ("pocket", "", "pretrained", "pocket"), ("pocket", "0" * 16, "pretrained", None),
    ("no/model", "", "pretrained", None), ("pocket", "", "random", None),
])  # fmt: skip
def test_a_base_that_we_trained_from_is_found_by_its_name_if_it_is_the_same(_pocket, name, id, init, found):
    base = replace(_pocket.record, name=name, id=id or _pocket.id)
    noted = origin_in({"bertscope": origin_note(Origin("finetune", base, init=init))})
    assert not noted.base.source and found_base(ModelRecord("t" * 16, "tuned", noted)) == found


def test_one_question_that_took_longer_than_foretold_doesnt_count_for_all(folder, reviews, tmp_path, monkeypatch):
    asking = inspection._Asking(folder, reviews, None, {}, Store(tmp_path), 60.0, None)
    assert asking._slower == 1.0
    asking._foretold_so_far, asking._took_so_far = 30.0, 45.0
    assert asking._slower == 1.5
    asking._took_so_far = 900.0
    assert asking._slower == inspection._SLOWEST
    asking._took_so_far = 10.0
    assert asking._slower == 1.0, "what was quick may have been luck"


def test_the_price_is_asked_before_what_takes_long():
    names = [one.name for one in inspection.QUESTIONS]
    assert names.index("shrink (without training)") < min(map(names.index, ("explain", "readout", "ablate (heads)")))


@draws_pages
def test_what_was_found_stays_on_the_page_where_it_is_interrupted(folder, reviews, few, command, monkeypatch):
    asked = []
    make = inspection._Asking._make

    def stopped(self, one, step, seconds):
        if one.name == "patterns":
            raise KeyboardInterrupt
        asked.append(one.name)
        return make(self, one, step, seconds)

    monkeypatch.setattr(inspection._Asking, "_make", stopped)
    code, _, err = command("inspect", folder, "--on", reviews, "--minutes", 5, "--no-open")
    assert code == 130 and "Traceback" not in err and asked == ["errors", "ablate (layers)"]
    assert "from 3 answers" in Path("inspect.html").read_text()
    assert err.splitlines()[-1].startswith("bertscope: interrupted")


def test_of_random_weights_nothing_is_claimed(reviews, _pocket, few, tmp_path):
    """Saved by somebody who says nothing of where they come from."""
    model = fresh(task(labels=("0", "1")), _pocket.tokenizer)
    folder = str(model.save(tmp_path / "fresh"))
    found = inspect(folder, reviews, minutes=5, store=tmp_path / "store")
    assert [*found.results] == ["check", *QUICK]
    (only,) = found.consequences
    assert only.theme == "works" and only.at_chance and not only.text.startswith("It works")
    assert found.next().startswith(("bertscope data", "bertscope finetune"))


def test_minutes_must_be_more_than_none(folder, reviews, tmp_path):
    with pytest.raises(UserError, match="more than 0"):
        inspect(folder, reviews, minutes=0, store=tmp_path)


@draws_pages
def test_the_command_writes_a_page_and_json(folder, reviews, few, command):
    code, out, err = command("inspect", folder, "--on", reviews, "--minutes", 5, "--json")
    told = json.loads(out)
    assert code == 0 and told["consequences"][0]["theme"] == "works" and "inspect.html" in err
    code, out, _ = command("inspect", folder, "--on", reviews, "--minutes", 5, "--no-open")
    assert code == 0 and "Does it work?" in out
    code, _, err = command("inspect", folder, "--on", "nowhere.csv")
    assert code == 2 and err.count("\n") == 1
