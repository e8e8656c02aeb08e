"""Distillation against cases worked by hand; and training on a model that has learned its task already."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import toy
from bertscope.models.outputs.classifier import from_teacher
from bertscope.training.distill import Teacher
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import train
from bertscope.training.objective import Labelled

STILL = FinetuneConfig(learning_rate=0.0, epochs=1, warmup=0.0)


def test_the_divergence_of_two_classes_by_hand():
    student, teacher = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, math.log(3)]])
    # T = 1: the teacher says 1/4 and 3/4, the student a half each.
    by_hand = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert float(from_teacher(student, teacher, 1.0)) == pytest.approx(by_hand)
    # T = 2: the teacher's odds are the root of 3; times 4.
    p = math.sqrt(3) / (1 + math.sqrt(3))
    by_hand = 4 * ((1 - p) * math.log((1 - p) / 0.5) + p * math.log(p / 0.5))
    assert float(from_teacher(student, teacher, 2.0)) == pytest.approx(by_hand)
    both = from_teacher(student.repeat(2, 1), torch.cat([teacher, student]), 2.0)
    assert float(both) == pytest.approx(by_hand / 2)  # a mean over examples; the second agree


def test_it_is_the_teacher_whose_probabilities_weigh():
    one, other = torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([[0.0, 1.0, 0.5]])
    p, q = (torch.softmax(each, -1).numpy()[0] for each in (one, other))
    assert float(from_teacher(other, one, 1.0)) == pytest.approx(float((p * np.log(p / q)).sum()), rel=1e-5)
    assert float(from_teacher(one, other, 1.0)) == pytest.approx(float((q * np.log(q / p)).sum()), rel=1e-5)


def test_scores_are_compared_by_their_squared_difference():
    assert float(from_teacher(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [1.0]]), 2.0)) == 2.5


def test_the_gradient_keeps_its_size_at_any_temperature():
    teacher = torch.tensor([[0.5, -0.5]])
    sizes = []
    for temperature in (1.0, 8.0):
        student = torch.zeros(1, 2, requires_grad=True)
        from_teacher(student, teacher, temperature).backward()
        sizes.append(float(student.grad.norm()))
    assert sizes[1] / sizes[0] == pytest.approx(1, abs=0.1)


@pytest.fixture(scope="module")
def task():
    return toy.task()


def test_a_student_learns_what_its_teacher_says_and_not_the_labels(task, _pocket):
    wrong = 4 * np.eye(2, dtype=np.float32)[1 - task.train.label]
    for weight, least, most in ((1.0, 0.0, 0.1), (0.0, 0.9, 1.0)):
        encoder = toy.fresh(task, _pocket.tokenizer)
        objective = Labelled(encoder, task, teacher=Teacher(wrong, weight=weight))
        train(encoder, objective, toy.RECIPE, out=None, resume=False)
        assert least <= task.score(encoder.predict(task.test).logits).value <= most


def test_the_loss_is_the_labels_and_the_teachers_by_weight(task, _pocket):
    encoder = toy.learned(task, _pocket.tokenizer, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    logits, rng = encoder.predict(task.train).logits, np.random.default_rng(0)
    said = rng.normal(size=logits.shape).astype(np.float32)
    objective = Labelled(encoder, task, tuned=True, teacher=Teacher(said, 2.0, 0.25))
    history = train(encoder, objective, STILL, out=None, resume=False)
    labels = torch.nn.functional.cross_entropy(torch.from_numpy(logits), torch.from_numpy(task.train.label))
    taught = from_teacher(torch.from_numpy(logits), torch.from_numpy(said), 2.0)
    assert history.epochs[-1]["loss"] == pytest.approx(float(0.75 * labels + 0.25 * taught), rel=1e-4)


def test_a_regressor_that_is_trained_on_keeps_its_units(_pocket):
    task = toy.task(regression=True)
    encoder = toy.learned(task, _pocket.tokenizer, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    before = encoder.predict(task.test).logits
    assert abs(before.mean() - task.test.label.mean()) < 0.3  # it speaks in the task's own units
    said, gold = encoder.predict(task.train).logits, task.train.label
    for teacher in (said, 7 - 3 * said):  # its mean and deviation are its own affair
        objective = Labelled(encoder, task, tuned=True, teacher=Teacher(teacher, weight=1.0))
        history = train(encoder, objective, STILL, out=None, resume=False)
        assert np.allclose(encoder.predict(task.test).logits, before, atol=1e-4)
        apart = (said - gold.mean()) / gold.std() - (teacher - teacher.mean()) / teacher.std()
        assert history.epochs[-1]["loss"] == pytest.approx((apart**2).mean(), rel=1e-3)


def test_outputs_are_matched_with_labels_by_name(task, _pocket):
    encoder = toy.learned(task, _pocket.tokenizer)
    turned = replace(task, labels=("good", "bad"), **{
        name: replace(part, label=1 - part.label)
        for name, part in (("train", task.train), ("validation", task.validation), ("test", task.test))
    })  # fmt: skip
    objective = Labelled(encoder, turned, tuned=True)
    history = train(encoder, objective, replace(STILL, learning_rate=1e-4), out=None, resume=False)
    assert history.epochs[0]["score"] > 0.9 and history.epochs[-1]["score"] > 0.9 and history.epochs[-1]["loss"] < 0.2
