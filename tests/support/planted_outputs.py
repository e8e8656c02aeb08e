"""The model of `planted_task`, whose task lives in two heads, with the task heads of other outputs on it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from transformers import BertForSequenceClassification

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


def _built(tokenizer, config, state) -> Encoder:
    model = BertForSequenceClassification(config).eval()
    model.load_state_dict(state)
    return load(model.to(DEVICE), tokenizer=tokenizer)
