"""Where there is nothing to find, questions about causes find no more than they may: of random weights, of labels and
sides of pairs that were drawn by coin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.ablate.question import ablate
from bertscope.analyses.circuit.question import circuit
from bertscope.analyses.minimal_pairs.question import minimal_pairs
from bertscope.analyses.patch.question import patch
from bertscope.analyses.readout.question import readout
from bertscope.core import null_panel
from bertscope.core.intervals import most_by_chance
from bertscope.core.ranking import RANDOM
from bertscope.data.minimal import MinimalPairs, read_pairs
from bertscope.models.load import load
from device import DEVICE
from families import tiny_model
from toy import task as toy_task


def random_model(tokenizer, **how):
    return load(tiny_model("bert", **how).to(DEVICE), tokenizer=tokenizer)


def by_coin(task, seed):
    """The task with labels that have nothing to do with its texts."""
    random = np.random.default_rng([seed, 5])
    splits = {
        name: replace(rows := getattr(task, name), label=random.permutation(np.arange(len(rows)) % 2))
        for name in ("train", "validation", "test")
    }
    return replace(task, **splits)


def exchanged(pairs, seed):
    """The pairs with their sides exchanged by coin."""
    coin = np.random.default_rng([seed, 6]).integers(0, 2, len(pairs)).astype(bool)
    sides = [tuple(np.where(coin == which, pairs.clean.text, pairs.corrupted.text)) for which in (False, True)]
    clean, corrupted = (replace(pairs.clean, text=tuple(map(str, side))) for side in sides)
    return MinimalPairs(pairs.name, clean, corrupted, pairs.phenomenon)


def at_most(found, trials, rate=0.05):
    return found <= most_by_chance(trials, rate, 0.99)


@pytest.mark.slow
def test_readout_says_of_labels_by_coin_that_no_layer_has_the_answer(_pocket):
    """It is there at most as often as a model seems better than chance."""
    model, task, draws = random_model(_pocket.tokenizer, num_labels=2), toy_task(), 40
    there = 0
    for seed in range(draws):
        result = readout(model, by_coin(task, seed), fit=0, repeats=200)
        there += bool(result.numbers(key="there"))
    assert at_most(there, draws), there


@pytest.mark.slow
def test_no_ranking_is_better_than_random_where_labels_are_by_coin(_pocket):
    """By the score, of which there is none to keep. What predictions keep of the whole model's is another matter."""
    model, task, draws = random_model(_pocket.tokenizer, num_labels=2), toy_task(), 40
    better = 0
    for seed in range(draws):
        areas = circuit(model, by_coin(task, seed), units=("head",), steps=4, repeats=200, seed=seed).tables["areas"]
        areas = areas[areas["ranking"] != RANDOM]
        better += bool((areas["one_more_low"] > 0).any() or (areas["one_more_high"] < 0).any())
    assert at_most(better, draws), better


@pytest.mark.slow
def test_a_ranking_by_coin_is_no_better_than_random_orders(_pocket):
    """Neither by the score nor by what predictions keep: a stored ranking whose numbers mean nothing."""
    model, task, draws = random_model(_pocket.tokenizer, num_labels=2), toy_task(), 40
    stored, found = ablate(model, task, units=("head",), mode="zero", repeats=100, permutations=99), Counter()
    for seed in range(draws):
        stored.table["loss_rise"] = np.random.default_rng(seed).random(len(stored.table))
        result = circuit(model, task, units=("head",), by=(), rankings=[stored], steps=6, repeats=200, seed=seed)
        (areas,) = result.tables["areas"].query("ranking != @RANDOM").to_dict("records")
        for by in ("", "faithful_"):
            found[by] += not areas[f"{by}one_more_low"] <= 0 <= areas[f"{by}one_more_high"]
    assert all(at_most(one, draws) for one in found.values()), found


@pytest.mark.slow
def test_minimal_pairs_finds_no_phenomenon_where_sides_are_by_coin(_pocket):
    from transformers import AutoModelForMaskedLM

    model = random_model(_pocket.tokenizer, form=AutoModelForMaskedLM)
    pairs, draws = read_pairs("demo/minimal", limit=90), 40
    found = 0
    for seed in range(draws):
        found += bool(minimal_pairs(model, exchanged(pairs, seed), repeats=100).tables["phenomena"]["certain"].any())
    assert at_most(found, draws), found


@pytest.mark.slow
def test_the_null_panel_of_patch_holds_of_random_weights(_pocket):
    """Their activations do carry what texts differ in; two unrelated texts with the same answer give alike."""
    pairs, findings, draws = read_pairs("demo/minimal", limit=300), 0, 0
    for seed in range(3):
        torch.manual_seed(seed)
        drawn = random_model(_pocket.tokenizer, num_labels=1)
        with torch.no_grad():
            for weight in drawn.model.parameters():
                weight.copy_(weight.flatten()[torch.randperm(weight.numel())].view_as(weight))
        result = patch(
            drawn, pairs, units=("layer", "head", "mlp"), directions=("denoise",), null=True, sample=80,
            repeats=100, permutations=999, seed=seed,
        )  # fmt: skip
        panel = result.tables[null_panel.TABLE]
        findings, draws = findings + int(panel["findings"].sum()), draws + int(panel["draws"].sum())
        assert not null_panel.fails(result)
    assert 0 < findings <= 0.06 * draws
