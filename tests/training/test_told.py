"""What only a model can say of a task: trainings keep it, and whoever compares them scores as the model did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import toy
from bertscope.core.examples import Examples
from bertscope.experiments.freeze.question import FreezeConfig, freeze
from bertscope.experiments.scratch.question import TRAININGS, ScratchConfig, scratch
from bertscope.experiments.scratch.untuned import UntunedConfig, untuned
from bertscope.models.encoder import Encoder
from bertscope.training.advice import note
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.told import as_told, moments_of

QUICK = FinetuneConfig(epochs=1, learning_rate=2e-3, batch_size=16)


def turned(examples: Examples) -> Examples:
    return replace(examples, label=1 - examples.label)


@pytest.fixture
def tasks(monkeypatch, toy_task):
    """A task as it is read, whose labels are wrong, and as every model says that it is."""
    few = {split: getattr(toy_task, split).take(range(40)) for split in ("train", "validation", "test")}
    few["test"] = few["test"].take(np.flatnonzero(few["test"].label == 0)[:12].tolist() + list(range(20)))
    right = replace(toy_task, **few)
    read = replace(right, **{split: turned(examples) for split, examples in few.items()})
    known = {examples.ids: examples for examples in few.values()}

    def marked(self, output, examples):
        return known[examples.ids] if examples.ids in known else turned(examples)

    monkeypatch.setattr(Encoder, "marked", marked)
    return read, right


def test_a_training_is_scored_and_compared_by_what_the_model_says(tiny, tasks):
    read, right = tasks
    assert read.chance() != pytest.approx(right.chance())
    held = [finetune(tiny, read, replace(QUICK, frozen=frozen)).result for frozen in ("", "encoder")]
    for run in held:
        assert run["after"].value == right.score(run.arrays["outputs"]).value
        assert np.array_equal(moments_of(read, run), right.moments(run.arrays["outputs"]))
        assert as_told(read, run).chance() == right.chance()
        assert as_told(read, run).chance(read.validation) == right.chance(right.validation)
        advised = note(run)  # of one training, which says nothing of those that it is compared with
        assert advised is not None and advised in run.notes and advised not in as_told(read, run).notes
    config = FreezeConfig(movement=False)
    told, wanted = (freeze.compute(held, task, config=config) for task in (read, right))
    assert told["chance"].value == right.chance()
    stripped = [replace(run, arrays={"outputs": run.arrays["outputs"]}) for run in held]
    pd.testing.assert_frame_equal(told.tables["arms"], freeze.compute(stripped, right, config=config).tables["arms"])
    assert wanted.tables["arms"]["score"].tolist() == told.tables["arms"]["score"].tolist()


def test_scratch_has_the_untuned_and_the_blind_answer_of_the_models_too(tiny, tasks):
    read, right = tasks
    trained = {
        name: [finetune(tiny, read, replace(QUICK, init=one.init, frozen=one.frozen)).result]
        for name, one in TRAININGS.items()
    }
    before = untuned.compute(tiny, read, config=UntunedConfig())
    assert before["untuned"].value == right.score(before.arrays["outputs"]).value
    result = scratch.compute(**trained, untuned=[before], task=read, config=ScratchConfig(patterns=False))
    scores = result.tables["arms"].set_index("arm")["score"]
    assert scores["chance"] == right.chance() and scores["untuned"] == before["untuned"].value
    assert scores["tuned"] == trained["tuned"][0]["after"].value


def test_a_task_that_needs_no_model_keeps_nothing_more(tiny):
    task = toy.task()
    run = finetune(tiny, replace(task, train=task.train.take(range(32))), QUICK).result
    assert set(run.arrays) == {"outputs", "row_probability", "row_right"} and as_told(task, run) is task
