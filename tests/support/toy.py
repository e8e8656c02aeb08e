"""Tasks that a tiny encoder learns in a second, and one that has learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import train
from bertscope.training.objective import Labelled
from pocket_facts import PIECES

RECIPE = FinetuneConfig(learning_rate=2e-3, epochs=5, warmup=0.1, batch_size=16)
_WORDS = ("the", "food", "was", "cold", "room", "and", "river", "old", "train", "said", "house", "winter")


def split(rows: int, seed: int, *, regression: bool = False) -> Examples:
    """Short texts that say `good` or `bad` once, which is their label; for a regression: how often `good`."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(rows):
        words = list(generator.choice(_WORDS, generator.integers(3, 12)))
        label = int(generator.integers(4 if regression else 2))
        marks = ["good"] * label if regression else [("bad", "good")[label]]
        for mark in marks:
            words.insert(int(generator.integers(len(words) + 1)), mark)
        texts.append(" ".join(words))
        labels.append(label)
    ids = tuple(f"{seed}.{row}" for row in range(rows))
    return Examples(ids, tuple(texts), label=np.array(labels, dtype=np.float64 if regression else np.int64))


def task(*, regression: bool = False, labels: tuple[str, ...] = ("bad", "good")) -> Task:
    train, validation, test = (split(n, seed, regression=regression) for n, seed in ((256, 1), (96, 2), (128, 3)))
    kind, metric = ("regression", "pearson") if regression else ("classification", "accuracy")
    return Task("toy", kind, () if regression else labels, train, validation, test, metric)  # type: ignore[arg-type]


def write_reviews(path: Path, rows: int) -> Path:
    """A table of texts that end in `good` or `bad` in turn, which is their label."""
    words = np.random.default_rng(0).choice(_WORDS, (rows, 4))
    lines = [f"{' '.join(text)} {'good' if row % 2 else 'bad'},{row % 2}" for row, text in enumerate(words)]
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return path


def task_of(examples: Examples, encoder: Encoder) -> Task:
    """A task whose right answers are what the encoder says: as it is, it is always right."""
    gold = replace(examples, label=encoder.predict(examples).logits.argmax(-1))
    return Task("own", "classification", ("a", "b"), gold, gold, gold, "accuracy")


def fresh(task: Task, tokenizer: Any, name: str = "bert", **changes: Any) -> Encoder:
    """A tiny encoder (4 layers, 4 heads, 48 neurons) that knows nothing."""
    shape = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48}
    if name == "distilbert":
        shape = {"dim": 32, "n_layers": 4, "n_heads": 4, "hidden_dim": 48}
    common = {
        "vocab_size": PIECES,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "num_labels": len(task.labels) or 1,
    }
    config = AutoConfig.for_model(name, **common | shape | changes)
    if task.labels:
        config.id2label = dict(enumerate(task.labels))
        config.label2id = {label: place for place, label in enumerate(task.labels)}
    config.problem_type = "single_label_classification" if task.labels else "regression"
    torch.manual_seed(5)
    return load(AutoModelForSequenceClassification.from_config(config).eval(), tokenizer=tokenizer)


def learned(task: Task, tokenizer: Any, name: str = "bert", **changes: Any) -> Encoder:
    """One that was trained on the task."""
    encoder = fresh(task, tokenizer, name, **changes)
    train(encoder, Labelled(encoder, task), RECIPE, out=None, resume=False)
    return encoder
