"""Folders that the version of commit c2a538d wrote (tests/fixtures/make.py): they open, and give what they gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertscope.core.examples import Examples
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from bertscope.models.states_store import StatesStore

FOLDER = Path(__file__).parents[1] / "fixtures" / "c2a538d"
CLOSE = {"rtol": 1e-5, "atol": 1e-5}  # another processor's sums were 2.6e-6 apart
TASK_HEADS = {
    "cut": "classifier",
    "relu": "classifier",
    "shrunk": "classifier",
    "spans": "span-qa",
    "parser": "parser",
}


@pytest.fixture(scope="module")
def inputs() -> dict[str, Examples]:
    given: dict[str, Any] = json.loads((FOLDER / "inputs.json").read_text())
    columns = ("ids", "text", "pair")
    return {
        name: Examples(
            **{column: tuple(one[column]) for column in columns if one[column]},
            words=tuple(map(tuple, one["words"])) if one["words"] else None,
        )
        for name, one in given.items()
    }


@pytest.fixture(scope="module")
def outputs() -> Any:
    return np.load(FOLDER / "outputs.npz")


@pytest.mark.parametrize("name", TASK_HEADS)
def test_a_model_opens_and_gives_the_same(name, inputs, outputs):
    encoder = load(FOLDER / name, device="cpu")
    assert encoder.task_head == TASK_HEADS[name] and encoder.name.startswith("tiny")
    predicted = encoder.predict(inputs[name])
    assert predicted.truncated == 0
    np.testing.assert_allclose(predicted.logits, outputs[name], **CLOSE)


def test_they_are_what_their_names_say():
    cut = load(FOLDER / "cut", device="cpu")
    assert cut.head_counts == [3, 0, 4] and cut.neuron_counts == [46, 48, 0]
    relu = load(FOLDER / "relu", device="cpu").model
    assert isinstance(relu.classifier[1], torch.nn.ReLU) and not list(relu.base_model.pooler.parameters())
    assert json.loads((FOLDER / "shrunk" / "config.json").read_text())["bertscope"]["shrunk"] is True
    assert load(FOLDER / "base", device="cpu").task_head == "none"
    assert load(FOLDER / "parser", device="cpu", task_head="none").task_head == "none"


@torch.inference_mode()
def test_scores_of_spans_and_arcs_are_the_same(inputs, outputs):
    """Spans and trees are the best of many: a small change would not show in them."""
    spans, parser = (load(FOLDER / name, device="cpu") for name in ("spans", "parser"))
    np.testing.assert_allclose(_raw(spans, inputs["spans"]).start_logits.cpu(), outputs["spans, starts"], **CLOSE)
    vectors, parsing = _raw(parser, inputs["parser"]).last_hidden_state, parser.model.parser
    first = torch.zeros(vectors[:, 1:].shape[:2], dtype=torch.long, device=vectors.device)
    np.testing.assert_allclose(parsing.arcs(vectors).cpu(), outputs["parser, arcs"], **CLOSE)
    np.testing.assert_allclose(parsing.relations(vectors, first).cpu(), outputs["parser, relations"], **CLOSE)


def _raw(encoder, examples: Examples) -> Any:
    pairs = None if examples.pair is None else list(examples.pair)
    coded = encoder.tokenizer(list(examples.text), pairs, padding=True, truncation=True, return_tensors="pt")
    return encoder.model(**coded.to(encoder.device))


def test_hidden_states_open_and_go_on(inputs, outputs):
    states = StatesStore.open(FOLDER / "states")
    assert states.record.name == "tiny" and states.pool == "word" and states.layers == (0, 1, 2, 3)
    np.testing.assert_array_equal(states.array, outputs["states"])
    base = load(FOLDER / "base", device="cpu")
    again = hidden_states(base, inputs["states"], store=FOLDER / "states")  # the same source: opened, not made anew
    np.testing.assert_array_equal(again.array, states.array)
    np.testing.assert_allclose(hidden_states(base, inputs["states"]).array, states.array, **CLOSE)
