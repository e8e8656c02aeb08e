"""Rerankers: a single output on a task of two labels, against the same model with two outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import planted_labels
import planted_task
import toy
from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.core.errors import UserError
from bertscope.data.task import Task
from bertscope.experiments.prune.question import prune
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.training.loop import train
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from planted_task import NEEDED

HEADS = AblateConfig(units=("head",), mode="zero")


@pytest.fixture
def task() -> Task:
    return planted_task.task()


def test_one_output_says_what_two_say(pocket, task):
    """A planted model whose two outputs are -4x and 4x, and one whose one is 8x: the same probabilities."""
    two = planted_task.planted(pocket.tokenizer)
    one = planted_labels.one_logit(pocket.tokenizer, sign=2.0)
    asked = task.asked_of(one)
    assert asked.kind == "one_logit" and asked.labels == ("bad", "good") and task.asked_of(two) is task
    said, wanted = one.predict(task.test, asked.output), two.predict(task.test)
    np.testing.assert_allclose(said.logits[:, 0], np.diff(wanted.logits)[:, 0], rtol=1e-5)
    np.testing.assert_allclose(asked.losses(said), task.losses(wanted), rtol=1e-5)
    assert asked.score(said).value == 1 and asked.score(said).secondary == task.score(wanted).secondary
    assert asked.score(said).notes == ("the model has one output: above 0 it is read as good, otherwise as bad",)
    assert asked.chance() == task.chance() == 0.5
    columns = ["unit", "score", "effect", "p", "loss_rise", "kl", "flips"]
    mine, theirs = (ablate(model, task, HEADS).table[columns] for model in (one, two))
    for column in columns[1:]:
        np.testing.assert_allclose(mine[column], theirs[column], rtol=1e-4, atol=1e-7, err_msg=column)


def test_the_planted_heads_are_the_ones_that_count(pocket, task):
    one = planted_labels.one_logit(pocket.tokenizer)
    effects = ablate(one, task, HEADS).table.set_index("unit")
    assert (effects.loc[list(NEEDED), "effect"] < -0.4).all() and (effects.drop(list(NEEDED))["effect"] == 0).all()
    found = importance(one, task, ImportanceConfig(units=("head",), faithful=False)).table.set_index("unit")
    assert set(found["importance"].nlargest(2).index) == set(NEEDED)
    survivors = prune(one, task).result.tables["survivors"]
    assert set(survivors["unit"][survivors["survives"]]) == set(NEEDED)


def test_an_output_that_is_called_as_the_first_label_counts_the_other_way(pocket, task):
    one = planted_labels.one_logit(pocket.tokenizer, "Bad", sign=-1.0)
    asked = task.asked_of(one)
    assert asked.score(one.predict(task.test, asked.output)).value == 1
    assert asked.notes == (
        "the model's one output is called Bad, as the first label: it is read with its sign turned",
    )
    called = planted_labels.one_logit(pocket.tokenizer, "good")
    assert asked.score(called.predict(task.test, task.asked_of(called).output)).value == 1
    assert task.asked_of(called).notes == ()


def test_it_can_be_trained_and_taught(tiny):
    """As `shrink` does after a cut."""
    task = toy.task()
    one = with_task_head(tiny, replace(task, kind="one_logit"), seed=1)
    asked = task.asked_of(one)
    before = asked.losses(one.predict(task.test, asked.output)).mean()
    train(one, Labelled(one, asked), replace(toy.RECIPE, epochs=8), out=None, resume=False)
    after = one.predict(task.test, asked.output)
    assert asked.losses(after).mean() < before / 2 and asked.score(after).value > 0.85
    student, said = torch.randn(5, 1), torch.randn(5, 1)
    p, q = (torch.distributions.Bernoulli(logits=each / 2) for each in (said, student))
    wanted = 4 * torch.distributions.kl_divergence(p, q).mean()
    assert model_output(one, asked.output).taught(student, said, 2.0).item() == pytest.approx(wanted.item(), rel=1e-4)


def test_scores_stay_scores_and_more_labels_are_refused(pocket, task, tmp_path):
    one = planted_labels.one_logit(pocket.tokenizer)
    scored = replace(task, kind="regression", labels=(), metric="pearson")
    floats = {name: replace(getattr(task, name), label=getattr(task, name).label * 1.0) for name in ("train", "test")}
    scored = replace(scored, **floats, validation=floats["test"])
    assert scored.asked_of(one) is scored
    with pytest.raises(UserError, match="gives 1 output, and the task has 3 labels; fine-tune it"):
        replace(task, labels=("bad", "good", "odd")).asked_of(one)
    one.save(tmp_path / "reranker")
    again = load(tmp_path / "reranker")
    asked = task.asked_of(again)
    assert asked.score(again.predict(task.test, asked.output)).value == 1
