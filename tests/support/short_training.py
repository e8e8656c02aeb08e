"""Trainings of a second, and ways to stop one."""

from __future__ import annotations

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.training import loop
from bertscope.training.finetune.question import FinetuneConfig

QUICK = FinetuneConfig(epochs=3, learning_rate=2e-3, batch_size=8, warmup=0.1)


def make_task(regression: bool = False) -> Task:
    """Positive if it has 'good' and not 'bad'; or a score of 40 more for 'good', around 100."""
    generator = np.random.default_rng(0)
    words = np.array(
        ["the", "old", "house", "was", "by", "a", "long", "road", "and", "she", "said", "it", "to", "him"]
    )

    def split(name: str, n: int) -> Examples:
        label = np.arange(n) % 2
        text = [
            " ".join([*generator.choice(words, generator.integers(2, 9)), "good" if good else "bad"])
            for good in label
        ]
        gold = 100 + 40 * label.astype(float) + generator.normal(size=n) if regression else label
        return Examples(tuple(f"{name}:{row}" for row in range(n)), tuple(text), label=gold)

    kind, labels, metric = (
        ("regression", (), "pearson") if regression else ("classification", ("no", "yes"), "accuracy")
    )
    return Task("toy", kind, labels, split("train", 60), split("validation", 20), split("test", 20), metric)


def same(one, other) -> bool:
    return one.fingerprint == other.fingerprint


def stop_in_epoch(monkeypatch, epoch: int) -> None:
    plain = loop.Training.epoch

    def stopping(self, at, bar):
        if at == epoch:
            raise KeyboardInterrupt
        return plain(self, at, bar)

    monkeypatch.setattr(loop.Training, "epoch", stopping)
