"""Every question that scores, asked of a tiny model of any family and any kind of output, with settings that make it
short; and which of all combinations are always tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from bertscope.core import registry
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.training.task_kinds import with_task_head
from device import DEVICE
from families import tiny_model
from planted_kinds import PLANTED
from planted_outputs import signed_texts

FAMILIES = ("bert", "distilbert", "modernbert", "deberta-v2")
ROWS = 24
_LEARN = {"epochs": 1, "learning_rate": 1e-3}
SETTINGS: dict[str, dict[str, Any]] = {
    "ablate": {"units": ("head", "layer"), "repeats": 100, "permutations": 99},
    "explain": {"sample": 4, "nodes": 4},
    "importance": {"repeats": 100, "random": 2},
    "prune": {"share": 0.5, "force": True},
    "finetune": _LEARN,
    "shrink": {"target": "50%", "step": 0.5, "onnx": False, "force": True, **_LEARN},
    "scratch": {"patterns": False, **_LEARN},
    "truncate": {"remove": ("1",), **_LEARN},
    "freeze": {"sets": ("embeddings,1",), "movement": False, **_LEARN},
    "lottery": {"patterns": False, "force": True, "share": 0.5, "threshold": 0.5, **_LEARN},
    "bias": {"words": ("with",), "swap": ("old/long", "happy/poor", "good/bad"), **_LEARN},
    "redundancy": {"together": ("head:1.1",), "pairs": 2, "repeats": 100},
    "erase": {"targets": ("word",), "types": 4, "layers": (1,), "random": 2, "repeats": 100, "texts": 10},
}
"""How each is asked."""
OF_BASES = ("finetune", "scratch", "truncate", "freeze", "lottery", "bias")
"""Those that train, and so are asked of an encoder whatever is on it."""
Combination = tuple[str, str, str]
"""Kind of output, question, family."""


def every_combination() -> list[Combination]:
    """All that mean something."""
    asked = product(MODEL_OUTPUTS, SETTINGS, FAMILIES)
    return [one for one in asked if one[0] not in registry.find(one[1]).scoring.refuses]  # type: ignore[union-attr]


def sample(combinations_: Sequence[Combination], most: int = 40) -> list[Combination]:
    """At most so many, each the one that brings together most that weren't yet, two at a time."""
    seen: set[tuple[Any, ...]] = set()
    left, drawn = list(combinations_), list[Combination]()
    while left and len(drawn) < most:
        best = max(left, key=lambda one: len({*_pairs(one)} - seen))  # of equals the first
        seen.update(_pairs(best))
        left.remove(best)
        drawn.append(best)
    return drawn


def _pairs(one: Combination) -> Iterator[tuple[Any, ...]]:
    return combinations(enumerate(one), 2)


def models(kind: str, family: str, tokenizer: Any) -> tuple[Encoder, Encoder, Task]:
    """A tiny random encoder, the same with the kind's task head, and the task."""
    task = PLANTED[kind].task(ROWS)
    asked = task.by_vectors() if kind == "vectors" else replace(task, kind=kind)
    form = AutoModelForMaskedLM if kind == "masked" else AutoModelForSequenceClassification
    base = load(tiny_model(family, form).to(DEVICE), tokenizer=tokenizer)
    return base, with_task_head(base, asked, seed=3), task if kind == "one_logit" else asked


def answered(name: str, base: Encoder, model: Encoder, task: Task, folder: Path) -> Result:
    """What the question says of that model, or of trainings of that base."""
    ask, settings = registry.find(name), dict(SETTINGS[name])
    if name == "erase":
        return ask(model, corpus(), task=task, **settings)
    if ask.needs_store:
        return ask(base, task, store=folder, **settings)
    answer = ask(base if name in OF_BASES else model, task, **settings)
    return getattr(answer, "result", answer)


def corpus() -> Examples:
    """Texts whose words are marked."""
    _, ids, text = signed_texts("train", 60)
    return Examples(ids, text, words=tuple(tuple(one.split()) for one in text), name="corpus")
