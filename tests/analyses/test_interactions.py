"""Heads switched off together: by plain scores, and a planted head against random ones. Clusters and their map."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from bertscope.analyses.redundancy.clusters import clusters, plane
from bertscope.analyses.redundancy.interactions import interactions, random_partners, together
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.resampling import metric_draws
from bertscope.core.statistics import paired_effects
from bertscope.core.units import Unit
from toy import task_of


def head(layer, number):
    return Unit("head", layer, number)


def plain_effect(encoder, task, off, mode="uniform"):
    def accuracy():
        return (encoder.predict(task.test).logits.argmax(-1) == task.test.label).mean()

    whole = accuracy()
    with encoder.gates(off=off, mode=mode):
        return accuracy() - whole


def test_draws_are_those_of_the_paired_bootstrap():
    moments = np.random.default_rng(0).integers(0, 2, (3, 50, 1)).astype(float)
    value = lambda means: means[..., 0]  # noqa: E731
    draws = metric_draws(value, moments, repeats=300, seed=4)
    np.testing.assert_allclose(draws[0], moments.mean((1, 2)))
    low, high = interval(draws[:, 1:] - draws[:, :1])
    found = paired_effects(value, moments[0], moments[1:], repeats=300, permutations=99, seed=4)
    np.testing.assert_allclose([low, high], [found.low, found.high])


@pytest.mark.parametrize("mode", ["uniform", "zero"])
def test_interactions_are_sums_of_plain_effects(tiny, many, mode):
    task = task_of(many, tiny)
    pairs = [(head(1, 1), head(1, 2)), (head(1, 1), head(3, 4)), (head(2, 3), head(3, 1))]
    found = interactions(tiny, task, pairs, mode=mode, repeats=200)
    for place, (one, other) in enumerate(pairs):
        alone = [plain_effect(tiny, task, [unit], mode) for unit in (one, other)]
        both = plain_effect(tiny, task, [one, other], mode)
        assert (found.one[place], found.other[place]) == (pytest.approx(alone[0]), pytest.approx(alone[1]))
        assert found.both[place] == pytest.approx(both)
        assert found.draws[0, place] == pytest.approx(both - sum(alone))
    assert found.draws.shape == (201, 3) and np.abs(found.draws[0]).max() > 0


def test_redundant_heads_interact(tiny, many):
    """Heads 2.1 and 2.2 say the same and are all that is heard: without either nothing changes, without both all."""
    with torch.no_grad():
        for layer, block in enumerate(tiny.layers):
            heard = torch.zeros(24, device=tiny.device)
            if layer == 1:
                heard[:12] = 50.0  # so loud that LayerNorm hears no difference between one voice and two
                own = block.attention.self
                for part in (own.query, own.key, own.value):
                    part.weight[6:12], part.bias[6:12] = part.weight[:6].clone(), part.bias[:6].clone()
                block.attention.output.dense.weight[:, 6:12] = block.attention.output.dense.weight[:, :6].clone()
            block.attention.output.dense.weight.mul_(heard)
            block.output.dense.weight.zero_()
        margin = tiny.predict(many).logits @ [-1.0, 1.0]
        tiny.model.classifier.bias[0] += float(np.median(margin))
    task = task_of(many, tiny)
    result = redundancy(tiny, task, RedundancyConfig(repeats=200, pairs=1, mode="zero"))
    pairs = result.tables["pairs"].set_index("kind")
    row = pairs.loc["similar"]
    assert row["pair"] == "head:2.1 + head:2.2" and row["divergence"] < 1e-6
    assert abs(row["without_one"]) < 0.1 and row["without_both"] < -0.2
    assert row["interaction"] < -0.2 and row["high"] < 0
    assert row["loss_interaction"] > 0.1 and row["loss_low"] > 0 and row["loss_certain"] and row["flips"] > 0.2
    assert result.numbers("pairs_redundant", kind="similar")[0].value == 1
    assert result["interaction_difference"].value < -0.2 and result["loss_interaction_difference"].value > 0.1
    assert result["interaction_difference"].low is None, "one pair of each kind says nothing of other pairs"
    assert result["interaction_difference"].of == {"kind": "similar", "against": "random", "model": tiny.id}
    assert result["interaction_difference"].label == "interaction, similar minus random"
    similar, random = result.numbers("interaction")
    assert [similar.label, random.label] == ["interaction of similar pairs", "interaction of random pairs"]
    assert similar.value - random.value == pytest.approx(result["interaction_difference"].value)
    assert {number.key for number in result.headline} == {
        key for key in redundancy.numbers if "together" not in key and key != "reliability"
    }, "two pairs are no ranking"
    assert [figure.key for figure in result.figures] == [
        "heads_by_cluster", "heads_by_layer", "pairs", "divergence", "cka"
    ]  # fmt: skip
    assert pairs.loc["random", "pair"].count("head:2.") == 2


def test_random_partners_have_the_same_layers():
    pairs = [(head(1, 1), head(1, 2)), (head(1, 2), head(3, 1)), (head(2, 1), head(2, 2))]
    partners = random_partners(pairs, [4, 2, 4], seed=0)
    assert partners[2] is None, "layer 2 has no other pair"
    assert [(one.layer, other.layer) for one, other in partners[:2]] == [(1, 1), (1, 3)]
    assert all(one != other for one, other in partners[:2])
    assert not {frozenset(pair) for pair in pairs} & {frozenset(pair or ()) for pair in partners}
    assert partners == random_partners(pairs, [4, 2, 4], seed=0) != random_partners(pairs, [4, 2, 4], seed=1)
    every_pair = list(combinations([head(1, n) for n in range(1, 5)], 2))
    assert random_partners(every_pair, [4], seed=0) == [None] * 6
    assert len(set(map(frozenset, random_partners(every_pair[:3], [4], seed=0)))) == 3


def test_a_planted_head_is_worse_than_random_ones(tiny, many):
    """Only head 2.3 is heard: no other head of its layer costs anything."""
    with torch.no_grad():
        for layer, block in enumerate(tiny.layers):
            heard = torch.zeros(24, device=tiny.device)
            heard[12:18] = 3.0 if layer == 1 else 0.0
            block.attention.output.dense.weight.mul_(heard)
            block.output.dense.weight.zero_()
        margin = tiny.predict(many).logits @ [-1.0, 1.0]
        tiny.model.classifier.bias[0] += float(np.median(margin))
    task = task_of(many, tiny)
    found = together(tiny, task, ["head:2.3"], random_sets=20, mode="zero", repeats=200)
    named, *others = found.effects[0]
    assert named == pytest.approx(plain_effect(tiny, task, ["head:2.3"], "zero")) and named < -0.2
    assert others == [0, 0, 0] and (found.rank, found.p) == (1, 1 / 4), "three other heads, no more"
    low, high = interval(found.effects)
    assert low[0] <= named <= high[0] < 0
    assert found.rises[0, 0] > 0.1 and np.abs(found.rises[0, 1:]).max() < 1e-6
    assert found.p_by_loss == 1 / 4 and found.by_loss.p[0] < 0.01
    silent = together(tiny, task, ["head:2.1", "head:3.1"], random_sets=8, mode="zero", repeats=200)
    named, *others = silent.effects[0]
    assert named == 0 and len(others) == 8 and silent.p == 1 and silent.by_loss.p[0] > 0.05
    assert silent.rank == 1 + (np.array(others) < 0).sum() and min(others) < -0.2
    with pytest.raises(UserError, match="no other heads in the layers of head:1"):
        together(tiny, task, [head(1, n) for n in range(1, 5)])
    with pytest.raises(UserError, match="single heads"):
        together(tiny, task, ["mlp:2"])
    with pytest.raises(UserError, match="random_sets is 0"):
        together(tiny, task, ["head:2.3"], random_sets=0)
    with pytest.raises(UserError, match="layer 1 has heads 1 to 4"):
        together(tiny, task, ["head:1.9"])


def test_clusters_of_plain_groups():
    """Three groups on a line, far from each other."""
    place = np.array([0.0, 10.0, 0.1, 10.2, 30.0, 0.2, 30.1])
    distances = np.abs(place[:, None] - place)
    found = clusters(distances)
    assert found.number.tolist() == [1, 2, 1, 2, 3, 1, 3] and found.count == 3 and found.silhouette > 0.95
    assert clusters(distances, 2).number.tolist() == [1, 1, 1, 1, 2, 1, 2]
    assert clusters(np.zeros((4, 4))).number.tolist() == [1, 1, 1, 1]


def test_the_plane_shows_what_a_plane_can():
    points = np.random.default_rng(2).normal(size=(9, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    places, stress = plane(distances)
    assert stress < 1e-7
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places, axis=-1), distances, atol=1e-9)
    corners = 1 - np.eye(5)  # five points at distance 1 from each other don't fit
    places, stress = plane(corners)
    shown = np.linalg.norm(places[:, None] - places, axis=-1)
    assert stress == pytest.approx(np.sqrt(((shown - corners) ** 2).sum() / corners.sum())) and stress > 0.2
    assert plane(np.zeros((3, 3)))[1] == 0
