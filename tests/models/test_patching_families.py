"""Patching in every family: a layer at all tokens is the other run, nothing changes nothing, anything else is what
torch's hooks make of it; and attribution is the slope at small steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.examples import Examples
from bertscope.core.units import Unit, every
from bertscope.models.contrasts import contrasts
from bertscope.models.load import load
from bertscope.models.outputs.kinds import own_output
from bertscope.models.patching import ALL, Patch, patched
from device import DEVICE
from families import MARKED, tiny_model
from plain_patching import logits_of, plain_patch

CLEAN = (
    "a good house by the water", "the old road was so good",
    "it was a good old train , he said", "he said it was the one good house",
)  # fmt: skip
CORRUPTED = tuple(text.replace("good", "bad") for text in CLEAN)
INTO = (("corrupted", "clean"), ("clean", "corrupted"))


def examples(texts):
    return Examples(tuple(map(str, range(len(texts)))), tuple(texts))


def found_of(encoder, **how):
    return contrasts(own_output(encoder, pairs=False), examples(CLEAN), examples(CORRUPTED), **how)


@pytest.fixture(scope="module", params=MARKED)
def encoder(request, _pocket):
    """A tiny model of a family that gives one score: any two texts have different ones."""
    return load(tiny_model(request.param, num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)


def by_hand(encoder, patches, into="corrupted", **how):
    """[patch, pair], with the sign that makes the clean text's score the higher; texts of one length together."""
    ids = [[encoder.tokenizer(text)["input_ids"] for text in side] for side in (CLEAN, CORRUPTED)]
    lengths = np.array([len(one) for one in ids[0]])
    values = np.zeros((len(patches), len(CLEAN)))
    for length in np.unique(lengths):
        pairs = np.flatnonzero(lengths == length)
        clean, corrupted = ([side[pair] for pair in pairs] for side in (CLEAN, CORRUPTED))
        tokens = torch.tensor([[side[pair] for pair in pairs] for side in ids], device=encoder.device)
        changed = tokens[0] != tokens[1]
        at = {ALL: changed | True, "changed": changed, "cls": tokens[0] == tokens[0, 0, 0]}
        sides = (clean, corrupted) if into == "clean" else (corrupted, clean)
        sign = (logits_of(encoder, clean) - logits_of(encoder, corrupted)).sign()
        for row, patch in zip(values, patches, strict=True):
            row[pairs] = (plain_patch(encoder, *sides, patch.unit, at[patch.at], **how) * sign)[:, 0].cpu().numpy()
    return values


def some(encoder):
    """Parts of every kind, in the first, in a middle and in the last layer."""
    units = [Unit("head", 1, 2), Unit("head", 3, 4), Unit("heads", 2), Unit("mlp", 1), Unit("layer", 1)]
    tops = [Patch(Unit("mlp", 3), "cls"), Patch(Unit("layer", 2), "cls"), Patch(Unit("layer", 3), "cls")]
    return [Patch(unit, at) for unit in units for at in (ALL, "changed")] + tops


@pytest.mark.parametrize(("into", "other"), INTO)
def test_a_layer_at_all_tokens_is_the_other_run_and_nothing_is_this_one(encoder, into, other):
    found = found_of(encoder)
    assert len(found) == len(CLEAN) and np.abs(found.between).min() > 1e-3
    layers = every("layer", encoder.head_counts)
    whole = patched(found, [Patch(layer) for layer in layers], into=into)
    np.testing.assert_allclose(whole, np.tile(found.of[other], (len(layers), 1)), atol=1e-5)
    units = [unit for kind in ("head", "heads", "mlp", "layer") for unit in every(kind, encoder.head_counts)]
    nothing = patched(found, [Patch(unit, "mask") for unit in units], into=into)
    np.testing.assert_allclose(nothing, np.tile(found.of[into], (len(units), 1)), atol=1e-5)


def test_a_patch_is_what_hooks_make_of_it(encoder):
    found, patches = found_of(encoder), some(encoder)
    exact = patched(found, patches)
    np.testing.assert_allclose(exact, by_hand(encoder, patches), atol=1e-5)
    assert np.ptp(exact, axis=0).min() > 1e-2


@pytest.mark.parametrize("encoder", ["bert", "albert", "deberta-v2", "distilbert", "modernbert"], indirect=True)
@pytest.mark.parametrize("into", ["corrupted", "clean"])
def test_attribution_is_the_slope_at_a_small_step(request, encoder, into):
    """In double precision, by central differences, whose own error is of the square of the step."""
    encoder.model.double()
    request.addfinalizer(encoder.model.float)
    found, patches = found_of(encoder, gradients=True), some(encoder)
    told = found.attributed.denoise if into == "corrupted" else found.attributed.noise
    single = encoder.model.config.model_type == "modernbert"  # whose rotations stay in single precision
    step, close = (1e-2, {"rtol": 1e-2, "atol": 1e-3}) if single else (1e-4, {"rtol": 1e-4, "atol": 1e-6})
    ahead, back = (by_hand(encoder, patches, into, share=share) for share in (step, -step))
    slope = (ahead - back) / (2 * step) * (1 if into == "corrupted" else -1)
    np.testing.assert_allclose([told.of(patch.unit, patch.at) for patch in patches], slope, **close)
    assert np.abs(slope).max() > 0.1
