"""Gradients at the gates: finite differences example by example, whatever the batches, in every family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.gradients import Gradients, example_gradients, gate_gradients
from bertscope.core.errors import UserError
from bertscope.data.task import Task
from bertscope.models.load import load
from device import DEVICE
from families import MARKED, tiny_model

STEP = 1e-5
SINGLE = (
    "modernbert",
    "eurobert",
    "ultrabert",
)  # parts of these compute in float32 whatever the weights


@pytest.fixture
def task(texts) -> Task:
    return Task("own", "classification", ("LABEL_0", "LABEL_1"), texts, texts, texts, "accuracy")


@pytest.fixture
def scores(texts) -> Task:
    gold = replace(texts, label=np.array([1.0, 2.5, 4.0, 0.0, 3.0, 2.0]))
    return Task("own", "regression", (), gold, gold, gold, "pearson")


def loss_of(encoder, task, row) -> float:
    """One example's loss, alone in its batch, by the library's own model."""
    inputs = encoder.tokenizer(task.validation.text[row], return_tensors="pt").to(encoder.device)
    with torch.no_grad():
        outputs = encoder.model(**inputs).logits[0]
    gold = task.validation.label[row]
    if task.kind == "regression":
        return float((outputs[0] - gold) ** 2 / task.train.label.var())
    return float(-torch.log_softmax(outputs, -1)[int(gold)])


def nudged(encoder, task, change, size=STEP) -> np.ndarray:
    """(L(1 + h) - L(1 - h)) / 2h for each example, `change` setting some gate."""
    slopes = []
    for row in range(len(task.validation)):
        ends = []
        for step in (size, -size):
            with encoder.gates() as gates:
                change(gates, 1 + step)
                ends.append(loss_of(encoder, task, row))
        slopes.append((ends[0] - ends[1]) / (2 * size))
    return np.array(slopes)


def set_head(layer, head):
    return lambda gates, value: gates.heads.__setitem__((layer, head), value)


def set_mlp(layer):
    return lambda gates, value: gates.mlps.__setitem__(layer, value)


def set_neuron(layer, neuron, width):
    def change(gates, value):
        gates.neurons[layer] = torch.ones(width, dtype=gates.heads.dtype, device=gates.heads.device)
        gates.neurons[layer][neuron] = value

    return change


def in_order(encoder, task, **how) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Every example's gradients, in the examples' order."""
    parts = list(example_gradients(encoder, task, task.validation, **how))
    back = np.argsort(np.concatenate([part.rows for part in parts]))
    neurons = [np.concatenate(layers)[back] for layers in zip(*(part.neurons for part in parts), strict=True)]
    heads, mlps = (np.concatenate([getattr(part, name) for part in parts])[back] for name in ("heads", "mlps"))
    return heads, mlps, neurons


def assert_same(one: Gradients, other: Gradients, **how) -> None:
    for a, b in zip(everything(one), everything(other), strict=True):
        np.testing.assert_allclose(a, b, **how)


def everything(found: Gradients) -> list[np.ndarray]:
    return [found.heads, found.mlps, *(found.neurons or [])]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_every_examples_gradient_is_its_finite_difference(tiny, task, scores, kind):
    if kind == "regression":
        task = scores
        tiny.model.classifier = torch.nn.Linear(24, 1)
        tiny.model.config.num_labels = tiny.model.num_labels = 1
    tiny.model.double().to(DEVICE)
    heads, mlps, neurons = in_order(tiny, task, neurons=True, tokens=40)
    for layer in range(3):
        for head in range(4):
            expected = nudged(tiny, task, set_head(layer, head))
            np.testing.assert_allclose(heads[:, layer, head], expected, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(mlps[:, layer], nudged(tiny, task, set_mlp(layer)), rtol=1e-5, atol=1e-9)
        for neuron in (0, 17, 47):
            expected = nudged(tiny, task, set_neuron(layer, neuron, 48))
            np.testing.assert_allclose(neurons[layer][:, neuron], expected, rtol=1e-5, atol=1e-9)
    found = gate_gradients(tiny, task, task.validation, neurons=True)
    np.testing.assert_allclose(found.heads, np.abs(heads).mean(0), rtol=1e-9)
    np.testing.assert_allclose(found.mlps, np.abs(mlps).mean(0), rtol=1e-9)
    assert found.neurons is not None and np.abs(heads).min() > 1e-7, "every part of this model does something"


@pytest.mark.parametrize("form", ["example", "token"])
def test_neither_batches_nor_order_nor_padding_matter(tiny, task, form):
    tiny.model.double()
    whole = gate_gradients(tiny, task, task.validation, form=form, neurons=True, tokens=10_000)
    alone = gate_gradients(tiny, task, task.validation, form=form, neurons=True, tokens=1)
    turned = gate_gradients(tiny, task, task.validation.take([5, 3, 1, 0, 2, 4]), form=form, neurons=True)
    assert_same(whole, alone, rtol=1e-9)
    assert_same(whole, turned, rtol=1e-9)


def test_the_published_cumulative_form_depends_on_batches_and_order(tiny, task):
    def found(examples, size):
        return gate_gradients(tiny, task, examples, form="cumulative", batch_size=size).heads

    by_one, by_two = found(task.validation, 1), found(task.validation, 2)
    turned = found(task.validation.take([5, 3, 1, 0, 2, 4]), 1)
    assert np.abs(by_one / by_two - 1).max() > 0.1
    assert np.abs(by_one / turned - 1).max() > 0.1
    assert spearman(by_one, turned) < 1 or spearman(by_one, by_two) < 1, "even the ranks"


def spearman(one, other) -> float:
    from scipy.stats import spearmanr

    return spearmanr(one.ravel(), other.ravel()).statistic


def test_the_cumulative_form_is_what_a_script_that_never_clears_gets(tiny, task):
    """Such a script, in a few lines: one gate for all, backward on the batch's mean loss, |grad| added up."""
    tiny.model.double()
    sizes, batches = torch.zeros(3, 4, dtype=torch.double, device=DEVICE), 0
    with tiny.gates() as gates:
        gates.heads.requires_grad_()
        for start in (0, 4):
            texts, gold = task.validation.text[start : start + 4], task.validation.label[start : start + 4]
            inputs = tiny.tokenizer(list(texts), padding=True, return_tensors="pt").to(DEVICE)
            tiny.model(**inputs, labels=torch.from_numpy(gold).to(DEVICE)).loss.backward()
            sizes, batches = sizes + gates.heads.grad.abs(), batches + 1
    found = gate_gradients(tiny, task, task.validation, form="cumulative", batch_size=4)
    np.testing.assert_allclose(found.heads, (sizes / batches).cpu(), rtol=1e-9)


def test_the_token_form_is_the_size_of_output_times_gradient_at_each_token(tiny, task):
    """As Michel's code has it: keep the heads' outputs, backward, dot product by token, |.|, sum."""
    tiny.model.double()
    expected = np.zeros((3, 4))
    kept: list[torch.Tensor] = []

    def keep(module, args):
        args[0].retain_grad()
        kept.append(args[0])

    for block in tiny.model.bert.encoder.layer:
        block.attention.output.dense.register_forward_pre_hook(keep)
    for row, text in enumerate(task.validation.text):
        kept.clear()
        inputs = tiny.tokenizer(text, return_tensors="pt").to(DEVICE)
        tiny.model(**inputs, labels=torch.tensor([int(task.validation.label[row])], device=DEVICE)).loss.backward()
        for layer, context in enumerate(kept):
            dots = (context * context.grad).unflatten(-1, (4, 6)).sum(-1)[0]  # [token, head]
            expected[layer] += dots.abs().sum(0).detach().cpu().numpy()
    for block in tiny.model.bert.encoder.layer:
        block.attention.output.dense._forward_pre_hooks.clear()
    found = gate_gradients(tiny, task, task.validation, form="token", tokens=60)
    np.testing.assert_allclose(found.heads, expected / 6, rtol=1e-9)
    example = gate_gradients(tiny, task, task.validation)
    assert (found.heads >= example.heads - 1e-12).all() and (found.mlps >= example.mlps - 1e-12).all()


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("per_token", [False, True])
def test_every_family(name, per_token, _pocket, texts):
    labels = ("LABEL_0", "LABEL_1", "LABEL_2")
    task = Task("own", "classification", labels, texts, texts, texts, "accuracy")
    encoder = load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)
    encoder.model.double()
    heads, mlps, neurons = in_order(encoder, task, neurons=True, per_token=per_token)
    alone = in_order(encoder, task, neurons=True, per_token=per_token, tokens=1)
    for one, other in zip((heads, mlps, *neurons), (alone[0], alone[1], *alone[2]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
    if per_token:
        return
    size, close = (1e-3, {"rtol": 1e-3, "atol": 1e-3}) if name in SINGLE else (STEP, {"rtol": 1e-5, "atol": 1e-8})
    for layer, head in ((0, 1), (1, 3), (2, 0)):
        for found, change in (
            (heads[:, layer, head], set_head(layer, head)),
            (mlps[:, layer], set_mlp(layer)),
            (neurons[layer][:, 7], set_neuron(layer, 7, 40)),
        ):
            np.testing.assert_allclose(found, nudged(encoder, task, change, size), **close)


def test_with_parts_off_the_others_are_measured_in_what_is_left(tiny, task):
    off = ["head:1.2", "mlp:2", "neuron:3.5"]
    tiny.model.double()
    found = gate_gradients(tiny, task, task.validation, off=off, neurons=True)
    cut = gate_gradients(tiny.cut(off), task, task.validation, neurons=True)
    np.testing.assert_allclose(found.heads[0, [0, 2, 3]], cut.heads[0, :3], rtol=1e-9)
    np.testing.assert_allclose(found.heads[1:], cut.heads[1:], rtol=1e-9)
    np.testing.assert_allclose(found.mlps[[0, 2]], cut.mlps[[0, 2]], rtol=1e-9)
    np.testing.assert_allclose(np.delete(found.neurons[2], 4), cut.neurons[2], rtol=1e-9)
    assert np.isnan(cut.heads[0, 3]) and np.isnan(cut.mlps[1]) and np.isnan(cut.heads).sum() == 1
    assert found.heads[0, 1] > 0, "the gradient at a gate that is 0, not 0"


def test_normalising_by_hand():
    """Layer 1 has length 5, layer 2 length 10, layer 3 lost two heads: the least is 0, the most 1."""
    nan = np.nan
    heads = np.array([[3.0, 4.0, 0.0], [6.0, 8.0, 0.0], [7.0, nan, nan]])
    mlps, neurons = np.array([2.0, 4.0, 3.0]), [np.array([3.0, 4.0]), np.array([5.0])]
    found = Gradients(heads, mlps, neurons).normalised()
    np.testing.assert_allclose(found.heads, [[0.6, 0.8, 0], [0.6, 0.8, 0], [1, nan, nan]])
    np.testing.assert_allclose(found.mlps, [0, 1, 0.5])
    np.testing.assert_allclose(found.neurons[0], [0, 0.5])
    np.testing.assert_allclose(found.neurons[1], [1])
    silent = Gradients(np.zeros((2, 2)), np.ones(2), None).normalised()
    assert not silent.heads.any() and not silent.mlps.any() and silent.neurons is None


def test_labels_in_another_order_mean_the_same(tiny, task):
    tiny.model.config.id2label = {0: "a", 1: "b"}
    named = replace(task, labels=("a", "b"))
    gold = replace(task.validation, label=1 - task.validation.label)
    turned = replace(named, labels=("b", "a"), train=gold, validation=gold, test=gold)
    assert_same(
        gate_gradients(tiny, named, named.validation), gate_gradients(tiny, turned, turned.validation), rtol=1e-5
    )
    assert not np.allclose(
        gate_gradients(tiny, named, gold).heads, gate_gradients(tiny, named, named.validation).heads
    )


def test_the_model_is_left_as_it_was(tiny, task):
    tiny.model.train()
    next(tiny.model.parameters()).requires_grad_(False)
    before = [parameter.requires_grad for parameter in tiny.model.parameters()]
    with torch.no_grad():
        gate_gradients(tiny, task, task.validation)
    assert tiny.model.training
    assert [parameter.requires_grad for parameter in tiny.model.parameters()] == before
    assert all(parameter.grad is None for parameter in tiny.model.parameters())
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in tiny.model.modules())


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_losses_and_outputs_beside_the_gradients_are_the_librarys(tiny, task, scores, kind):
    """With scores, of which the model has no names, the squared error is in variances of the training set."""
    if kind == "regression":
        task = scores
        tiny.model.classifier = torch.nn.Linear(24, 1)
        tiny.model.config.num_labels = tiny.model.num_labels = 1
    tiny.model.to(DEVICE)
    parts = list(example_gradients(tiny, task, task.validation, tokens=40))
    rows, losses, outputs = (np.concatenate([getattr(one, name) for one in parts])
                             for name in ("rows", "losses", "outputs"))  # fmt: skip
    assert len(parts) > 1 and sorted(rows) == list(range(6))
    np.testing.assert_allclose(losses, [loss_of(tiny, task, row) for row in rows], rtol=1e-4)
    np.testing.assert_allclose(outputs, tiny.predict(task.validation).logits[rows], rtol=1e-4, atol=1e-6)


def test_what_can_not_work_is_refused(tiny, pocket, task):
    with pytest.raises(UserError, match="pocket has no classifier"):
        gate_gradients(pocket, task, task.validation)
    with pytest.raises(UserError, match="the examples have no labels, so that nothing on own can be scored"):
        gate_gradients(tiny, task, replace(task.validation, label=None))
    with pytest.raises(UserError, match="no loss without labelled examples"):
        gate_gradients(tiny, task, task.validation.take([]))
    with pytest.raises(UserError, match="the cumulative form is for comparison"):
        gate_gradients(tiny, task, task.validation, form="cumulative", neurons=True)
