"""The answer of `redundancy`: tables by hand from the matrices it stores, and what it asks of the task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.redundancy.clusters import clusters, plane
from bertscope.analyses.redundancy.interactions import interactions, together
from bertscope.analyses.redundancy.measure import RedundancyReader
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.units import Unit
from toy import task_of

FEW = RedundancyConfig(repeats=100, pairs=4)


def test_each_heads_nearest_and_mean_are_of_the_other_heads(tiny, many):
    result = redundancy(tiny, many, FEW)
    apart, alike = (result.arrays[f"{what}.{tiny.id}"] for what in ("divergence", "cka"))
    for place, row in result.table.iterrows():
        others = np.delete(np.arange(12), place)
        near = others[apart[place, others].argmin()]
        assert row["divergence"] == pytest.approx(apart[place, others].mean())
        assert row["nearest"] == f"head:{near // 4 + 1}.{near % 4 + 1}"
        assert row["nearest_divergence"] == apart[place, near] > 0 and row["nearest_cka"] == alike[place, near]


def test_distances_are_roots_of_divergences(tiny, many):
    """The root is a metric, the divergence itself isn't; map and clusters rest on it."""
    result = redundancy(tiny, many, FEW)
    distances = np.sqrt(result.arrays[f"divergence.{tiny.id}"])
    places, stress = plane(distances)
    np.testing.assert_allclose(result.table[["x", "y"]], places, atol=1e-9)
    assert f"by {stress:.0%}" in result.figures[0].caption
    assert result.table["cluster"].tolist() == clusters(distances).number.tolist()


def test_clusters_are_those_of_average_linkage():
    points = np.random.default_rng(7).random((20, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    for count in (2, 4, 6):
        wanted = AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(distances)
        single = AgglomerativeClustering(count, metric="precomputed", linkage="single").fit_predict(distances)
        assert adjusted_rand_score(clusters(distances, count).number, wanted) == 1
        assert adjusted_rand_score(single, wanted) < 1, "these points tell linkages apart"


def test_pairs_are_scored_on_the_test_set_in_the_mode_that_was_asked(tiny, many):
    task = task_of(many, tiny)
    other = replace(task, validation=replace(many.take(range(20)), label=1 - task.test.label[:20]))
    for mode in ("uniform", "zero", "mean"):
        pairs = redundancy(tiny, other, replace(FEW, mode=mode)).tables["pairs"]
        heads = [tuple(map(Unit.parse, pair.split(" + "))) for pair in pairs["pair"]]
        found = interactions(tiny, other, heads, mode=mode, repeats=100)
        np.testing.assert_allclose(pairs["without_both"], found.both)
        np.testing.assert_allclose(pairs["interaction"], found.draws[0])
    with tiny.gates(off=list(heads[0]), mode="uniform"):
        right = tiny.predict(many).logits.argmax(-1) == task.test.label
    assert interactions(tiny, other, heads[:1]).both[0] == pytest.approx(right.mean() - 1)


def test_labels_in_another_order_change_nothing(tiny, many):
    """The model answers a, b; the task counts b, a."""
    tiny.model.config.id2label = {0: "a", 1: "b"}
    task = task_of(many, tiny)
    turned = replace(task, labels=("b", "a"), test=replace(many, label=1 - task.test.label))
    pairs = [(Unit("head", 1, 1), Unit("head", 2, 1)), (Unit("head", 1, 2), Unit("head", 3, 4))]
    one, other = (interactions(tiny, each, pairs, repeats=100) for each in (task, turned))
    np.testing.assert_allclose(one.draws, other.draws)
    assert np.abs(one.both).max() > 0


def test_weighted_attention_is_what_is_compared(tiny, many):
    plain, weighted = (redundancy(tiny, many, replace(FEW, weighted=on)) for on in (False, True))
    reader = RedundancyReader(many.ids, [tiny.head_counts], repeats=100)
    read_maps([tiny], many, [reader], weighted=True)
    name = f"divergence.{tiny.id}"
    np.testing.assert_allclose(weighted.arrays[name], reader.maps[0].divergence, atol=1e-6)
    assert np.abs(plain.arrays[name] - weighted.arrays[name]).max() > 0.01


def test_heads_that_can_not_go_off_together_are_refused_before_the_pass(tiny, many, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the texts were read")

    monkeypatch.setattr("bertscope.analyses.attention.pass_part.read_maps", never)
    task = task_of(many, tiny)
    for data, heads, message in (
        (many, ("head:1.1",), "give a task"),
        (task, ("mlp:1",), "single heads"),
        (task, ("head:9.1",), "layers 1 to 3"),
        (task, tuple(f"head:1.{n}" for n in range(1, 5)), "no other heads in the layers"),
        (replace(task, labels=("a", "b", "c")), ("head:1.1",), "gives 2 outputs, the task needs 3"),
    ):
        with pytest.raises(UserError, match=message):
            redundancy(tiny, data, replace(FEW, together=heads))


def test_named_heads_go_off_together_beside_random_ones(tiny, many):
    task = task_of(many, tiny)
    result = redundancy(tiny, task, replace(FEW, together=("head:1.1", "head:2.3"), pairs=0))
    alone = together(tiny, task, ["head:1.1", "head:2.3"], mode=FEW.mode, repeats=FEW.repeats)
    sets = result.tables["together"]
    assert sets["set"].tolist() == ["named", *["random"] * (len(sets) - 1)] and len(sets) == alone.effects.shape[1]
    np.testing.assert_allclose(sets["effect"], alone.effects[0])
    np.testing.assert_allclose(sets["loss_rise"], alone.rises[0])
    assert result["together_p"].value == alone.p
    assert result["together_against_random_p"].value == alone.p_by_loss
    assert result["together_loss_p"].value == alone.by_loss.p[0]
    named, random = result["together_effect"], result["random_together_effect"]
    assert (named.low, named.high) == tuple(np.array(interval(alone.effects))[:, 0])
    assert named.value == alone.effects[0, 0] and result["together_kl"].value == alone.kl[0, 0] > 0
    assert (
        random.value == pytest.approx(alone.effects[0, 1:].mean())
        and random.label == "random heads off together, mean"
    )
    with pytest.raises(UserError, match="give a task"):
        redundancy(tiny, many, replace(FEW, together=("head:1.1",)))


def test_a_corpus_without_labels_is_read_too(tmp_path):
    (tmp_path / "some.txt").write_text("the old man saw a dog\nshe never said that\nit rained again\n" * 4)
    result = redundancy("pocket", str(tmp_path / "some.txt"), FEW)
    assert result.about == "pocket on some.txt" and "interaction" not in result.tables["pairs"]
