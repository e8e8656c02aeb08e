"""Masks over weights: equal to torch's own pruning, and held through training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from bertscope.models.load import load
from bertscope.models.masks import by_magnitude, held, masked, prunable, pruned_counts, split, zero_out
from families import MARKED, tiny_model


def _linears(encoder):
    return [
        (module, name)
        for block in encoder.layers
        for module in block.modules()
        if isinstance(module, nn.Linear)
        for name in ("weight", "bias")
    ]


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_masks_equal_torchs_global_l1_pruning(tiny, steps):
    gone = list(pruned_counts(len(by_magnitude(tiny)), 0.1))[steps - 1]
    kept = np.ones(len(by_magnitude(tiny)), bool)
    kept[by_magnitude(tiny)[:gone]] = False
    masks = split(tiny, kept)
    names = {id(parameter): name for name, parameter in tiny.model.base_model.named_parameters()}
    listed = _linears(tiny)
    ours = [masks[names[id(getattr(module, name))]] for module, name in listed]
    for _ in range(steps):
        prune.global_unstructured(listed, pruning_method=prune.L1Unstructured, amount=0.1)
    for (module, name), mine in zip(listed, ours, strict=True):
        assert np.array_equal(getattr(module, f"{name}_mask").cpu().numpy().astype(bool), mine)


def test_after_k_steps_that_share_remains():
    total = 5_000_000
    for k, gone in enumerate(pruned_counts(total, 0.1), start=1):
        assert abs((total - gone) - total * 0.9**k) <= 10
        if k == 40:
            break
    assert list(pruned_counts(20, 0.5)) == [10, 15, 17, 19]  # halves are rounded to the even number; then 0 a step


def test_only_the_blocks_linear_maps_are_touched(tiny):
    before = {name: parameter.clone() for name, parameter in tiny.model.named_parameters()}
    zero_out(tiny, np.zeros(len(by_magnitude(tiny)), bool))
    for name, parameter in tiny.model.named_parameters():
        linear = ".layer." in name and "LayerNorm" not in name
        assert torch.equal(parameter, torch.zeros_like(parameter) if linear else before[name]), name


def test_a_mask_leaves_the_model_as_it_was(tiny):
    before = tiny.fingerprint
    kept = np.arange(len(by_magnitude(tiny))) % 3 > 0
    with masked(tiny, kept):
        assert tiny.fingerprint != before
        off = sum(int((parameter == 0).sum()) for parameter in prunable(tiny).values())
        assert off >= (~kept).sum()
    assert tiny.fingerprint == before


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_weights_at_0_stay_there_under_weight_decay_and_momentum(tiny, padded, optimizer):
    kept = np.random.default_rng(0).random(len(by_magnitude(tiny))) < 0.6
    zero_out(tiny, kept)
    parameters = list(tiny.model.parameters())
    make = {
        "adamw": lambda: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1, fused=True),
        "sgd": lambda: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=0.1),
    }[optimizer]()
    start = torch.cat([parameter.detach().flatten() for parameter in prunable(tiny).values()])
    with held(tiny, kept):
        for _ in range(5):
            tiny.model(**padded(tiny)).logits.square().sum().backward()
            make.step()
            make.zero_grad()
    after = torch.cat([parameter.detach().flatten() for parameter in prunable(tiny).values()])
    off = torch.from_numpy(~kept).to(after.device)
    assert torch.equal(after[off], torch.zeros_like(after[off]))
    assert (after[~off] != start[~off]).float().mean() > 0.9  # the rest was trained


@pytest.mark.parametrize("family", MARKED)
def test_every_family_has_weights_to_prune_and_none_twice(family, pocket):
    encoder = load(tiny_model(family), tokenizer=pocket.tokenizer)
    sizes = [parameter.numel() for parameter in prunable(encoder).values()]
    assert len({id(parameter) for parameter in prunable(encoder).values()}) == len(sizes)
    assert sum(sizes) == len(by_magnitude(encoder))
    assert not any("embed" in name.lower() or "norm" in name.lower() for name in prunable(encoder))
