"""Cutting: the logits of the gates at 0, exactly the removed parameters fewer, and the same model after reloading."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments, pipeline

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models.load import load
from bertscope.models.observe import observe
from bertscope.models.predict import predict
from device import DEVICE, on_cpu
from families import ALIKE, CONFIGS, MARKED, UNEVEN, tiny_model
from six_sentences import SENTENCES

HIDDEN, HEAD, NEURONS = 24, 6, 40
GATED = ("modernbert", "nomic_bert", "gte", "eurobert", "ultrabert")  # two maps to one neuron
WITHOUT_BIASES = ("modernbert", "nomic_bert", "eurobert", "ultrabert")
SHARING = ("eurobert", "ultrabert")  # heads 1 and 2 read the same keys and values, and so do 3 and 4
STAYS = ("modernbert", "deberta-v2")  # whose first layer can't go


@pytest.fixture
def encoder(name, _pocket):
    return load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)


def size(encoder) -> int:
    return sum(parameter.numel() for parameter in encoder.model.parameters())


def in_heads(name: str, heads: set[int]) -> int:
    """The parameters of these heads of a layer (1 to 4): rows of the queries', keys' and values' maps, columns of the
    projection."""
    row, column = HIDDEN + (name not in WITHOUT_BIASES), HIDDEN
    if name in SHARING:
        return HEAD * (len(heads) * (row + column) + 2 * row * (({1, 2} <= heads) + ({3, 4} <= heads)))
    return HEAD * len(heads) * ((5 if name == "deberta-v2" else 3) * row + column)  # positions have two more maps


def in_neurons(name: str, count: int) -> int:
    rows = 2 if name in GATED else 1
    biases = rows if name not in (*WITHOUT_BIASES, "gte") else 0
    return count * (rows * HIDDEN + biases + HIDDEN)


def in_mlp(name: str) -> int:
    return in_neurons(name, NEURONS) + (HIDDEN if name not in WITHOUT_BIASES else 0)


def in_layer(encoder, layer: int) -> int:
    """Counted by name, whatever the family calls its layers."""
    here = re.compile(rf"\.layers?\.{layer - 1}\.")
    return sum(p.numel() for key, p in encoder.model.named_parameters() if here.search(key))


def random_set(encoder, seed: int) -> tuple[list[Unit], int]:
    """Some heads, neurons, an MLP and a layer, and how many parameters they have."""
    name, generator = encoder.model.config.model_type, np.random.default_rng(seed)
    gone = int(generator.integers(0, 4))  # layer 1 to 3, or none
    gone = 2 if gone == 1 and name in STAYS else gone
    units, removed = [Unit("layer", gone)] if gone else [], 0
    drawn = None
    for layer in sorted({1, 2, 3} - {gone}):
        if drawn is None or name != "albert":  # whose one block loses the same everywhere, once
            heads = {int(head) for head in generator.choice([1, 2, 3, 4], generator.integers(0, 5), replace=False)}
            neurons = generator.choice(NEURONS, generator.integers(0, NEURONS + 1), replace=False) + 1
            drawn = heads, neurons, generator.random() < 0.4
            removed += in_heads(name, heads) + (in_mlp(name) if drawn[2] else in_neurons(name, len(neurons)))
        heads, neurons, mlp = drawn
        units += [Unit("head", layer, head) for head in heads]
        units += [Unit("mlp", layer)] if mlp else [Unit("neuron", layer, int(neuron)) for neuron in neurons]
    return units, removed + (in_layer(encoder, gone) if gone and name != "albert" else 0)


@pytest.mark.parametrize("name", MARKED)
def test_gate_0_equals_the_cut_and_reloads_bit_equal(encoder, texts, tmp_path, name):
    for seed in range(4):
        units, removed = random_set(encoder, seed)
        before, plain = encoder.fingerprint, size(encoder)
        with encoder.gates(off=units):
            masked = predict(encoder, texts).logits
        smaller = encoder.cut(units)
        cut = predict(smaller, texts).logits
        assert np.allclose(masked, cut, atol=1e-5), units
        assert plain - size(smaller) == removed > 0
        assert encoder.fingerprint == before and size(encoder) == plain
        again = load(smaller.save(tmp_path / str(seed)))
        assert again.fingerprint == smaller.fingerprint
        assert np.array_equal(predict(again, texts).logits, cut)
        assert again.head_counts == smaller.head_counts and again.neuron_counts == smaller.neuron_counts


PREDICT = """
import sys
from pathlib import Path
import numpy as np
from bertscope import Examples, load
texts = tuple(sys.argv[2:])
for folder in Path(sys.argv[1]).iterdir():
    np.save(folder / "logits.npy", load(folder).predict(Examples(texts, texts)).logits)
"""


@pytest.fixture(scope="module")
def opened_elsewhere(_pocket, tmp_path_factory):
    """Of some families a cut model's logits, here and from its folder in a new process, one for all."""
    folder, here = tmp_path_factory.mktemp("cut"), {}
    for name in ("bert", "distilbert", "albert", "modernbert", "eurobert", "deberta-v2", "mpnet"):  # one of a kind
        whole = load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)
        smaller = whole.cut(ALIKE if name == "albert" else UNEVEN)
        smaller.save(folder / name)
        here[name] = predict(smaller, Examples(SENTENCES, SENTENCES)).logits
    subprocess.run([sys.executable, "-c", PREDICT, str(folder), *SENTENCES], check=True)
    return {name: (logits, np.load(folder / name / "logits.npy")) for name, logits in here.items()}


def test_reloads_bit_equal_in_a_new_process(opened_elsewhere):
    for name, (here, there) in opened_elsewhere.items():
        assert np.array_equal(here, there), name


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "albert"])
def test_a_cut_model_can_be_gated_and_cut_again(encoder, texts, name):
    once = encoder.cut(["head:1.1", "head:1.2", "layer:2"])
    assert once.head_counts == [2, 4]
    with once.gates(off=["head:1.2", "mlp:2"], mode="uniform"):
        gated = predict(once, texts).logits
    with (
        encoder.gates(off=["head:1.1", "head:1.2", "layer:2"]),
        encoder.gates(off=["head:1.4", "mlp:3"], mode="uniform"),
    ):
        assert np.allclose(predict(encoder, texts).logits, gated, atol=1e-5)
    twice = once.cut(["head:1.2", "heads:2"])
    with once.gates(off=["head:1.2", "heads:2"]):
        assert np.allclose(predict(once, texts).logits, predict(twice, texts).logits, atol=1e-5)
    assert twice.model.config.bertscope["cut"] == [["head:1.1", "head:1.2", "layer:2"], ["head:1.2", "heads:2"]]


@pytest.mark.parametrize("name", MARKED)
def test_layers_and_even_mlps_open_in_plain_transformers(encoder, texts, tmp_path, name):
    off = ["layer:3", *(f"neuron:{layer}.{neuron}" for layer in (1, 2) for neuron in range(1, 11))]
    smaller = encoder.cut(off)
    folder = smaller.save(tmp_path / "even")
    assert "shape" not in json.loads((folder / "config.json").read_text())["bertscope"]
    plain = AutoModelForSequenceClassification.from_pretrained(folder).eval().to(DEVICE)
    batch = smaller.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(DEVICE)
    with torch.no_grad():
        assert torch.equal(plain(**batch).logits, smaller.model(**batch).logits)


@on_cpu
@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_pipelines_and_trainer_take_it(encoder, texts, tmp_path, name):
    smaller = encoder.cut(["heads:1", "head:2.2", "mlp:3"])
    answers = pipeline("text-classification", model=smaller.model, tokenizer=smaller.tokenizer)(list(texts.text))
    names = [smaller.model.config.id2label[int(row)] for row in predict(smaller, texts).logits.argmax(-1)]
    assert [answer["label"] for answer in answers] == names
    rows = [
        {**smaller.tokenizer(text, padding="max_length", max_length=30), "labels": int(label)}
        for text, label in zip(texts.text, texts.label, strict=True)
    ]
    arguments = TrainingArguments(tmp_path / "run", max_steps=2, report_to=[], disable_tqdm=True, use_cpu=True)
    trainer = Trainer(smaller.model, arguments, train_dataset=rows)
    trainer.train()
    trainer.save_model(tmp_path / "trained")
    smaller.tokenizer.save_pretrained(tmp_path / "trained")
    again = load(tmp_path / "trained")
    assert again.head_counts == [0, 3, 4] and again.fingerprint == smaller.fingerprint


def test_a_masked_lm_with_tied_weights_reloads(pocket, tmp_path, texts):
    smaller = pocket.cut(["heads:4", "mlp:7", "head:1.1", "layer:12"])
    again = load(smaller.save(tmp_path / "cut"))
    assert again.fingerprint == smaller.fingerprint and again.task_head == "masked-lm"
    batch = pocket.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(DEVICE)
    with torch.no_grad(), pocket.gates(off=["heads:4", "mlp:7", "head:1.1", "layer:12"]):
        masked = pocket.model(**batch).prediction_logits
        real = batch["attention_mask"].bool()
        assert torch.allclose(again.model(**batch).prediction_logits[real], masked[real], atol=1e-4)


@pytest.mark.parametrize("name", ["bert"])
def test_impossible_cuts_are_refused(encoder, name):
    with pytest.raises(UserError, match="all 3 layers would go"):
        encoder.cut(["layer:1", "layer:2", "layer:3"])
    with pytest.raises(UserError, match=r"neuron:1\.41: layer 1 has neurons 1 to 40"):
        encoder.cut(["neuron:1.41"])
    with pytest.raises(UserError, match=r"head:1\.1: layer 1 has no heads"):
        encoder.cut(["heads:1"]).cut(["head:1.1"])


@pytest.mark.parametrize("name", ["bert", "distilbert", "modernbert", "eurobert", "deberta-v2", "mpnet", "roformer"])
def test_a_layer_without_heads_trains_and_shows_empty_maps(encoder, texts, name):
    class Maps:
        needs = frozenset({"maps", "contexts"})

        def update(self, batch, seen):
            self.shapes = [tuple(maps.shape[1:2]) for maps in seen[0].maps]

    smaller, maps = encoder.cut(["heads:1"]), Maps()
    observe([smaller], texts, [maps])
    assert maps.shapes == [(0,), (4,), (4,)]
    batch = smaller.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(DEVICE)
    with torch.autocast(smaller.device.type, torch.bfloat16, enabled=DEVICE != "cpu"):
        smaller.model.train()(**batch, labels=torch.zeros(6, dtype=torch.long, device=DEVICE)).loss.backward()
    assert all(p.grad is not None for p in smaller.model.parameters() if p.numel() and p.requires_grad)
