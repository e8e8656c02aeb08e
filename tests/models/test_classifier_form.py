"""Classifiers of another form: what they compute, what they weigh, and the same again after reloading."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from bertscope.core.errors import UserError
from bertscope.models.classifier_form import BETWEEN, ClassifierForm
from bertscope.models.families import FAMILIES, descend
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from device import DEVICE
from families import MARKED, tiny_model

EVERY = pytest.mark.parametrize("name", MARKED)
LABELS = ("a", "b", "c")
HIDDEN = 24


@pytest.fixture
def base(name, _pocket):
    return load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)


def size(encoder) -> int:
    return sum(parameter.numel() for parameter in encoder.model.parameters())


def last_linear(encoder):
    return descend(encoder.model, encoder.family.last_linear)


@EVERY
def test_two_maps_with_a_relu_between(base, texts, tmp_path, padded):
    encoder, plain = (
        with_classifier(base, LABELS, seed=3, form=top) for top in (ClassifierForm("relu"), ClassifierForm())
    )
    assert size(encoder) - size(plain) == (HIDDEN + 1) * BETWEEN + (BETWEEN + 1) * 3 - (HIDDEN + 1) * 3
    read = {}
    hook = last_linear(encoder).register_forward_pre_hook(lambda module, args: read.update(features=args[0]))
    with torch.no_grad():
        logits = encoder.model(**padded(encoder)).logits
    hook.remove()
    first, _, second = last_linear(encoder)
    assert BETWEEN == first.out_features == 50, "as in the slides: 768-50-3"
    by_hand = (read["features"] @ first.weight.T + first.bias).clamp_min(0) @ second.weight.T + second.bias
    assert torch.allclose(logits, by_hand, atol=1e-5)
    again = load(encoder.save(tmp_path / "relu"))
    assert again.fingerprint == encoder.fingerprint
    assert np.array_equal(again.predict(texts).logits, encoder.predict(texts).logits)


@pytest.mark.parametrize(
    ("name", "classifier"),
    [
        *((name, "linear") for name, family in FAMILIES.items() if family.pooler),
        ("bert", "relu"),
        ("roberta", "relu"),
    ],
)
def test_without_the_pooler_the_last_layer_reads_the_first_token(base, texts, tmp_path, padded, classifier):
    encoder = with_classifier(base, LABELS, seed=3, form=ClassifierForm(classifier, pooler=False))
    with torch.no_grad():
        logits = encoder.model(**padded(encoder)).logits
        state = encoder.model.base_model(**padded(encoder)).last_hidden_state[:, 0]
        assert torch.allclose(logits, last_linear(encoder)(state), atol=1e-6)
    removed = size(with_classifier(base, LABELS, form=ClassifierForm(classifier))) - size(encoder)
    norm = sum(p.numel() for p in base.model.head.norm.parameters()) if hasattr(base.model, "head") else 0
    bias = 0 if hasattr(base.model, "head") and base.model.head.dense.bias is None else HIDDEN
    assert removed == HIDDEN**2 + bias + norm, "a dense layer, and ModernBERT's norm"
    again = load(encoder.save(tmp_path / "bare"))
    assert again.fingerprint == encoder.fingerprint
    assert np.array_equal(again.predict(texts).logits, encoder.predict(texts).logits)
    assert load(tmp_path / "bare", task_head="none").task_head == "none"


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.dropout])
def test_the_dropout_is_the_familys_own_setting(base, tmp_path):
    encoder = with_classifier(base, LABELS, dropout=0.37)
    folder = encoder.save(tmp_path / "dropping")
    plain = AutoModelForSequenceClassification.from_pretrained(folder)
    assert "top" not in json.loads((folder / "config.json").read_text())["bertscope"]
    for model in (encoder.model, plain):
        assert [module.p for module in model.modules() if isinstance(module, nn.Dropout)].count(0.37) >= 1
    assert torch.equal(plain.state_dict()[f"{base.family.last_linear}.weight"], last_linear(encoder).weight.cpu())


@pytest.mark.parametrize(
    ("name", "pooler"),
    [
        (name, pooler)
        for name, family in FAMILIES.items()
        if family.dropout
        for pooler in (True, False)
        if pooler or family.pooler
    ],
)
def test_the_dropout_is_right_before_the_last_linear(base, padded, pooler):
    """Where it drops everything, the last layer's bias is left, for every text."""
    encoder = with_classifier(base, LABELS, dropout=1.0, form=ClassifierForm(pooler=pooler))
    bias = (
        torch.nn.init.normal_(last_linear(encoder).bias) if last_linear(encoder).bias is not None else torch.zeros(3)
    )
    encoder.model.train()
    assert torch.equal(encoder.model(**padded(encoder)).logits, bias.expand(6, 3))


@pytest.mark.parametrize("name", ["distilbert"])
def test_a_pooler_that_is_code_stays(base):
    with pytest.raises(UserError, match="the layer before the classifier of a distilbert can't be taken off"):
        with_classifier(base, LABELS, form=ClassifierForm(pooler=False))


@pytest.mark.parametrize("name", ["mpnet", "roformer", "eurobert"])
def test_families_without_a_dropout_of_the_classifier_say_so(base):
    with pytest.raises(
        UserError, match=f"a {base.model.config.model_type} has no setting of its own for the dropout"
    ):
        with_classifier(base, LABELS, dropout=0.5)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_what_is_trained_further_or_cut_keeps_or_loses_its_form(base, texts):
    encoder = with_classifier(base, LABELS, form=ClassifierForm("relu", pooler=False))
    cut = encoder.cut(["head:1.2", "layer:3"])
    assert ClassifierForm.of(cut.model.config) == ClassifierForm("relu", pooler=False)
    with encoder.gates(off=["head:1.2", "layer:3"]):
        assert np.allclose(cut.predict(texts).logits, encoder.predict(texts).logits, atol=1e-5)
    plain = with_classifier(encoder, LABELS)
    assert ClassifierForm.of(plain.model.config) == ClassifierForm() and isinstance(last_linear(plain), nn.Linear)


@pytest.mark.parametrize("name", ["bert"])
def test_the_seed_draws_the_new_maps(base):
    one, same, other = (with_classifier(base, LABELS, seed=seed, form=ClassifierForm("relu")) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert torch.equal(
        with_classifier(base, LABELS, seed=1).model.base_model.pooler.dense.weight,
        one.model.base_model.pooler.dense.weight,
    )
