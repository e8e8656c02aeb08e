"""The studies that docs/findings is written from: their data, and what one of them needs of a study file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bertscope.core.errors import UserError
from bertscope.study.file import read_study, ready_studies
from shared_data import DATA, needs_data

FINDINGS = tuple(
    f"findings-{name}"
    for name in ("causes", "heads", "layers", "lottery", "outputs", "rows", "smaller", "training")
)  # fmt: skip
"""Of real data, which lies in the folder that they are run in."""
EMERGENCE = "findings-emergence"
"""Of a pre-training that lies there."""


def test_they_are_ready():
    assert {*FINDINGS, EMERGENCE} == {name for name in ready_studies() if name.startswith("findings-")}


def test_emergence_is_asked_of_the_checkpoints_that_lie_there(tmp_path, monkeypatch, tiny):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no checkpoint matches 'grown/checkpoint-\\*'"):
        read_study(EMERGENCE)
    for step in (0, 8):
        tiny.save(tmp_path / f"grown/checkpoint-{step}")
    asked = [step for step in read_study(EMERGENCE).steps if step.name == "course"]
    assert [step.config["steps"] for step in asked] == 5 * [[0, 8]]


@needs_data
@pytest.mark.parametrize("name", FINDINGS)
def test_studies_of_the_findings_find_their_data(name, monkeypatch):
    monkeypatch.chdir(DATA)
    found = read_study(name)
    assert found.steps[-1].name in ("claims", "explain") and not found.notes


@pytest.mark.parametrize("name", FINDINGS)
def test_elsewhere_studies_of_the_findings_say_what_is_missing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"{name}.yaml, line \d+: (no file|glue/\w+ can.t be had from the hub)"):
        read_study(name)


def test_a_model_can_be_given_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "model: pocket\ntasks: demo/sentiment\n" + (
        "models: {again: {seed: 1}}\nquestions: [{explain: {of: tuned, faithful: true, other_seed: again}}]\n"
    )
    Path("mine.yaml").write_text(text, encoding="utf-8")
    (step,) = read_study("mine.yaml").steps
    assert (step.inputs["model"].config["seed"], step.inputs["other_seed"].config["seed"]) == (0, 1)
    with pytest.raises(UserError, match="no model 'tasks' in this study"):
        read_study("mine.yaml", ["questions.explain.other_seed=tasks"])
