"""Layers' states under the task head: those of the library, those of a model without the layers above, and only at
the tokens that the task head looks at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.models.judge import predict_without
from bertscope.models.layer_states import layer_states, other_last_states
from bertscope.models.load import load
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from bertscope.models.readings import Reading, read_layers
from bertscope.models.shortcuts import _OF_A_ROW, Shortcut, some_tokens
from device import DEVICE
from families import MARKED, tiny_model
from output_runs import FAMILIES, models


def encoder_of(family, tokenizer, **changes):
    return load(tiny_model(family, **changes).to(DEVICE), tokenizer=tokenizer)


def read_plainly(encoder, texts) -> tuple[np.ndarray, np.ndarray]:
    """[layer, example, class], and what the model says itself."""
    asked = model_output(encoder)
    (batch,) = asked.batches(texts)
    found = []
    with torch.inference_mode(), layer_states(encoder) as seen:
        whole = asked.run(batch)
        states = seen.all()
        for layer, each in enumerate(states):
            with other_last_states(encoder, each, closed=layer == encoder.n_layers):
                found.append(asked.run(batch))
    back = np.argsort(batch.examples)
    return torch.stack(found).cpu().numpy()[:, back], whole.cpu().numpy()[back]


@pytest.mark.parametrize("family", MARKED)
def test_states_are_the_librarys_and_the_last_are_read_as_the_model_does(family, _pocket, texts):
    encoder = encoder_of(family, _pocket.tokenizer)
    found, whole = read_plainly(encoder, texts)
    np.testing.assert_allclose(found[-1], whole, atol=1e-5)
    np.testing.assert_allclose(whole, encoder.predict(texts).logits, atol=1e-5)
    asked = model_output(encoder)
    (batch,) = asked.batches(texts)
    with torch.inference_mode():
        with layer_states(encoder) as seen:
            asked.run(batch)
            own = seen.all()
        library = encoder.model.base_model(**batch.inputs, output_hidden_states=True).hidden_states
    real = batch.inputs["attention_mask"].bool()
    assert len(own) == len(library) == encoder.n_layers + 1
    for ours, theirs in zip(own, library, strict=True):
        torch.testing.assert_close(ours[real], theirs[real], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", MARKED)
def test_a_layer_read_plainly_is_a_model_without_the_layers_above(family, _pocket, texts):
    """Gates at 0 let a layer's input pass as it is, to the last norm where there is one."""
    encoder = encoder_of(family, _pocket.tokenizer)
    found, whole = read_plainly(encoder, texts)
    layers = encoder.n_layers
    above = [[Unit.parse(f"layer:{one}") for one in range(layer + 1, layers + 1)] for layer in range(layers + 1)]
    without = predict_without(encoder, texts, above).logits
    # DeBERTa's convolution follows its first layer, whether that is on or off.
    first = 1 if encoder.family.first_stays_with else 0
    np.testing.assert_allclose(found[first:], without[first:], atol=1e-5)
    assert np.abs(found[:-1] - whole).max() > 1e-3  # layers do something


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_a_task_head_looks_at_the_tokens_it_says_and_at_no_others(kind, family, _pocket):
    _, model, task = models(kind, family, _pocket.tokenizer)
    task = task.asked_of(model)
    asked = model_output(model, task.output)
    batch = next(iter(asked.batches(task.test, gold=True)))
    with layer_states(model) as seen:
        asked.run(batch)
        last = seen.all()[-1].detach().clone().requires_grad_()
        with other_last_states(model, last, closed=True):
            total, _ = asked.losses(asked.double(asked.run(batch)), batch)
            total.sum().backward()
    looked_at = (last.grad.abs().amax(-1) > 0).cpu()
    read = asked.read_tokens(batch).cpu()
    assert read.any(1).all() and (looked_at == read).all()


@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_a_shortcut_that_changes_nothing_is_read_as_the_model_does(kind, family, _pocket):
    """Behind the last norm, and at the tokens that are read alone."""
    _, model, task = models(kind, family, _pocket.tokenizer)
    task = task.asked_of(model)
    size, last = model.hidden_size, model.n_layers
    nothing = Shortcut(torch.ones(size), torch.eye(size), torch.ones(size), 0.0, 1.0)
    twice = replace(nothing, weight=2 * torch.eye(size))
    found = read_layers(
        model, task.output, task.test, [Reading(last, nothing), Reading(last, twice), Reading(last)]
    ).judged
    np.testing.assert_allclose(found.losses[[1, 3]], found.losses[[0, 0]], atol=1e-5)
    np.testing.assert_allclose(found.divergence[[1, 3]], 0, atol=1e-5)
    assert np.abs(found.losses[2] - found.losses[0]).max() > 1e-4


def test_states_are_given_back_as_they_were(tiny, texts):
    before = tiny.predict(texts).logits
    hooks = sum(len(part._forward_hooks) for part in tiny.model.modules())
    read_plainly(tiny, texts)
    np.testing.assert_array_equal(tiny.predict(texts).logits, before)
    assert sum(len(part._forward_hooks) for part in tiny.model.modules()) == hooks
    assert not any("forward" in vars(part) for part in tiny.model.modules())


def test_a_convolution_behind_the_only_layer_is_refused(_pocket):
    encoder = encoder_of("deberta-v2", _pocket.tokenizer, num_hidden_layers=1)
    refused = pytest.raises(UserError, match="isn't the last to change its states: a convolution follows it; give a")
    with refused, layer_states(encoder):
        pass
    plain = encoder_of("deberta-v2", _pocket.tokenizer, num_hidden_layers=1, conv_kernel_size=0)
    with layer_states(plain):
        pass


def test_of_a_row_a_few_tokens_are_drawn_the_same_in_any_batch(_pocket):
    _, model, task = models("masked", "bert", _pocket.tokenizer)
    task = task.asked_of(model)
    asked = model_output(model, task.output)
    keys = np.arange(len(task.test), dtype=np.uint64) * np.uint64(7919)
    drawn = []
    for tokens in (10_000, 40):
        found = set()
        for batch in asked.batches(task.test, tokens=tokens):
            real = batch.inputs["attention_mask"].bool()
            row, place = some_tokens(real, batch, keys)
            assert real[row, place].all()
            counts = torch.bincount(row, minlength=len(batch)).cpu()
            assert (counts == real.sum(1).cpu().clamp_max(_OF_A_ROW)).all()
            examples = batch.examples[batch.owner.cpu().numpy()[row.cpu().numpy()]]
            found |= set(zip(examples.tolist(), place.tolist(), strict=True))
        drawn.append(found)
    assert drawn[0] == drawn[1] and drawn[0]
