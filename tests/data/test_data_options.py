"""The options of reading: declared once, shown everywhere, and part of an identity only where they say something."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from bertscope.core.errors import UserError
from bertscope.data.corpus import read_examples
from bertscope.data.options import DataOptions, TaskOptions
from bertscope.data.read import read_task, task_root

ROWS = "text,label\n" + "".join(f"a text {i},{i % 2}\n" for i in range(40))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text(ROWS)
    return file


@pytest.mark.parametrize("function", [read_task, task_root, read_examples])
def test_signatures_show_the_declared_options(function):
    shown = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    assert {"source", *(field.name for field in fields(TaskOptions))} <= set(shown)
    assert all(shown[field.name] == field.default for field in fields(TaskOptions))


def test_the_command_line_has_the_same_options_under_the_same_names(path):
    renamed = {"data_seed": "seed"}
    theirs = {renamed.get(field.name, field.name): field.default for field in fields(DataOptions)}
    cuts = ("without", "at_random", "flip", "flip_seed", "fold")  # `bias` and `mislabelled` make them
    assert theirs == {field.name: field.default for field in fields(TaskOptions) if field.name not in cuts}
    typed = DataOptions(data_seed=3, limit=2, skip_bad=True, root=None)
    assert task_root(path, **typed.given()).options == {"seed": 3, "limit": 2, "skip_bad": True}
    assert task_root(path, **DataOptions().given()).options == {}


def test_every_option_is_described():
    source = inspect.getsource(inspect.getmodule(TaskOptions))
    for field in fields(TaskOptions):
        after = source.split(f"\n    {field.name}: ", 1)[1].split("\n", 1)[1].lstrip()
        assert after.startswith('"""')


def test_defaults_leave_the_identity_as_it_was(path):
    every = {field.name: field.default for field in fields(TaskOptions)}
    assert task_root(path, **every).id == task_root(path).id
    # Written down when the options were still six: results stored then must be found again.
    assert task_root(path).id == "task-b62d767045e4f49c"
    assert task_root(path, limit=5, seed=2, label="label").id == "task-ababa7a5387f143b"


def test_unknown_options_are_refused(path):
    for ask in (read_task, task_root, read_examples):
        with pytest.raises(UserError, match="unknown setting 'lable'; did you mean 'label'"):
            ask(path, lable="x")
    with pytest.raises(UserError, match="metric is 'acuracy'; did you mean 'accuracy'"):
        read_task(path, metric="acuracy")


def test_the_metric_can_be_chosen(path, tmp_path):
    assert read_task(path, metric="matthews").metric == "matthews"
    assert read_task("demo/sentiment", metric="f1").chance() in (0, pytest.approx(2 / 3))
    assert read_task(path, metric="pearson").kind == "regression", "whole numbers are what the metric says"
    named = tmp_path / "named.csv"
    named.write_text(ROWS.replace(",0", ",no").replace(",1", ",yes"))
    with pytest.raises(UserError, match="metric pearson isn't for classification, which named is"):
        read_task(named, metric="pearson")
    with pytest.raises(UserError, match="metric f1 isn't for regression"):
        read_task(path, kind="regression", metric="f1")
    three = tmp_path / "three.csv"
    three.write_text(ROWS + "another,2\n" * 10)
    with pytest.raises(UserError, match="f1 is for two labels, and three has 3; give macro_f1"):
        read_task(three, metric="f1")


def test_a_root_is_a_place_and_no_identity(tmp_path):
    head = "index\tsentence1\tsentence2\tlabel\n"
    text = head + "".join(f"{i}\ta {i}\tb {i}\t{('entailment', 'not_entailment')[i % 2]}\n" for i in range(30))
    for place in ("one", "two"):
        (tmp_path / place / "RTE").mkdir(parents=True)
        for name in ("train", "dev"):
            (tmp_path / place / "RTE" / f"{name}.tsv").write_text(text)
    one, two = (task_root("glue/rte", root=tmp_path / place) for place in ("one", "two"))
    assert one.id == two.id and one.source != two.source
    (tmp_path / "two" / "RTE" / "dev.tsv").write_text(text.replace("a 7", "a seven"))
    assert task_root("glue/rte", root=tmp_path / "two").id != one.id
    assert isinstance(TaskOptions(root=Path("x")).given()["root"], str)  # plain JSON, as plans are stored


def test_one_split_alone(path):
    task = read_task(path)
    assert read_examples(path).ids == task.test.ids and read_examples(path, split="train").ids == task.train.ids
    assert len(read_examples("demo/sentiment", split="validation", limit=7)) == 7
    with pytest.raises(UserError, match="no published dev split; ask for train, validation or test"):
        read_examples(path, split="published-dev")
    with pytest.raises(UserError, match="no split 'tets'; did you mean 'test'"):
        read_examples(path, split="tets")
