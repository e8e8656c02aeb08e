"""What must not be mixed up: models by tokenizer, outputs by label, folders and files by owner."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.source import POCKET, model_root
from bertscope.report.build import build_report


@pytest.fixture
def task(texts) -> Task:
    many = Examples(tuple(map(str, range(24))), texts.text * 4, label=np.array([1, 0, 0, 1, 1, 0] * 4))
    return Task("toy", "classification", ("negative", "positive"), many, many, many, "accuracy")


def test_a_model_is_its_tokenizer_too(tmp_path):
    other = shutil.copytree(POCKET, tmp_path / "other")
    text = (other / "tokenizer.json").read_text()
    (other / "tokenizer.json").write_text(text.replace('"the"', '"eht"', 1))
    assert model_root(str(other)).id != model_root("pocket").id


def test_labels_are_matched_by_name_not_by_place(tiny, task):
    config = AblateConfig(units=("layer",), repeats=100, permutations=99)
    tiny.model.config.id2label = {0: "negative", 1: "positive"}
    straight = ablate(tiny, task, config)
    turned = replace(task, labels=("positive", "negative"), **{
        name: replace(task.train, label=1 - task.train.label) for name in ("train", "validation", "test")
    })  # fmt: skip
    assert ablate(tiny, turned, config)["score"] == straight["score"]
    tiny.model.config.id2label = {0: "Negative ", 1: "POSITIVE"}
    assert ablate(tiny, task, config)["score"] == straight["score"]


def test_numbers_for_names_are_matched_by_order_and_other_names_are_refused(task):
    assert task.output.match(["LABEL_0", "LABEL_1"]) == ([0, 1], [
        "labels matched by their order: LABEL_0 is negative, LABEL_1 is positive"
    ])  # fmt: skip
    assert replace(task, labels=("0", "1")).output.match(["bad", "good"])[0] == [0, 1]
    assert task.output.match(["positive", "negative"]) == ([1, 0], [])
    with pytest.raises(UserError, match="the model answers bad, good, but toy is labelled negative, positive"):
        task.output.match(["bad", "good"])


def test_what_weakens_a_result_is_said(tiny, task):
    tiny.model.config.bertscope = {"name": "tiny", "tuned_on": "another task"}
    tiny.model.config.id2label = {0: "negative", 1: "positive"}
    long = replace(task.test, text=("good " * 200, *task.test.text[1:]))
    task = replace(task, test=long, metric="matthews")  # of accuracy the test is exact
    notes = " | ".join(ablate(tiny, task, AblateConfig(repeats=100, permutations=99)).notes)
    for said in (
        "not clearly above chance",
        "fine-tuned on another split",
        "1 test text is longer",
        "99 permutations",
    ):
        assert said in notes


def test_a_folder_that_looks_like_a_model_is_not_ours_to_replace(tiny, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "config.json").write_text('{"mine": 1}')
    with pytest.raises(UserError, match="bertscope didn't write"):
        tiny.save(project)
    mine = tiny.save(tmp_path / "mine")
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="bertscope didn't write"):
        tiny.save(mine)
    (mine / "thesis.txt").unlink()
    tiny.save(mine)
    downloaded = tmp_path / "downloaded"
    shutil.copytree(mine, downloaded, ignore=shutil.ignore_patterns("seal.json"))
    config = json.loads((downloaded / "config.json").read_text())
    config.pop("bertscope")
    (downloaded / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="bertscope didn't write"):
        tiny.save(downloaded)


def test_a_file_that_is_no_page_of_ours_is_not_replaced(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("text,label\n")
    with pytest.raises(UserError, match="is not a page of bertscope"):
        build_report(tmp_path / "store", data)
    assert data.read_text() == "text,label\n"
