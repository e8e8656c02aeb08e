"""Models without some of their layers: what the gates say, plain models of fewer layers, and what must stay."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from bertscope.core.errors import UserError
from bertscope.models.families import descend
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.surgery import without_layers
from device import DEVICE
from families import CONFIGS, MARKED, tiny_model

EVERY = pytest.mark.parametrize("name", MARKED)
STAYS = ("modernbert", "deberta-v2")  # whose first layer can't go


@pytest.fixture
def encoder(name, _pocket):
    return load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)


@EVERY
@pytest.mark.parametrize("layers", [(2, 3), (2,)])
def test_what_is_left_says_what_the_gates_say(encoder, texts, tmp_path, name, layers):
    off = [f"layer:{number}" for number in layers]
    smaller = without_layers(encoder, layers)
    logits = smaller.predict(texts).logits
    with encoder.gates(off=off):
        assert np.allclose(encoder.predict(texts).logits, logits, atol=1e-5)
    assert np.array_equal(encoder.cut(off).predict(texts).logits, logits)
    assert smaller.n_layers == 3 - len(layers) and encoder.n_layers == 3
    again = load(smaller.save(tmp_path / "smaller"))
    assert again.fingerprint == smaller.fingerprint and np.array_equal(again.predict(texts).logits, logits)


@EVERY
def test_truncated_is_a_plain_model_of_fewer_layers(encoder, padded, tmp_path, name):
    smaller = without_layers(encoder, (2, 3))
    folder = smaller.save(tmp_path / "smaller")
    assert "shape" not in json.loads((folder / "config.json").read_text())["bertscope"]
    opened = AutoModelForSequenceClassification.from_pretrained(folder).eval().to(DEVICE)
    # And one that never saw a cut: a shallow model of the library, given the lowest layer's weights.
    other = tiny_model(name, **{"n_layers" if name == "distilbert" else "num_hidden_layers": 1}).to(DEVICE)
    state = {key: value for key, value in encoder.model.state_dict().items() if key in other.state_dict()}
    assert not other.load_state_dict(state, strict=False).missing_keys
    with torch.no_grad():
        logits = smaller.model(**padded(smaller)).logits
        assert torch.equal(opened(**padded(smaller)).logits, logits)
        assert torch.allclose(other(**padded(smaller)).logits, logits, atol=1e-6)
    assert len(dict.fromkeys(descend(opened.base_model, encoder.family.layers))) == 1


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in STAYS])
def test_no_layer_at_all(encoder, texts, tmp_path, name):
    empty = without_layers(encoder, (1, 2, 3))
    encoder = with_classifier(empty, ("a", "b"))
    logits = encoder.predict(texts).logits
    assert encoder.n_layers == encoder.n_heads == 0
    assert np.allclose(logits, logits[:1], atol=1e-6), "the first token knows nothing of the others"
    assert np.array_equal(load(encoder.save(tmp_path / "empty")).predict(texts).logits, logits)
    with encoder.gates():
        assert np.array_equal(encoder.predict(texts).logits, logits)


@pytest.mark.parametrize("name", STAYS)
def test_a_first_layer_that_must_stay(encoder, name):
    with pytest.raises(
        UserError, match=r"layer 1 of .* can't be left out: (it is built unlike|a convolution follows)"
    ):
        without_layers(encoder, (1,))


@pytest.mark.parametrize("name", ["albert"])
def test_several_shared_blocks_are_refused(name, _pocket):
    grouped = load(tiny_model(name, num_hidden_groups=3), tokenizer=_pocket.tokenizer)
    with pytest.raises(UserError, match="can't lose layers: 3 blocks share them"):
        without_layers(grouped, (3,))


def test_a_model_that_was_cut_before_loses_layers_too(tiny, texts, tmp_path):
    once = tiny.cut(["head:3.1", "mlp:2"])
    twice = without_layers(once, (2,))
    assert twice.head_counts == [4, 3]
    assert load(twice.save(tmp_path / "cut")).fingerprint == twice.fingerprint
    encoder = with_classifier(twice, ("a", "b"))
    assert encoder.head_counts == [4, 3]
