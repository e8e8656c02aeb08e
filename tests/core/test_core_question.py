"""A question: what is declared once, what it is called with, and what it refuses."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from pathlib import Path

import pytest

import sums as module
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, RESULTS, TASK, Input, Question
from bertscope.core.registry import QUESTIONS, find, resolve
from bertscope.core.step import Root
from bertscope.data.options import DataOptions
from sums import SumConfig, register, sums


@pytest.fixture(autouse=True)
def known(monkeypatch):
    register(monkeypatch)


def question(**more) -> Question:
    declared = {"config": SumConfig, "inputs": {"model": MODEL, "task": TASK}, "version": 1, "main": "a", "cite": "-"}
    return Question("bertscope.analyses.weights.question", "How.", **declared | more)


def test_its_name_is_its_folders_and_its_line_the_catalogues(monkeypatch):
    assert question().name == "weights" and sums.name == "sums" == find("sums").name
    assert (
        sums.line == "How much?"
        and sums.description == "How much?\n\nA number, earlier sums and a setting are added."
    )
    with pytest.raises(UserError, match="no question 'ablat'; did you mean 'ablate'"):
        find("ablat")
    assert all(find(name).name == name for name in QUESTIONS)


def test_steps_with_a_setting_whose_answers_changed_have_a_version_of_their_own():
    """What is stored of other settings stays what it was."""
    inputs = {name: Root(name, name, "1") for name in ("model", "task")}
    before, now = question(), question(newer={"add": {2: 7}})
    ids = [[one.step(inputs, SumConfig(add=add)) for add in (1, 2)] for one in (before, now)]
    assert [step.version for step in ids[1]] == [1, 7]
    assert ids[0][0].id == ids[1][0].id and ids[0][1].id != ids[1][1].id


def test_what_is_given_by_name_is_opened_and_the_rest_is_taken_as_it_is():
    assert sums(SumConfig(add=2), number="5")["total"].value == 7
    assert sums(SumConfig(add=2), number=Path("5"))["total"].value == 7
    five = sums(number=5)
    assert five["total"].value == 5 and (five.question, five.version) == ("sums", 1)
    assert sums(earlier=five)["total"].value == 5, "one of many is a list of one"
    total = sums(SumConfig(add=1), earlier=[five, five], number=3)
    assert total["total"].value == 14 and total.provenance["seconds"] >= 0


def test_a_stored_result_is_opened_by_its_folder(tmp_path):
    sums(number=5).save(tmp_path / "five")
    assert sums(earlier=[tmp_path / "five", str(tmp_path / "five")])["total"].value == 10


def test_it_is_called_as_it_is_declared():
    reading = [each.name for each in fields(DataOptions)]
    assert {"text", "label", "kind", "data_seed"} <= {*reading}
    own = ["add", "fail", "seconds", "gigabytes"]
    listed = ["model", "task", "config", *own, *reading, "store", "tokenizer", "base"]
    assert list(inspect.signature(question()).parameters) == listed
    keeps = question(keeps="model", optional={"train": Input("examples", flag="Other data."), "shapes": RESULTS})
    assert list(inspect.signature(keeps).parameters) == [*listed[:3], "train", *listed[3:], "out", "resume"]
    assert inspect.signature(keeps).parameters["train"].kind is inspect.Parameter.KEYWORD_ONLY
    alone = question(inputs={"earlier": RESULTS})
    assert list(inspect.signature(alone).parameters) == ["earlier", "config", *own, "store"]
    assert "module" in inspect.signature(Question).parameters, "the class keeps its own"
    with pytest.raises(UserError, match=r"sums takes no nmber=; did you mean 'number'\?"):
        sums(nmber=5)
    with pytest.raises(UserError, match=r"sums takes config=SumConfig\(\.\.\.\), not a str; all but"):
        sums("fast")


def test_what_users_name_is_told_from_what_its_step_reads():
    plain = question()
    assert plain.named == ["model"] and plain.reads == "task" and not plain.takes_several and not plain.flags
    given = {"models": Input("model", many=True), "examples": Input("examples")}
    planned = question(inputs={"tuned": RESULTS, "task": TASK}, given=given, plan=lambda: None)
    assert planned.named == ["models"] and planned.reads == "examples" and planned.takes_several
    assert question(inputs={"earlier": RESULTS}).reads is None
    optional = {"train": Input("examples", flag="Other data.", checked=True), "shapes": RESULTS}
    both = question(optional=optional)
    assert list(both.flags) == ["train"] and both.input("shapes.3") is RESULTS and both.takes("shapes.0")
    assert both.checks("train") and both.checks("task") and not both.checks("shapes") and not both.takes("hans")


def test_a_step_has_what_it_must_have_and_nothing_else():
    model, task = Root("model", "pocket", "1"), Root("task", "demo/sentiment", "2")
    step = question().step({"model": model, "task": task}, SumConfig(add=3))
    assert (step.name, step.version, step.config["add"]) == ("weights", 1, 3)
    assert replace(question(), version=2).step({"model": model, "task": task}).id != step.id
    for wrong in ({"model": model}, {"model": model, "task": task, "hans": task}):
        with pytest.raises(ValueError, match="weights takes the inputs"):
            question().step(wrong)


def test_settings_are_keywords_and_checked_like_those_of_a_study():
    assert sums(number=5, add=2)["total"].value == 7
    for given, said in (
        ({"add": "two"}, "add is 'two'; it must be a whole number"),
        ({"add": True}, "add is True; it must be a whole number"),
        ({"fail": "mistaek"}, "fail is 'mistaek'; did you mean 'mistake'?"),
        ({"add": 2, "config": SumConfig()}, "sums is given config= and add=; give one of them"),
        ({"limit": 3}, "sums takes no limit=; it reads results alone"),
        ({"tokenizer": None}, "sums takes no tokenizer=; known: "),
    ):
        with pytest.raises(UserError) as caught:
            sums(number=5, **given)
        assert str(caught.value).startswith(said)


def test_with_a_store_a_call_is_a_step(tmp_path):
    compares = question(inputs={"earlier": RESULTS}, plan=None)
    assert not compares.needs_store and question(inputs={"tuned": RESULTS}, plan=lambda: None).needs_store
    with pytest.raises(UserError, match="can't use int as a store; give the path of a folder, or a Store"):
        sums(store=3)
    with pytest.raises(UserError, match="sums takes number= in memory only; leave it out, or leave out store="):
        sums(number=5, store=tmp_path)


def test_targets_are_modules_and_names():
    assert resolve("sums:read_number") is module.read_number and resolve("sums:SumConfig.add") == 0
