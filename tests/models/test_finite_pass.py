"""Weights may be finite and what comes of them not: every kind of pass refuses it, and says where it began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import three_sentences
from bertscope.analyses.gradients import gate_gradients
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models import finite_pass
from bertscope.models.intervene import masked_losses, run_with
from bertscope.models.judge import predict_without
from bertscope.models.load import load
from bertscope.models.observe import observe, observe_layers
from bertscope.models.outputs.kinds import model_output
from bertscope.models.parser import with_parser
from bertscope.models.sentence_vectors import sentence_vectors
from bertscope.models.span_head import with_span_head
from bertscope.models.states import hidden_states
from bertscope.models.states_store import PROGRESS
from device import DEVICE
from families import MARKED, tiny_model
from toy import task

IN_LAYER_2 = "gives NaN or infinite values, in layer 2 at the latest, though its weights are finite"


@pytest.fixture(params=["at once", "at the end"])
def read(request, monkeypatch):
    """Both ways in which a loss is noticed; on a GPU nothing is read at once."""
    if request.param == "at the end":
        monkeypatch.setattr(finite_pass, "_read_at_once", lambda tensor: False)
    return request.param


def overflow(encoder, layer=2):
    """Let a layer's MLP put out what is too large for a number."""
    mlp, out = encoder.parts(encoder.layers[layer - 1])[2:]
    with torch.no_grad():
        (mlp.dense if hasattr(mlp, "dense") else mlp).weight.fill_(1e30)
        out.weight.fill_(1e30)
    return encoder


class Reader:
    """An observer that counts batches."""

    def __init__(self, *needs):
        self.needs, self.batches = frozenset(needs), 0

    def update(self, batch, *_):
        self.batches += 1


def spans(encoder, texts):
    pairs = Examples(texts.ids, ("Who was it?",) * len(texts), pair=texts.text)
    return overflow(with_span_head(encoder)).predict(pairs)


PASSES = {
    "states": lambda encoder, texts: observe([encoder], texts, [Reader("hidden_states")]),
    "nothing inside": lambda encoder, texts: observe([encoder], texts, [Reader("logits")]),
    "maps": lambda encoder, texts: observe_layers([encoder], texts, Reader("maps")),
    "predict": lambda encoder, texts: encoder.predict(texts),
    "means": lambda encoder, texts: encoder.means(texts),
    "vectors": lambda encoder, texts: sentence_vectors(encoder, texts.text, layers=[1]),
    "replay": lambda encoder, texts: predict_without(encoder, texts, [[Unit.parse("head:3.1")]]),
    "brute force": lambda encoder, texts: predict_without(encoder, texts, [[Unit.parse("head:3.1")]], replay=False),
    "intervene": lambda encoder, texts: run_with(model_output(encoder), texts, [None], lambda batch, forms: [*forms]),
    "spans": spans,
    "trees": lambda encoder, texts: overflow(with_parser(encoder, ("a", "b"))).predict(three_sentences.EXAMPLES),
    "gradients": lambda encoder, texts: gate_gradients(encoder, task(), task().validation),
}


@pytest.mark.parametrize("kind", PASSES)
def test_no_pass_lets_it_through(kind, read, tiny, texts):
    with pytest.raises(UserError, match=IN_LAYER_2) as error:
        PASSES[kind](overflow(tiny), texts)
    assert "\n" not in str(error.value) and tiny.name in str(error.value)
    with torch.inference_mode():  # no hook is left
        tiny.model(**{name: held.to(tiny.device) for name, held in tiny.tokenizer("a", return_tensors="pt").items()})


def test_a_language_model_s_losses_are_refused_too(read, pocket, texts):
    with pytest.raises(UserError, match=IN_LAYER_2):
        masked_losses(overflow(pocket), texts, [None])


def test_a_task_head_is_looked_at_too(read, tiny, texts):
    with torch.no_grad():
        tiny.model.classifier.weight.fill_(3e38)
    with pytest.raises(UserError, match="in its last layer or behind it"):
        tiny.predict(texts)
    observe([tiny], texts, [Reader("hidden_states")])  # which doesn't go there


def test_the_second_of_two_models_is_named(read, tiny, pocket, texts):
    bad = overflow(replace(pocket, name="the other"), 12)
    with pytest.raises(UserError, match="the other gives NaN or infinite values, in layer 12"):
        observe([tiny, bad], texts, [Reader("hidden_states")])


def test_one_bad_text_is_enough(read, tiny, texts):
    plain = Examples(tuple("abcde"), ("It was good",) * 5)
    tiny.model.bert.embeddings.word_embeddings.weight.data[tiny.tokenizer.convert_tokens_to_ids("road")] = 3e38
    observe([tiny], plain, [Reader("hidden_states")], tokens=16)
    one = replace(plain, text=(*plain.text[:2], "A long road", *plain.text[3:]))
    with pytest.raises(UserError, match=r"in layer [12] at the latest"):
        observe([tiny], one, [Reader("hidden_states")], tokens=16)


def test_a_token_that_nobody_reads_any_more_is_seen(read, tiny, texts):
    """What gets lost in the last layer reaches no first token."""

    def lose(module, args, output):
        output[:, 1] = torch.inf

    hook = tiny.layers[-1].register_forward_hook(lose)
    with pytest.raises(UserError, match="in its last layer or behind it"):
        observe([tiny], texts, [Reader("hidden_states")])
    hook.remove()


def test_what_breaks_for_it_is_explained(tiny, texts, monkeypatch):
    """An observer that can't cope with NaN is no bug."""
    monkeypatch.setattr(finite_pass, "_read_at_once", lambda tensor: False)

    class Fragile(Reader):
        def update(self, batch, seen):
            np.linalg.eigvals(seen[0].hidden_states[-1][0].cpu().numpy()[:3, :3])

    with pytest.raises(UserError, match=IN_LAYER_2):
        observe([overflow(tiny)], texts, [Fragile("hidden_states")])

    class Wrong(Reader):
        def update(self, batch, seen):
            raise KeyError("of its own")

    with pytest.raises(KeyError, match="of its own"):
        observe([load(tiny_model("bert"), tokenizer=tiny.tokenizer)], texts, [Wrong("hidden_states")])


def test_hidden_states_of_it_are_not_called_done(read, tiny, texts, tmp_path):
    with pytest.raises(UserError, match=IN_LAYER_2):
        hidden_states(overflow(tiny), texts, store=tmp_path / "states")
    assert (tmp_path / "states" / PROGRESS).read_text() == '{"examples": 0}'


def test_gradients_are_looked_at_though_the_way_there_was_finite(tiny, monkeypatch):
    grad = torch.autograd.grad
    monkeypatch.setattr(torch.autograd, "grad", lambda *a, **k: tuple(each * torch.inf for each in grad(*a, **k)))
    with pytest.raises(UserError, match="on the way back, in its gradients"):
        gate_gradients(tiny, task(), task().validation)


@pytest.mark.parametrize("family", MARKED)
def test_no_family_is_refused_for_its_padding(family, read, pocket, many):
    encoder = load(tiny_model(family).to(DEVICE), tokenizer=pocket.tokenizer)
    long = Examples(("a", "b"), ("It was " * 25, "No"), label=np.zeros(2))
    for needs in (["logits"], ["hidden_states"], ["maps", "contexts"]):
        observe([encoder], long, [Reader(*needs)])
    predict_without(encoder, many, [[Unit.parse("layer:2")]])
