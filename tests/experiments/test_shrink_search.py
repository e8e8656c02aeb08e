"""What goes: targets, numbers of parts that were cut twice, and searches for planted useless parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import toy
from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.experiments.shrink import search as search_module
from bertscope.experiments.shrink.costs import Cost, parameter_cost
from bertscope.experiments.shrink.question import Target
from bertscope.experiments.shrink.search import Move, PartIndex, Search
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.load import load
from families import tiny_model

TIME = Cost("ms", 1.0, 0.5, 1.0, 0.05)
FAMILIES = ("bert", "roberta", "distilbert", "electra")


@pytest.mark.parametrize(
    ("text", "kind", "value", "said"),
    [
        ("2x", "times", 2, "2x"), ("1.5X", "times", 1.5, "1.5x"), (" 50% ", "share", 0.5, "50%"),
        ("12.5 %", "share", 0.125, "12.5%"), ("1 point", "points", 0.01, "1 point"), ("2.5 points", "points", 0.025,
        "2.5 points"),
    ],
)  # fmt: skip
def test_targets(text, kind, value, said):
    target = Target.parse(text)
    assert (target.kind, target.value, str(target)) == (kind, pytest.approx(value), said)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("fast", "'fast' is no target; write 2x"), ("2", "no target"), ("x2", "no target"), ("-2x", "no target"),
        ("2x faster", "no target"), ("", "no target"), ("1x", "no faster model"), ("0.5x", "no faster model"),
        ("0%", "no share of parameters"), ("100%", "no share of parameters"), ("150%", "no share of parameters"),
        ("0 points", "no loss one could allow"), ("100 points", "no loss one could allow"), ("nanx", "no target"),
    ],
)  # fmt: skip
def test_wrong_targets_are_one_line(text, line):
    with pytest.raises(UserError, match=line) as raised:
        Target.parse(text)
    assert "\n" not in str(raised.value)


def test_numbers_of_what_was_cut_and_cut_again(tiny):
    whole = PartIndex.of(tiny)
    once = whole.without([Unit("layer", 2), Unit("head", 1, 2), Unit("neuron", 3, 1), Unit("mlp", 1)])
    assert once.layers == (1, 3) and once.heads == ((1, 3, 4), (1, 2, 3, 4))
    assert once.neurons == ((), tuple(range(2, 49)))
    assert once.original(Unit("layer", 2)) == Unit("layer", 3) and once.original(Unit("mlp", 2)) == Unit("mlp", 3)
    assert once.original(Unit("head", 1, 2)) == Unit("head", 1, 3)
    twice = once.without([Unit("heads", 1), Unit("neuron", 2, 1)])
    assert twice.heads == ((), (1, 2, 3, 4)) and twice.original(Unit("neuron", 2, 1)) == Unit("neuron", 3, 3)


@pytest.fixture
def sure(_pocket, toy_task):
    """A random regressor and scores that are its own but for a little noise: whatever changes it makes it worse."""
    encoder = load(tiny_model("bert", num_labels=1, problem_type="regression"), tokenizer=_pocket.tokenizer)

    def scores_for(encoder: Encoder) -> Task:
        said = encoder.predict(toy_task.validation).logits[:, 0].astype(float)
        noise = np.random.default_rng(0).normal(size=len(said)) * 0.01
        gold = replace(toy_task.validation, label=said + noise)
        return Task("own", "regression", (), gold, gold, gold, "pearson")

    return encoder, scores_for


def silence(encoder, layer, heads=(), neurons=()):
    """Take away what these parts (0-based) add: the model says the same without them."""
    _, projection, _, mlp_out = encoder.parts(encoder.layers[layer])
    size = encoder.head_size
    with torch.no_grad():
        for head in heads:
            projection.weight[:, head * size : (head + 1) * size] = 0
        mlp_out.weight[:, list(neurons)] = 0


def make_idle(encoder):
    """Have the second layer do nothing: its two LayerNorms alone, of what the first has normalised already."""
    with torch.no_grad():
        for part in encoder.parts(encoder.layers[1])[1::2]:
            part.weight.zero_()
            part.bias.zero_()
        for layer in encoder.layers[:2]:
            for name, parameter in layer.named_parameters():
                if "LayerNorm" in name:
                    parameter.fill_(1.0 if name.endswith("weight") else 0.0)


def test_planted_useless_heads_and_neurons_go_first_and_nothing_changes(sure):
    encoder, scores_for = sure
    heads, neurons = {(0, 1), (1, 0), (1, 3), (2, 2)}, {(1, neuron) for neuron in range(5, 21)}  # a whole bundle
    for layer, head in heads:
        silence(encoder, layer, heads=[head])
    silence(encoder, 1, neurons=range(5, 21))
    own = scores_for(encoder)
    for cost, planted in ((Cost("ms", 1, 0, 1, 0), heads), (Cost("ms", 1, 0, 0, 1), neurons)):
        search = Search(encoder, own, own.validation, cost, step=0.5)
        search.to(cost.of(encoder) - len(planted))
        assert {(unit.layer_index, unit.index) for unit in search.off} == planted
        assert np.allclose(
            search.encoder.predict(own.validation).logits, encoder.predict(own.validation).logits, atol=1e-5
        )
    both = Search(encoder, own, own.validation, Cost("ms", 1, 0, 16, 1), step=0.5)  # a head costs what a bundle does
    both.to(both.now - 5 * 16)
    assert {(unit.layer_index, unit.index) for unit in both.off} == heads | neurons
    assert both.rows[0]["move"] == "heads_and_neurons" and len(both.rows) == 1


def test_a_plain_search_takes_the_least_felt_neurons_of_each_layer(sure):
    encoder, scores_for = sure
    planted = {(layer, neuron) for layer, start in enumerate((0, 9, 20)) for neuron in range(start, start + 16)}
    for layer in range(3):
        silence(encoder, layer, neurons=[neuron for at, neuron in planted if at == layer])
    own = scores_for(encoder)
    search = Search(encoder, own, own.validation, Cost("ms", 1, 0, 0, 1), step=0.5, plain=True)
    search.to(search.now - len(planted))
    assert {(unit.layer_index, unit.index) for unit in search.off} == planted


def test_the_least_felt_mlp_may_go_whole(sure):
    encoder, scores_for = sure
    with torch.no_grad():
        encoder.parts(encoder.layers[1])[3].weight.zero_()
        encoder.parts(encoder.layers[1])[3].bias.zero_()
    own = scores_for(encoder)
    search = Search(encoder, own, own.validation, Cost("ms", 1, 1, 1, 0.5))
    (move,) = (move for move in search._moves(1.0) if move.kind == "mlp")
    assert move.units == (Unit("mlp", 2),) and move.saved == 0.5 * 40


@pytest.mark.parametrize(("goal", "kind"), [(1.0, "layer"), (50.5, "heads")])
def test_the_smallest_rise_for_what_is_saved_of_what_is_wanted(toy_model, toy_task, monkeypatch, goal, kind):
    """A layer saves ten times what a head does and costs five times as much; beyond the goal that's worth nothing."""
    search = Search(toy_model, toy_task, toy_task.validation, Cost("ms", 51.5 - 10 * 4, 10, 0, 0), step=0.5)
    moves = [Move("heads", (Unit("head", 1, 1),), 0.0, 1.0), Move("layer", (Unit("layer", 2),), 0.0, 10.0)]
    outputs = np.zeros((3, len(toy_task.validation), 2), np.float32)
    losses = np.repeat([[1.0], [1.1], [1.5]], len(toy_task.validation), 1)
    judged = SimpleNamespace(losses=losses, moments=toy_task.moments(outputs, toy_task.validation))
    monkeypatch.setattr(search, "_moves", lambda wanted: iter(moves))
    monkeypatch.setattr(search, "_tried", lambda moves: judged)
    assert search.advance(goal) and search.rows[-1]["move"] == kind


def test_pieces_go_by_what_is_felt_for_what_they_save():
    head, bundle = Unit("head", 1, 1), Unit("neuron", 1, 1)
    pieces = [Move("", (head,), 1.0, 1.0), Move("", (bundle,), 1.5, 3.0)]
    some, all_of_them = (search_module._cheapest("both", pieces, wanted) for wanted in (3.0, 3.5))
    assert (some.units, some.saved) == ((bundle,), 3.0)
    assert (all_of_them.units, all_of_them.felt, all_of_them.saved) == ((bundle, head), 2.5, 4.0)


def test_a_planted_idle_layer_goes_where_layers_make_time(sure):
    encoder, scores_for = sure
    make_idle(encoder)
    own = scores_for(encoder)
    search = Search(encoder, own, own.validation, Cost("ms", 1, 1, 0, 0), step=0.5)
    search.to(3.0)
    assert search.off == {Unit("layer", 2)} and search.rows[0]["move"] == "layer"


def test_the_last_heads_stay_though_their_layer_is_idle(sure):
    encoder, scores_for = sure
    encoder = encoder.cut(["heads:1", "heads:3"])
    make_idle(encoder)
    sure_of = scores_for(encoder)
    search = Search(encoder, sure_of, sure_of.validation, Cost("ms", 1, 1, 0, 0), step=0.5)
    search.to(search.least)
    assert search.off == {Unit("layer", 1), Unit("layer", 3)} and search.encoder.head_counts == [4]


def test_layers_are_all_tried_once_and_then_those_that_were_missed_least(toy_task, _pocket, monkeypatch):
    encoder = load(tiny_model("bert", num_labels=2, num_hidden_layers=6), tokenizer=_pocket.tokenizer)
    tried = []

    def watched(encoder, output, examples, sets):
        tried.append([units[0].layer for units in sets if units and units[0].kind == "layer"])
        return judge_without(encoder, output, examples, sets)

    monkeypatch.setattr(search_module, "judge_without", watched)
    own = toy.task(labels=("LABEL_0", "LABEL_1"))
    search = Search(encoder, own, own.validation, TIME, step=0.03)
    while len(search.rows) < 10:
        search.advance()
    assert tried[0] == [1, 2, 3, 4, 5, 6] and {"layer", "neurons"} <= {row["move"] for row in search.rows}
    for row, then in zip(search.rows, tried[1:], strict=False):
        assert len(then) == (row["layers"] if row["move"] == "layer" else min(3, row["layers"]))


def test_what_saves_nothing_stays(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, Cost("ms", 1, 0, 1, 0), step=0.25)
    search.to(1 + 8)
    assert {unit.kind for unit in search.off} <= {"head", "layer"} and sum(search.encoder.head_counts) <= 8


def test_steps_follow_the_cost_and_the_last_one_does_not_overshoot(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, parameter_cost(toy_model), step=0.1)
    whole = search.now
    search.to(0.6 * whole)
    costs = [whole, *(row["cost"] for row in search.rows)]
    assert all(after < before for before, after in pairwise(costs))
    assert 0.6 * whole - 16 * search.cost.neuron - search.cost.head < search.now <= 0.6 * whole
    assert search.rows[-1]["heads"] == sum(search.encoder.head_counts)
    assert [len(way) for way in search.ways] == sorted(len(way) for way in search.ways)
    assert search.ways[-1] == search.off


def test_rows_say_the_score_of_the_cut_model(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, parameter_cost(toy_model), step=0.3)
    before = toy_task.score(toy_model.predict(toy_task.validation).logits, toy_task.validation).value
    search.to(0.05 * search.now)
    logits = torch.from_numpy(search.encoder.predict(toy_task.validation).logits)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(toy_task.validation.label))
    assert search.rows[-1]["loss"] == pytest.approx(float(loss), abs=1e-5)
    hits = (logits.argmax(-1).numpy() == toy_task.validation.label).mean()
    assert search.rows[-1]["score"] == pytest.approx(hits) and hits < before - 0.1


@pytest.mark.parametrize("name", FAMILIES)
def test_step_by_step_at_once_and_masked_are_the_same_model(name, toy_task, _pocket, tmp_path):
    encoder = load(tiny_model(name, num_labels=2), tokenizer=_pocket.tokenizer)
    search = Search(encoder, toy.task(labels=("LABEL_0", "LABEL_1")), toy_task.validation, TIME, step=0.15)
    search.to(0.35 * search.now)
    assert len({unit.kind for unit in search.off}) > 1
    logits = search.encoder.predict(toy_task.test).logits
    at_once = encoder.cut(search.off)
    assert at_once.head_counts == search.encoder.head_counts
    assert np.allclose(at_once.predict(toy_task.test).logits, logits, atol=1e-6)
    with encoder.gates(search.off):
        assert np.allclose(encoder.predict(toy_task.test).logits, logits, atol=1e-5)


def test_a_plain_search_leaves_what_transformers_opens(toy_model, toy_task, tmp_path):
    from transformers import AutoModelForSequenceClassification

    search = Search(toy_model, toy_task, toy_task.validation, TIME, step=0.2, plain=True)
    search.to(0.4 * search.now)
    kinds = {unit.kind for unit in search.off}
    assert kinds == {"layer", "neuron"} and len(set(search.encoder.neuron_counts)) == 1
    folder = search.encoder.save(tmp_path / "plain")
    plain = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batch = toy_model.tokenizer(list(toy_task.test.text), padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(plain(**batch).logits, search.encoder.model(**batch).logits)


def test_a_search_ends_where_nothing_is_left(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, TIME, step=0.5)
    while search.advance():
        pass
    assert search.encoder.n_layers == 1 and search.encoder.head_counts == [1]
    assert search.encoder.neuron_counts == [0] and search.now == search.least
    with pytest.raises(UserError, match="nothing is left that could go"):
        search.to(search.least / 2)


def test_what_was_pruned_before_is_gone_from_the_start(toy_model, toy_task):
    off = [Unit("head", 1, 1), Unit("mlp", 2)]
    search = Search(toy_model, toy_task, toy_task.validation, TIME, off=off)
    assert search.off == set(off) and search.encoder.head_counts[0] == 3 and not search.rows
    search.to(0.8 * search.now)
    assert set(off) < search.off
