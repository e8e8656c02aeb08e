"""The model of `planted_task`, whose task lives in two heads, with the task heads of other outputs on it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from transformers import BertForMultipleChoice, BertForSequenceClassification

import planted_task
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE

SEVERAL = ("any", "fine", "poor")
"""Labels, of which all texts have the first, those that begin well the second, and the others the third."""


def several(tokenizer, labels: tuple[str, ...] = SEVERAL) -> Encoder:
    """One that gives several labels; their names may stand in another order."""
    config, weights = _classifier(tokenizer, {"any": (0.0, 2.0), "fine": (4.0, -1.0), "poor": (-4.0, -1.0)}, labels)
    config.problem_type = "multi_label_classification"
    return _built(tokenizer, config, weights)


def one_logit(tokenizer, name: str = "LABEL_0", *, sign: float = 1.0) -> Encoder:
    """One with a single output, as rerankers have it: above 0 where a text begins well."""
    return _built(tokenizer, *_classifier(tokenizer, {name: (4.0 * sign, 0.0)}, (name,)))


def choosing(tokenizer) -> Encoder:
    """One that gives the candidate that begins best the highest number."""
    config, weights = _classifier(tokenizer, {"score": (4.0, 0.0)}, ("score",))
    return _built(tokenizer, config, weights, BertForMultipleChoice)


def choices_task() -> Task:
    """A text that says nothing and two to four candidates, of which one begins well and the others badly."""

    def changed(examples: Examples, seed: int) -> Examples:
        generator, label = np.random.default_rng(seed), np.asarray(examples.label)
        good, bad = ([text for text, one in zip(examples.text, label, strict=True) if one == side] for side in (1, 0))
        right, choices = [], []
        for row, text in enumerate(good + good):
            texts = list(generator.choice(bad, 1 + row % 3))
            right.append(int(generator.integers(len(texts) + 1)))
            texts.insert(right[-1], text)
            choices.append(tuple(map(str, texts)))
        return replace(examples, text=("the road",) * len(choices), label=np.array(right), choices=tuple(choices))

    task = planted_task.task()
    splits = [changed(one, seed) for seed, one in enumerate((task.train, task.validation, task.test))]
    return Task("planted", "choices", (), *splits, "accuracy")


def several_task() -> Task:
    def changed(examples: Examples) -> Examples:
        good = np.asarray(examples.label)
        return replace(examples, label=np.stack([np.ones_like(good), good, 1 - good], 1))

    task = planted_task.task()
    train, validation, test = map(changed, (task.train, task.validation, task.test))
    return Task("planted", "several", SEVERAL, train, validation, test, "micro_f1")


def _classifier(tokenizer, rows: dict[str, tuple[float, float]], labels: tuple[str, ...]):
    """The config of the planted model with such labels, and its weights: of the pooled number, and a bias, each."""
    base = planted_task.planted(tokenizer).model
    config, state = copy.deepcopy(base.config), base.state_dict()
    config.id2label, config.label2id = dict(enumerate(labels)), {label: at for at, label in enumerate(labels)}
    state["classifier.weight"] = torch.zeros(len(labels), config.hidden_size)
    state["classifier.weight"][:, 0] = torch.tensor([rows[label][0] for label in labels])
    state["classifier.bias"] = torch.tensor([rows[label][1] for label in labels])
    return config, state


def _built(tokenizer, config, state, form=BertForSequenceClassification) -> Encoder:
    model = form(config).eval()
    model.load_state_dict(state)
    return load(model.to(DEVICE), tokenizer=tokenizer)
