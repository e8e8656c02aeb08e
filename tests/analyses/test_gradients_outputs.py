"""Gradients at the gates for outputs beside classes and scores: finite differences, which need doubles."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.analyses.gradients import example_gradients
from bertscope.core.examples import Examples
from bertscope.data.tagged import make_tokens
from bertscope.data.task import Task
from bertscope.models.outputs.kinds import model_output
from bertscope.training.task_kinds import with_task_head
from device import DEVICE
from planted_outputs import PLANTED

STEP = 1e-5
WORDS = ("the", "old", "house", "by", "the", "river", "was", "cold", ".")


def several() -> Task:
    gold = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]])
    texts = Examples(tuple("abcd"), tuple(" ".join(WORDS[at:]) for at in range(4)), label=gold)
    return Task("made", "several", ("x", "y", "z"), texts, texts, texts, "micro_f1")


def tokens() -> Task:
    words = tuple(WORDS[at:] for at in range(4))
    tags = tuple(tuple("B-LOC" if word == "river" else "O" for word in sentence) for sentence in words)
    texts = Examples(tuple("abcd"), tuple(map(" ".join, words)), words=words, marks={"tag": tags})
    return make_tokens("made", (texts,) * 3)


TASKS = {
    "spans": lambda: PLANTED["spans"].task(8),
    "trees": lambda: PLANTED["trees"].task(8),
    "several": several,
    "tokens": tokens,
}


@pytest.mark.parametrize("kind", TASKS)
def test_every_examples_gradient_is_its_finite_difference(tiny, kind):
    task = TASKS[kind]()
    encoder = with_task_head(tiny, task, seed=3)
    encoder.model.double().to(DEVICE)
    examples, asked = task.validation, model_output(encoder, task.output)

    def losses(value: float) -> np.ndarray:
        found = np.zeros(len(examples))
        with torch.no_grad(), encoder.gates() as gates:
            gates.heads[1, 2] = value
            for batch in asked.batches(examples, gold=True):
                total, count = asked.losses(asked.run(batch), batch)
                found[batch.examples] = (total / count).cpu()
        return found

    slopes = (losses(1 + STEP) - losses(1 - STEP)) / (2 * STEP)
    heads = np.zeros(len(examples))
    for part in example_gradients(encoder, task, examples, tokens=64):
        heads[part.rows] = part.heads[:, 1, 2]
    assert np.abs(slopes).max() > 1e-5, "the head does something"
    np.testing.assert_allclose(heads, slopes, rtol=1e-5, atol=1e-9)
