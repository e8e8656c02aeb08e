"""A circuit built by hand (`planted_circuit`): each question about causes finds it, where it is, and nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bertscope.analyses.ablate.question import ablate
from bertscope.analyses.circuit.question import circuit as circuits
from bertscope.analyses.graft.question import graft
from bertscope.analyses.patch.question import patch
from bertscope.analyses.readout.question import readout
from bertscope.core.intervals import most_by_chance
from planted_circuit import HEAD, MLP, circuit, circuit_pairs, circuit_task

QUICK = {"repeats": 200, "permutations": 1999}


@pytest.fixture(scope="module")
def planted(_pocket):
    return circuit(_pocket.tokenizer)


@pytest.fixture(scope="module")
def task():
    return circuit_task()


def certain(table, by="certain"):
    return set(table.loc[table[by].astype(bool), "unit"])


def test_the_model_is_always_right_and_not_too_sure(planted, task):
    predicted = planted.predict(task.test)
    assert task.score(predicted).value == 1
    assert 0.01 < task.losses(predicted).mean() < 0.2


@pytest.mark.parametrize("part", ["head", "mlp"])
def test_without_either_part_it_knows_nothing(_pocket, task, part):
    model = circuit(_pocket.tokenizer, **{part: False})
    assert task.losses(model.predict(task.test)).mean() == pytest.approx(np.log(2), abs=0.01)


def test_other_parts_do_something_that_is_never_right_or_wrong(planted, task):
    """Otherwise it would be no wonder that nothing else is found."""
    off = [f"head:{layer}.{head}" for layer in (1, 2, 3, 4) for head in (1, 2, 3, 4) if (layer, head) != (2, 3)]
    whole = planted.predict(task.test).logits
    for part in [*off, "mlp:1", "mlp:2", "mlp:4"]:
        with planted.gates(off=[part], mode="zero"):
            moved = np.abs(planted.predict(task.test).logits - whole).max()
        assert 1e-4 < moved < 0.2, part


@pytest.mark.parametrize("mode", ["uniform", "zero", "mean"])
def test_ablate_finds_the_head_and_the_mlp_and_nothing_else(planted, task, mode):
    result = ablate(planted, task, mode=mode, **QUICK)
    assert certain(result.table, "loss_certain") == {HEAD, "heads:2", MLP, "layer:2", "layer:3"}
    for kind, unit in (("head", HEAD), ("mlp", MLP)):
        of_kind = result.table[result.table["kind"] == kind].set_index("unit")["loss_rise"]
        assert of_kind[unit] > 20 * of_kind.drop(unit).abs().max()


def test_graft_finds_the_layer_that_differs_and_the_head_in_it(_pocket, planted, task):
    """The base has other noise in all layers, and no head that moves the sign."""
    result = graft(circuit(_pocket.tokenizer, head=False, drift=0.2), planted, task, **QUICK)
    table = result.table
    single = {"layer:2", "attention:2", HEAD, "attention"}
    assert certain(table[table["direction"] == "needed"]) == single
    sums = {"bottom_up:2", "bottom_up:3", "bottom_up:4", "top_down:1", "top_down:2"}
    assert certain(table[table["direction"] == "enough"]) == single | sums
    assert set(table.loc[table["moved"] == 0, "unit"]) == {"embeddings", "norm", MLP}
    found = table[table["unit"].isin(single | sums)]["share"]
    assert found.between(0.95, 1.05).all()
    assert table[~table["unit"].isin(single | sums)]["share"].abs().max() < 0.05


def test_graft_finds_the_other_layer_where_that_differs(_pocket, planted, task):
    base = circuit(_pocket.tokenizer, mlp=False, drift=0.2)
    result = graft(base, planted, task, units=("layer", "attention", "mlp"), **QUICK)
    assert certain(result.table) == {"layer:3", "mlp:3"}


def test_both_layers_are_needed_and_neither_is_enough(_pocket, planted, task):
    base = circuit(_pocket.tokenizer, head=False, mlp=False, drift=0.2)
    result = graft(base, planted, task, units=("layer", "bottom_up"), **QUICK)
    by = {direction: certain(rows) for direction, rows in result.table.groupby("direction")}
    assert by == {"needed": {"layer:2", "layer:3"}, "enough": {"bottom_up:3", "bottom_up:4"}}


CARRIERS = {
    ("layer", "layer:1", "changed"), ("layer", "layer:2", "cls"), ("layer", "layer:3", "cls"),
    ("heads", "heads:2", "all"), ("head", HEAD, "all"), ("head", HEAD, "cls"), ("mlp", MLP, "all"),
}  # fmt: skip
"""What carries the difference between two texts: the word up to layer 1, [CLS] from layer 2 on, and the circuit."""


def carriers(table):
    return set(table[["kind", "unit", "role"]].itertuples(index=False, name=None))


def test_patch_finds_the_head_the_tokens_and_the_layer_and_nothing_else(planted):
    result = patch(planted, circuit_pairs(), **QUICK)
    assert set(result.table["direction"]) == {"denoise", "noise"}
    for _, table in result.table.groupby("direction"):
        assert carriers(table[table["certain"]]) == CARRIERS
        np.testing.assert_allclose(table.loc[table["certain"], "share"], 1, atol=0.01)
        np.testing.assert_allclose(table.loc[~table["certain"], "share"], 0, atol=0.01)
        for way in ("gradient", "integrated"):
            assert table.loc[table["certain"], way].min() > 50 * table.loc[~table["certain"], way].abs().max()
        np.testing.assert_allclose(table.loc[table["certain"], "integrated"], 1, atol=0.02)
    (taken,) = result.numbers(key="taken_over")
    assert taken.value == 2


def test_readout_finds_the_layer_from_which_the_answer_is_there(planted, task):
    """Read plainly, from the MLP's layer on; through a shortcut, from the head's on, which is where the sign is at
    [CLS], in another direction. Below, nothing is above chance."""
    result = readout(planted, task, repeats=200)
    for reading, layer in (("plain", 3), ("shortcut", 2)):
        for key in ("there", "settle_most"):
            (number,) = result.numbers(key=key, reading=reading)
            assert (number.value, number.low, number.high) == (layer, layer, layer), (reading, key)
        layers = result.tables["layers"].query("reading == @reading").set_index("layer")
        np.testing.assert_array_equal(layers.loc[layer:, "score"], 1)
        below = layers.loc[: layer - 1]
        assert (below["low"] <= 0.5).all() and (below["high"] >= 0.5).all()
        np.testing.assert_allclose(below["loss"], np.log(2), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["head", "mlp", "both"])
def test_by_every_ranking_the_circuit_comes_first_and_is_all_there_is(planted, task, kind):
    result = circuits(planted, task, units=(kind,), steps=20, repeats=200)
    needed = {"head": {HEAD}, "mlp": {MLP}, "both": {HEAD, MLP}}[kind]
    rankings = result.tables["parts"][result.tables["parts"]["kind"].isin(["head", "mlp"])].groupby("ranking")
    assert len(rankings) == 4
    for _, ranked in rankings:
        of_kind = ranked if kind == "both" else ranked[ranked["kind"] == kind]
        assert set(of_kind.nlargest(len(needed), "value")["unit"]) == needed
    smallest, curves = result.tables["smallest"], result.tables["curves"].query("ranking != 'random'")
    assert (smallest["kept"] == len(needed)).all() and (smallest["verdict"] == "as_good").all()
    enough, too_few = curves["kept"] >= len(needed), curves["kept"] < len(needed)
    assert (curves.loc[enough, "score"] == 1).all() and (curves.loc[enough, "faithful"] > 0.98).all()
    assert (curves.loc[too_few, "faithful"] < 0.02).all() and too_few.any()


@pytest.mark.slow
def test_over_twenty_models_nothing_else_is_found_more_often_than_it_may_be(_pocket):
    """Each with noise and texts of its own: the circuit is found in every one."""
    whole = {HEAD, "heads:2", MLP, "layer:2", "layer:3"}
    moved = {"layer:2", "attention:2", HEAD}
    seeds, wrong = range(1, 21), Counter()
    for seed in seeds:
        model, task = circuit(_pocket.tokenizer, seed=seed), circuit_task(seed=seed)
        base = circuit(_pocket.tokenizer, head=False, drift=0.2, seed=seed)
        off = ablate(model, task, **QUICK).table
        grafts = graft(base, model, task, units=("layer", "attention", "mlp", "head"), **QUICK).table
        tables = {("ablate", kind): rows for kind, rows in off.assign(certain=off["loss_certain"]).groupby("kind")}
        tables |= dict(iter(grafts.groupby(["direction", "kind"])))
        assert set(grafts["direction"]) == {"enough", "needed"}
        for key, rows in tables.items():
            true = (whole if key[0] == "ablate" else moved) & set(rows["unit"])
            assert true <= certain(rows), (seed, key)
            wrong[key] += bool(certain(rows) - true)
    assert max(wrong.values()) <= most_by_chance(len(seeds), 0.05, 0.99), wrong


@pytest.mark.slow
def test_over_twenty_models_patch_finds_nothing_else_more_often_than_it_may(_pocket):
    seeds, wrong = range(1, 21), Counter()
    for seed in seeds:
        found = patch(circuit(_pocket.tokenizer, seed=seed), circuit_pairs(64, seed=seed), **QUICK).table
        for key, rows in found.assign(by=found["role"] == "all").groupby(["direction", "kind", "by"]):
            true = CARRIERS & carriers(rows)
            assert true <= carriers(rows[rows["certain"]]), (seed, key)
            wrong[key] += carriers(rows[rows["certain"]]) != true
    assert max(wrong.values()) <= most_by_chance(len(seeds), 0.05, 0.99), wrong
