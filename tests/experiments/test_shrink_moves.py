"""What a search weighs: what each move saves, which layers it tries, whose labels it reads."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertscope.core.units import Unit
from bertscope.experiments.shrink import reaching
from bertscope.experiments.shrink.costs import Cost
from bertscope.experiments.shrink.question import ShrinkConfig, Target, shrink
from bertscope.experiments.shrink.search import Search
from bertscope.models.latency import Times

TIME = Cost("ms", 1.0, 0.5, 1.0, 0.05)
BARE = ShrinkConfig(target="30%", retrain=False, onnx=False, step=0.5)


@pytest.mark.parametrize("plain", [False, True])
def test_a_move_saves_what_the_model_costs_less_without_it(toy_model, toy_task, plain):
    encoder = toy_model
    if not plain:
        encoder = toy_model.cut(["head:1.1", "head:3.2", *(f"neuron:2.{number}" for number in range(1, 9))])
        _, _, _, mlp_out = encoder.parts(encoder.layers[1])
        torch.nn.init.zeros_(mlp_out.weight)  # the least felt MLP isn't the largest
        torch.nn.init.zeros_(mlp_out.bias)
    search = Search(encoder, toy_task, toy_task.validation, TIME, plain=plain)
    moves = list(search._moves(17 * 4 * TIME.neuron))
    assert {move.kind for move in moves} >= ({"neurons", "layer"} if plain else {"heads", "neurons", "mlp", "layer"})
    for move in moves:
        assert move.saved == pytest.approx(TIME.of(encoder) - TIME.of(encoder.cut(move.units)))
    if plain:
        assert len(moves[0].units) == 4 * 32  # 17 neurons of each layer are wanted, which go by bundles of 16


def test_layers_that_were_missed_least_are_tried_again(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, TIME)
    search._missed = {1: 0.4, 2: 0.1, 3: -0.3, 4: 0.2}
    assert [move.units for move in search._layers()] == [(Unit("layer", layer),) for layer in (2, 3, 4)]


def test_a_plain_search_ends_at_the_least_it_can_come_to(toy_model, toy_task):
    search = Search(toy_model, toy_task, toy_task.validation, TIME, step=0.5, plain=True)
    while search.advance():
        pass
    assert search.now == search.least == TIME.total(1, 4, 1)


@pytest.mark.usefixtures("clock")
def test_labels_in_another_order_change_nothing(toy_model, toy_task):
    """What is searched, kept, taught and scored is the same for a task that names its labels the other way round."""
    turned = replace(toy_task, labels=("good", "bad"), **{
        name: replace(part, label=1 - part.label)
        for name, part in (("train", toy_task.train), ("validation", toy_task.validation), ("test", toy_task.test))
    })  # fmt: skip
    config = replace(BARE, retrain=True, distill=True, epochs=1, learning_rate=1e-3)
    one, two = (shrink(toy_model, task, config).result for task in (toy_task, turned))
    assert one.tables["steps"].equals(two.tables["steps"])
    assert all(np.array_equal(one.arrays[name], two.arrays[name]) for name in one.arrays)
    for column in ("validation", "score"):
        assert one.tables["models"][column].equals(two.tables["models"][column])


def test_points_are_hundredths_of_the_metric_not_of_the_score():
    """5 points off a score of 0.5 are 0.45, not 0.475."""
    ways = [frozenset({Unit("layer", 1)}), frozenset({Unit("layer", 1), Unit("layer", 2)})]
    scores = dict(zip(ways, (0.46, 0.44), strict=True))
    search = SimpleNamespace(off=set(), ways=ways, advance=lambda: False)
    work = SimpleNamespace(
        score=SimpleNamespace(value=0.5), finished=lambda off: off,
        validation_score=lambda off: SimpleNamespace(value=scores[off]),
    )  # fmt: skip
    found = reaching._good_enough(work, search, Target.parse("5 points"))
    assert (found.off, found.steps) == (ways[0], 1)


def test_how_fast_a_model_is_is_the_median_of_the_rounds(toy_model, toy_task, monkeypatch):
    rounds = np.array([2.0, 4.0, 3.0, 2.5, 5.0, 1.5, 2.25])
    times = Times(("whole", "cut"), np.stack([rounds, np.ones(7)])[..., None])
    monkeypatch.setattr(reaching, "time_in_turn", lambda variants, batches: times)
    work = SimpleNamespace(
        encoder=toy_model, timed=lambda one: one, batches={1: []}, config=replace(BARE, batch=1), task=toy_task
    )
    assert reaching._times_as_fast(work, toy_model) == 2.5
