"""Models stay open from step to step in the runner: no question may leave one changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bertscope.core.inputs import Inputs
from bertscope.core.registry import QUESTIONS, find, is_model
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.data.minimal import pairs_root
from bertscope.data.read import task_root
from bertscope.models.encoder import Encoder
from bertscope.models.source import model_root
from bertscope.study.execute import perform
from bertscope.study.runner import run_steps
from toy import learned, task

SETTINGS: dict[str, dict[str, Any]] = {
    "patterns": {"repeats": 100},
    "change": {"repeats": 100},
    "features": {"repeats": 100},
    "relations": {"repeats": 100, "least": 5},
    "redundancy": {"repeats": 100, "tokens": 200, "pairs": 2},
    "ablate": {},
    "check": {"repeats": 100},
    "errors": {"repeats": 100, "permutations": 99},
    "graft": {"units": ("layer", "head"), "steps": 3},
    "patch": {"repeats": 100, "permutations": 99, "null": True},
    "minimal-pairs": {"repeats": 100, "null": True},
    "masked-words": {"repeats": 100},
    "forgetting": {"repeats": 100, "probes": False},
    "versus": {"repeats": 100, "permutations": 99},
    "explain": {"sample": 4},
    "importance": {"steps": 2, "random": 2},
    "circuit": {"steps": 2, "random": 3, "nodes": 2, "repeats": 100},
    "prune": {"force": True},
    "erase": {"random": 2, "words": 100, "texts": 10, "repeats": 100, "layers": (1,), "task": "demo/sentiment"},
    "readout": {"repeats": 100, "fit": 40},
    "project": {},
    "ticket": {"epochs": 1},
    "shrink": {"target": "50%", "epochs": 1, "force": True, "onnx": False, "rows": 32},
    "states": {"init": "random"},
    "finetune": {"epochs": 1},
    "untuned": {},
    "contrastive": {"epochs": 1},
}
"""The questions that read a model, as quick as they can be."""
LEFT_OUT = {
    "sentences": "needs scored pairs",
    "sums": "as the question whose sums they are",
    "survey": "asks their tokenizer alone",
    "swap": "as ablate, of one pass",
    "truncate": "needs its trainings",
}


def state(encoder: Encoder) -> tuple[Any, ...]:
    """All of an open model that a question could have changed."""
    model = encoder.model
    hooks = sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules())
    gradients = [(value.requires_grad, value.grad is None) for value in model.parameters()]
    settings = json.dumps(model.config.to_dict(), sort_keys=True, default=str)
    attention = model.config._attn_implementation
    return encoder.fingerprint, encoder.tokenizer_digest, model.training, hooks, gradients, settings, attention


@pytest.fixture(scope="module")
def roots(_pocket, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    encoder = learned(task(labels=("negative", "positive")), _pocket.tokenizer)
    model = model_root(str(encoder.save(folder / "learned")))
    data = task_root("demo/sentiment", limit=120)
    texts = examples_root("demo/corpus", limit=40)
    kinds = {"model": model, "scorer": model, "task": data, "examples": texts, "data": data}
    swapped = [
        (f"{word} was good", f"{word} was bad") for word in ("food", "house", "river", "train", "winter", "room")
    ]
    pairs = {"pairs": pairs_root("demo/minimal", limit=12), "swapped": pairs_root(swapped)}
    return kinds | pairs | {"guesser": model_root("pocket")}


def ask(name: str, kinds: dict[str, Any]) -> Step:
    declared = find(name)
    inputs = {}
    for one in (*declared.inputs, *(["task"] if name == "erase" else [])):
        kind, many = declared.input(one).kind, declared.input(one).many
        inputs[f"{one}.0" if many else one] = ask("prune", kinds) if kind == "result" else kinds[kind]
    if name in ("minimal-pairs", "masked-words", "forgetting"):  # which ask one that guesses words
        inputs["models.0"] = kinds["guesser"]
    if name == "forgetting":  # of what was fine-tuned from it
        inputs["models.1"] = kinds["guesser"]
    if name == "patch":  # which asks of texts that the model answers differently
        inputs["pairs"] = kinds["swapped"]
    return declared.step(inputs, declared.config(**SETTINGS[name]))


def test_no_question_that_reads_a_model_is_forgotten():
    reads = {name for name in QUESTIONS for one in find(name).inputs.values() if is_model(one.kind)}
    assert reads == {*SETTINGS, *LEFT_OUT}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_a_question_leaves_its_model_as_it_was(name, roots, tmp_path):
    store, step = Store(tmp_path), ask(name, roots)
    run_steps([*step.before()], store)
    inputs = Inputs(store.path)
    opened = inputs.of(step)
    models = [one for value in opened.values() for one in (value if isinstance(value, list) else [value])]
    encoders = [one for one in models if isinstance(one, Encoder)]
    for one in encoders:  # transformers puts hooks of its own in place when it is first asked for hidden states
        one.model(**one.tokenizer("it rained", return_tensors="pt").to(one.device), output_hidden_states=True)
    before = [state(one) for one in encoders]
    with store.claim(step) as claim:
        perform(claim, opened)
    assert [state(one) for one in encoders] == before
    if QUESTIONS[name].group:  # and what follows from its answer can be told
        result = store.result(step)
        figures = {"", *(figure.key for figure in result.figures)}
        assert all(one.figure in figures and one.text.endswith(".") for one in find(name).consequences(result))
