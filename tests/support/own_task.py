"""A task of random texts, for a tiny encoder that knows nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder

WORDS = ("the", "good", "bad", "old", "house", "was", "never", "by", "a", "long", "road", "and", "she", "said", "it")


def some(n: int, seed: int) -> Examples:
    generator = np.random.default_rng(seed)
    text = tuple(" ".join(generator.choice(WORDS, generator.integers(2, 14))) for _ in range(n))
    return Examples(tuple(f"{seed}.{row}" for row in range(n)), text, label=np.arange(n) % 2)


def own_task() -> Task:
    """Validation and test are different texts."""
    return Task("own", "classification", ("LABEL_0", "LABEL_1"), some(10, 1), some(24, 2), some(30, 3), "accuracy")


def said_by(encoder: Encoder, task: Task) -> Task:
    """The same texts, labelled as the whole model would."""

    def own(examples: Examples) -> Examples:
        return replace(examples, label=encoder.predict(examples).logits.argmax(-1))

    return replace(task, train=own(task.train), validation=own(task.validation), test=own(task.test))
