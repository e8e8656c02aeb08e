"""Patching: a layer at all tokens is the other run, nothing is none; replayed and plain, by gradient and by hand."""

from __future__ import annotations

import copy
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit, every
from bertscope.models.contrasts import contrasts
from bertscope.models.load import load
from bertscope.models.outputs.kinds import own_output
from bertscope.models.paired_rows import ROLES, paired_rows
from bertscope.models.patching import ALL, Patch, patched
from device import DEVICE
from families import tiny_model

CLEAN = (
    "the food was good and the room was cold", "a good house", "he said it was good", "good",
    "the old train was never good", "it was a long road to him , old and good",
)  # fmt: skip
CORRUPTED = (
    "the food was bad and the room was cold", "a bad house", "he said it was bad", "bad",
    "the old river was never bad", "it was a long road to him , old and bad",
)  # fmt: skip


def examples(texts, **more):
    return Examples(tuple(map(str, range(len(texts)))), tuple(texts), **more)


def pairs_of(encoder, clean=CLEAN, corrupted=CORRUPTED, **how):
    return contrasts(own_output(encoder, pairs=False), examples(clean), examples(corrupted), **how)


@pytest.fixture
def scoring(_pocket):
    """A tiny BERT that gives one score: any two texts have different ones."""
    return load(tiny_model("bert", num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)


def everything(encoder, at=(ALL, *ROLES)):
    kinds = ("head", "heads", "mlp", "layer")
    return [Patch(unit, one) for kind in kinds for unit in every(kind, encoder.head_counts) for one in at]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "modernbert", "deberta-v2", "albert"])
def test_a_layer_at_all_tokens_is_the_other_run_and_nothing_is_none(family, _pocket):
    encoder = load(tiny_model(family, num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)
    found = pairs_of(encoder)
    assert len(found) == len(CLEAN) and (found.between > 1e-3).all()
    layers = every("layer", encoder.head_counts)
    for into, other in (("corrupted", "clean"), ("clean", "corrupted")):
        whole = patched(found, [Patch(layer) for layer in layers], into=into)
        np.testing.assert_allclose(whole, np.tile(found.of[other], (len(layers), 1)), atol=1e-5)
        nothing = patched(found, [Patch(unit.unit, "mask") for unit in everything(encoder, at=("mask",))], into=into)
        np.testing.assert_allclose(nothing, np.tile(found.of[into], (len(nothing), 1)), atol=1e-5)
    assert np.abs(patched(found, [Patch(Unit("layer", 1), "changed")]) - found.of["corrupted"]).min() > 1e-4


@pytest.mark.parametrize("family", ["bert", "modernbert", "deberta-v2", "albert"])
def test_a_replayed_patch_is_the_patch_whatever_else_is_in_its_batch(family, _pocket):
    encoder = load(tiny_model(family, num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)
    found = pairs_of(encoder, CLEAN[:3], CORRUPTED[:3])
    patches = everything(encoder, at=(ALL, "after"))
    plain = patched(found, patches, replay=False, tokens=1)
    for tokens in (None, 64):
        np.testing.assert_allclose(patched(found, patches, tokens=tokens), plain, atol=1e-5)
    assert np.ptp(plain, axis=0).min() > 1e-2


@contextmanager
def hooked(module, hook, pre=False):
    handle = module.register_forward_pre_hook(hook) if pre else module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def by_hand(encoder, found, patch, pair, share=1.0):
    """One corrupted text with an activation moved toward the clean text's, by torch's hooks alone; the score with the
    sign that makes the clean one the higher."""
    model, layer, head = encoder.model, patch.unit.layer_index, patch.unit.number
    block = model.bert.encoder.layer[layer]
    module, pre = {"layer": (block, False), "mlp": (block.output.dense, False)}.get(
        patch.unit.kind, (block.attention.output.dense, True)
    )
    inputs = [encoder.tokenizer(texts[pair], return_tensors="pt").to(DEVICE) for texts in (CLEAN, CORRUPTED)]
    ids = [one["input_ids"][0] for one in inputs]
    changed = (ids[0] != ids[1]).nonzero()[:, 0].tolist()
    last = len(ids[0]) - 1
    places = {
        ALL: range(last + 1), "changed": changed, "cls": [0], "sep": [last], "mask": [],
        "before": range(1, changed[0]), "after": [at for at in range(changed[0], last) if at not in changed],
    }[patch.at]  # fmt: skip
    size = encoder.head_size
    columns = slice(None) if head is None else slice((head - 1) * size, head * size)
    held = {}

    def keep(module, args, output=None):
        value = args[0] if pre else output
        held["clean"] = (value[0] if isinstance(value, tuple) else value).detach().clone()

    def move(module, args, output=None):
        value = args[0] if pre else output
        value = (value[0] if isinstance(value, tuple) else value).clone()
        for at in places:
            own = value[:, at, columns]
            value[:, at, columns] = own + share * (held["clean"][:, at, columns] - own)
        return (value,) if pre else value

    with torch.no_grad():
        with hooked(module, keep, pre):
            clean = model(**inputs[0]).logits[0, 0]
        corrupted = model(**inputs[1]).logits[0, 0]
        with hooked(module, move, pre):
            moved = model(**inputs[1]).logits[0, 0]
    return float(moved * (clean - corrupted).sign())


def test_the_scan_is_a_plain_loop_over_hooks(scoring):
    found, patches = pairs_of(scoring), everything(scoring, at=(ALL, "changed", "before", "sep"))
    exact = patched(found, patches)
    for row, patch in zip(exact, patches, strict=True):
        expected = [by_hand(scoring, found, patch, pair) for pair in range(len(CLEAN))]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_attribution_is_the_finite_difference(scoring):
    scoring.model.double()
    found, step = pairs_of(scoring, gradients=True), 1e-6
    patches = everything(scoring, at=(ALL, "changed", "after"))
    for patch in patches:
        moved = np.array([by_hand(scoring, found, patch, pair, step) for pair in range(len(CLEAN))])
        slope = (moved - found.of["corrupted"]) / step
        np.testing.assert_allclose(found.attributed.denoise.of(patch.unit, patch.at), slope, rtol=1e-3, atol=1e-6)
    exact = patched(found, patches) - found.of["corrupted"]
    first_order = np.array([found.attributed.denoise.of(patch.unit, patch.at) for patch in patches])
    assert np.abs(first_order - exact).max() > 1e-2  # not the same thing


def test_noise_is_denoise_of_the_pair_the_other_way_round(scoring):
    one, other = pairs_of(scoring, gradients=True), pairs_of(scoring, CORRUPTED, CLEAN, gradients=True)
    patches = everything(scoring)
    np.testing.assert_allclose(one.of["clean"], -other.of["corrupted"], atol=1e-5)
    np.testing.assert_allclose(patched(one, patches, into="clean"), -patched(other, patches), atol=1e-5)
    for patch in patches:
        taken = [found.of(patch.unit, patch.at) for found in (one.attributed.noise, other.attributed.denoise)]
        np.testing.assert_allclose(*taken, atol=1e-4)


@pytest.fixture
def linear(scoring):
    """Linear in every activation: no norms, uniform attention, identities for what bends."""
    encoder = load(copy.deepcopy(scoring.model).double(), tokenizer=scoring.tokenizer)
    bert = encoder.model.bert
    with torch.no_grad():
        for block in bert.encoder.layer:
            for each in (block.attention.self.query.weight, block.attention.self.query.bias):
                each.zero_()
            block.attention.output.LayerNorm = block.output.LayerNorm = nn.Identity()
            block.intermediate.intermediate_act_fn = nn.Identity()
    bert.pooler.activation = nn.Identity()
    return encoder


def test_where_all_is_linear_gradients_are_exact(linear):
    found, patches = pairs_of(linear, gradients=True, nodes=5), everything(linear)
    exact = patched(found, patches)
    back = patched(found, patches, into="clean")
    effect = {"denoise": exact - found.of["corrupted"], "noise": found.of["clean"] - back}
    for direction, values in effect.items():
        for way in (getattr(found.attributed, direction), found.attributed.integrated):
            told = np.array([way.of(patch.unit, patch.at) for patch in patches])
            np.testing.assert_allclose(told, values, atol=1e-9)
    assert np.abs(effect["denoise"]).max() > 1


def test_integrated_gradients_of_the_embeddings_add_up_to_the_difference(scoring):
    scoring.model.double()
    found = pairs_of(scoring, gradients=True, nodes=100)
    whole = found.attributed.integrated.of(Unit("layer", 0), ALL)
    np.testing.assert_allclose(whole, found.between, rtol=1e-6)
    changed = found.attributed.integrated.of(Unit("layer", 0), "changed")
    np.testing.assert_allclose(changed, found.between, rtol=1e-6)
    few = pairs_of(scoring, gradients=True, nodes=5).attributed.integrated.of(Unit("layer", 0), ALL)
    assert not np.allclose(few, found.between, rtol=1e-6)


def test_the_embeddings_at_the_changed_tokens_are_all_of_it(scoring):
    found = pairs_of(scoring)
    at = [patched(found, [Patch(Unit("layer", 0), role)])[0] for role in ("changed", "before")]
    np.testing.assert_allclose(at[0], found.of["clean"], atol=1e-5)
    np.testing.assert_allclose(at[1], found.of["corrupted"], atol=1e-5)


def test_another_pair_gives_its_activation(scoring):
    clean = ("a good house", "a cold road", "the old train was never good")
    corrupted = ("a bad house", "a long road", "the old river was never bad")
    found = pairs_of(scoring, clean, corrupted)
    swapped = patched(found, [Patch(Unit("layer", 2))], pairs=np.array([0, 1]), donors=np.array([1, 0]))
    score = {text: scoring.predict([text]).logits[0, 0] for text in clean}
    signs = np.sign([scoring.predict([one]).logits[0, 0] - scoring.predict([other]).logits[0, 0]
                     for one, other in zip(clean[:2], corrupted[:2], strict=True)])  # fmt: skip
    np.testing.assert_allclose(swapped[0], signs * [score[clean[1]], score[clean[0]]], atol=1e-5)
    assert found.paired.layouts[0] == found.paired.layouts[1] != found.paired.layouts[2]


def test_roles_and_what_is_left_out(_pocket):
    encoder = load(tiny_model("bert", num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)
    clean = ["the old train was never good", "a good house", "a house", " ".join(["good"] * 100)]
    corrupted = ["the old river was never bad", "a bad old house", "a house", " ".join(["bad"] * 100)]
    asked = own_output(encoder, pairs=False)
    paired = paired_rows(asked, examples(clean), examples(corrupted))
    assert paired.pairs.tolist() == [0, 2] and paired.dropped == {"long": 1, "unequal": 1, "no_mask": 0}
    told = [ROLES[code - 1] for code in paired.roles]
    assert told[:8] == ["cls", "before", "before", "changed", "after", "after", "changed", "sep"]
    assert told[8:] == ["cls", "before", "before", "sep"]
    found = contrasts(asked, examples(clean), examples(corrupted))
    assert len(found) == 1 and found.paired.dropped["same"] == 1


def test_uneven_lists_are_refused(scoring):
    with pytest.raises(UserError, match="2 clean texts and 1 corrupted"):
        pairs_of(scoring, ["a", "b"], ["a"])
