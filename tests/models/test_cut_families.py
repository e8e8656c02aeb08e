"""Cuts of every kind of model within a family: what is shared, what is fused, what must stay, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.surgery import refuse_shared
from device import DEVICE
from families import ALIKE, CONFIGS, UNEVEN, tiny_model
from short_training import make_task

SETS = (
    ("head:1.2", "head:2.1", "head:2.4", "head:3.1", "head:3.2"), ("heads:2",), ("heads:1", "heads:2", "heads:3"),
    ("neuron:1.3", "neuron:2.7", "neuron:2.40"), ("mlp:3",), ("mlp:1", "mlp:2", "mlp:3"), ("layer:2",),
    ("head:1.1", "heads:3", "mlp:1", "neuron:3.5", "layer:2"),
)  # fmt: skip
_DEBERTA_V3 = {"share_att_key": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "conv_kernel_size": 0}
VARIANTS = (
    (
        "deberta-v2",
        {"share_att_key": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "conv_kernel_size": 0},
    ),
    ("deberta-v2", {"pos_att_type": ["p2c"]}),
    ("deberta-v2", {"relative_attention": False, "pos_att_type": []}),
    ("eurobert", {"num_key_value_heads": 1}),
    ("eurobert", {"num_key_value_heads": 4}),
    ("eurobert", {"num_key_value_heads": 2, "attention_bias": True, "mlp_bias": True}),
    ("modernbert", {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_pooling": "mean"}),
    ("modernbert", {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}),
    ("roformer", {"rotary_value": True}),
)


def opened(_pocket, name, **changes):
    return load(tiny_model(name, **changes).to(DEVICE), tokenizer=_pocket.tokenizer)


def equal_gates(encoder, texts, sets):
    """The smaller models, each of which says what the gates say, and something else than the whole one."""
    whole, found = encoder.predict(texts).logits, []
    for off in sets:
        with encoder.gates(off=off):
            masked = encoder.predict(texts).logits
        smaller = encoder.cut(off)
        cut = smaller.predict(texts).logits
        assert np.allclose(masked, cut, atol=1e-5), off
        assert np.abs(cut - whole).max() > 1e-4, off
        found.append((smaller, cut))
    return found


def come_back(models, texts, folder) -> None:
    for place, (smaller, cut) in enumerate(models):
        assert np.array_equal(load(smaller.save(folder / str(place))).predict(texts).logits, cut), place


def check(encoder, texts, sets, folder) -> None:
    come_back(equal_gates(encoder, texts, sets), texts, folder)


@pytest.mark.parametrize(("name", "changes"), VARIANTS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_kind_of_model_equals_its_gates_and_comes_back(name, changes, _pocket, texts, tmp_path):
    encoder = opened(_pocket, name, **changes)
    first, *_, last = equal_gates(encoder, texts, SETS)
    come_back([first, last], texts, tmp_path)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "albert"])
def test_each_kind_of_part_equals_its_gates(name, _pocket, texts):
    equal_gates(opened(_pocket, name), texts, SETS)


def test_albert_is_cut_the_same_in_every_layer(_pocket, texts, tmp_path):
    encoder = opened(_pocket, "albert")
    alike = (
        ALIKE, ["heads:1", "heads:2", "heads:3"], ["mlp:1", "mlp:2", "mlp:3"], ["layer:1"], ["layer:2", "layer:3"],
        ["layer:2", "head:1.1", "head:3.1"],
    )  # fmt: skip
    check(encoder, texts, alike, tmp_path)
    for off in (["head:1.1"], ["mlp:2"], ["head:1.1", "head:2.1", "head:3.2"], ["layer:3", "neuron:1.4"]):
        with pytest.raises(UserError, match="one block for many layers, and a cut in one would be a cut in all: cut"):
            encoder.cut(off)
    with pytest.raises(UserError, match=r"leave whole layers out with truncate, or cut the same .* encoder\.cut"):
        refuse_shared(encoder)


def test_an_albert_with_a_block_for_each_layer_is_cut_one_by_one_but_keeps_its_layers(_pocket, texts, tmp_path):
    encoder = opened(_pocket, "albert", num_hidden_groups=3)
    check(encoder, texts, [UNEVEN], tmp_path)
    for off in (["layer:3"], ["layer:3", "head:1.1"]):
        with pytest.raises(UserError, match="can't lose layers: 3 blocks share them out evenly"):
            encoder.cut(off)
    refuse_shared(encoder)


def test_a_first_layer_goes_where_nothing_hangs_on_it(_pocket, texts, tmp_path):
    check(opened(_pocket, "deberta-v2", conv_kernel_size=0), texts, [["layer:1"]], tmp_path)
    for name, why in (("deberta-v2", "a convolution follows it"), ("modernbert", "without a norm before")):
        for off in (["layer:1"], ["layer:1", "head:2.2"]):
            with pytest.raises(UserError, match=f"layer 1 of .* can't be left out: .*{why}"):
                opened(_pocket, name).cut(off)


def test_each_layer_keeps_its_own_kind_of_attention(_pocket, texts):
    for name in ("modernbert", "ultrabert"):
        encoder = opened(_pocket, name, layer_types=["full_attention", "sliding_attention", "full_attention"])
        smaller = encoder.cut(["layer:2", "head:3.1"])
        assert smaller.model.config.layer_types == ["full_attention", "full_attention"]
        kinds = [block.self_attn if name == "ultrabert" else block.attn for block in smaller.layers]
        assert [attention.sliding_window for attention in kinds] == [None, None]


@pytest.mark.parametrize("name", ["mpnet", "eurobert", "ultrabert"])
def test_heads_that_have_a_place_are_told_apart_after_several_cuts(name, _pocket, texts, tmp_path):
    encoder = opened(_pocket, name)
    once = encoder.cut(["head:1.1", "head:2.3"])
    twice = load(once.save(tmp_path / "once")).cut(["head:1.2", "layer:3"])
    folder = twice.save(tmp_path / "twice")
    assert json.loads((folder / "config.json").read_text())["bertscope"]["shape"]["which"] == [[2, 4], [1, 2, 4]]
    off = ["head:1.1", "head:1.3", "head:2.3", "layer:3"]
    with encoder.gates(off=off):
        assert np.allclose(encoder.predict(texts).logits, load(folder).predict(texts).logits, atol=1e-5)
    assert np.array_equal(encoder.cut(off).predict(texts).logits, twice.predict(texts).logits)


@pytest.mark.parametrize(
    "which", [[[0, 1], [1, 2]], [[2, 2], [1, 2]], [[1, 5], [1, 2]], [[1], [1, 2]], "all", [3, 4]]
)
def test_notes_of_heads_that_can_not_be_are_refused(which, _pocket, tmp_path):
    folder = (
        opened(_pocket, "mpnet").cut(["head:1.1", "head:1.2", "head:2.3", "head:2.4", "layer:3"]).save(tmp_path / "m")
    )
    config = json.loads((folder / "config.json").read_text())
    assert config["bertscope"]["shape"]["which"] == [[3, 4], [1, 2]]
    config["bertscope"]["shape"]["which"] = which
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="what bertscope noted there of the model was changed since"):
        load(folder)


def test_cut_models_of_every_kind_are_trained(_pocket, tmp_path):
    task = make_task()
    for name in ("albert", "modernbert", "eurobert", "deberta-v2", "mpnet", "roformer"):
        cut = opened(_pocket, name).cut(ALIKE if name == "albert" else UNEVEN)
        trained = bertscope.finetune(with_classifier(cut, task.labels), task, epochs=1, out=tmp_path / name).encoder
        assert trained.fingerprint != cut.fingerprint
        assert (trained.head_counts, trained.neuron_counts) == (cut.head_counts, cut.neuron_counts)
        again = load(tmp_path / name)
        assert np.array_equal(again.predict(task.test).logits, trained.predict(task.test).logits)
