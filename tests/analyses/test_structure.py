"""`structure`: trees planted in vectors are found, random ones are not; what the result says of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.structure.measure import _judged
from bertscope.analyses.structure.metrics import METRICS, Scored, evaluate
from bertscope.analyses.structure.question import StructureConfig, structure
from bertscope.analyses.structure.trees import Trees, parts
from bertscope.core.resampling import Resampling
from made_states import made_store
from planted_trees import planted

QUICK = StructureConfig(ranks=(16,), learning_rate=1e-2, repeats=200)


@pytest.fixture(scope="module")
def found():
    examples, store = planted(400)
    return examples, structure(store, examples, QUICK)


def of(result, metric, **wanted):
    table = result.tables["scores"].query("metric == @metric")
    for column, value in wanted.items():
        table = table[table[column] == value]
    (row,) = table.to_dict("records")
    return row


def nearly_right(kind, trees):
    """The gold tree's distances or depths, but for a hair: what no two words share then has an order."""
    generator = torch.Generator().manual_seed(0)

    def predictions(batch):
        gold = torch.from_numpy(trees.distances(batch) if kind == "distance" else trees.depths(batch))
        return (gold + 1e-3 * torch.randn(gold.shape, generator=generator))[None]

    return predictions


def test_a_planted_tree_is_found_at_its_layer(found):
    """Correlations stay under 1 however good a probe is: in gold trees many distances are equal, in predicted ones
    none."""
    examples, result = found
    assert [number.value for number in result.numbers(key="best_layer")] == [1, 1]
    trees, test = Trees.of(examples), parts(examples.text, 0, test=True)[2]
    for kind, metrics in METRICS.items():
        best = evaluate(kind, nearly_right(kind, trees), trees, test).draws(Resampling(examples.ids, repeats=1))
        assert result[metrics[1]].value == pytest.approx(best[metrics[1]][0, 0], abs=0.015)
    least_of = {"uuas": 0.98, "root_accuracy": 0.98, "dspr_sentences": 0.94, "dspr": 0.94, "nspr": 0.9}
    for metric, least in least_of.items():
        assert result[metric].value > least
        row = of(result, metric, arm="probe", layer=1)
        assert row["value"] == result[metric].value and row["best_layer"] and row["best_rank"]
        assert row["low"] <= row["value"] <= row["high"]
    assert of(result, "uuas", arm="probe", layer=0)["high"] < 0.45  # noise
    assert 0.45 < of(result, "uuas", arm="probe", layer=2)["value"] < 0.98  # the tree in noise


def test_random_trees_fall_to_what_luck_gives(found):
    examples, result = found
    trees = Trees.of(examples)
    words = trees.lengths[parts(examples.text, 0, test=True)[2]] - 1
    luck = (2 * (words - 1) / words).sum() / (words - 1).sum()
    control = result["control"]
    assert control.low < luck < control.high
    assert result["selectivity"].value == pytest.approx(result["uuas"].value - control.value)
    assert of(result, "root_accuracy", arm="control")["low"] < (1 / words).mean() < 0.3
    assert abs(result["linear_chain"].value - luck) < 0.1  # the planted trees have no order of words


def test_the_control_is_trained_on_random_trees_too(monkeypatch):
    examples, store = planted(60)
    seen = []
    monkeypatch.setattr(
        "bertscope.analyses.structure.measure.train_stacks",
        lambda stacks, corpus, *_, **__: seen.append(
            (sum(len(stack.layers) for stack in stacks), corpus.trees.governors)
        ),
    )
    structure(store, examples, QUICK)
    trees = Trees.of(examples)
    (probes, gold), (controls, shuffled) = seen
    assert (probes, controls) == (6, 2)
    assert np.array_equal(gold, trees.governors) and np.array_equal(shuffled, trees.shuffled(0).governors)


def test_tables_have_every_probe_and_its_baselines(found):
    examples, result = found
    scores, training = result.tables["scores"], result.tables["training"]
    assert len(training) == 3 * 2 and len(scores) == 2 * 3 * (3 + 1 + 1)
    assert set(scores["arm"]) == {"probe", "control", "linear_chain"}
    assert scores.query("arm == 'linear_chain'")["checkpoint"].isna().all()
    assert training["epochs"].between(6, 40).all()
    test = parts(examples.text, 0, test=True)[2]
    assert (scores.query("metric == 'root_accuracy'")["n"] == len(test)).all()
    assert (scores.query("metric == 'uuas'")["n"] == (Trees.of(examples).lengths[test] - 2).sum()).all()
    assert "to test" in result.notes[0]


def test_checkpoints_are_compared_on_the_same_sentences(found):
    """A copy of the first finds the same edges of each sentence: 0, and sure of it, however unsure each score. What
    is in noise finds as many fewer as the scores say."""
    examples, alone = found
    assert "changes" not in alone.tables
    _, store = planted(400)
    trees, noisy = (store.vectors(layer)[:] for layer in (1, 2))
    stores = [
        made_store(examples, [layer], name) for layer, name in ((noisy, "one"), (noisy, "same"), (trees, "better"))
    ]
    result = structure(stores, examples, replace(QUICK, control=False))
    changes = result.tables["changes"].set_index(["checkpoint", "metric"])
    assert set(changes["against"]) == {"one"}
    first, _, third = (f"{100 * number.value:.0f}%" for number in result.numbers(key="uuas"))
    told = structure.sentence(result).sentence
    assert told.startswith(f"A linear map finds {first} (") and f" in layer 0 of one, {first} (" in told
    assert f"in same, {third} in better; a chain of neighbours has" in told
    assert (
        changes.loc[[("same", name) for name in ("uuas", "root_accuracy")], ["value", "low", "high"]]
        .eq(0)
        .all(axis=None)
    )
    for metric in structure.words["metric"]:
        first, other = (of(result, metric, arm="probe", checkpoint=name) for name in ("one", "better"))
        row = changes.loc["better", metric]
        assert row["value"] == pytest.approx(other["value"] - first["value"]) and row["n"] == first["n"]
        widest = other["low"] - first["high"] - 1e-9, other["high"] - first["low"] + 1e-9
        assert widest[0] < row["low"] < row["value"] < row["high"] < widest[1]


def test_the_layer_is_chosen_on_validation(found):
    _, result = found
    training = result.tables["training"]
    for kind, rows in training.groupby("probe"):
        best = rows.loc[rows["validation_score"].idxmax(), "layer"]
        (number,) = result.numbers(key="best_layer", probe=kind)
        assert number.value == best and number.label == f"best layer for {kind}"


def test_the_share_that_decides_is_over_all_edges(monkeypatch):
    """Of two sentences, of ten edges and of one: the first probe finds 6 and 0, the second 4 and 1."""
    hits, to_find = np.array([[6, 4], [0, 1]]), np.array([10, 1])
    found = Scored("distance", np.arange(2), np.array([11, 2]), hits, to_find, np.zeros((2, 2)))
    monkeypatch.setattr("bertscope.analyses.structure.measure.evaluate", lambda *_: found)
    corpus = SimpleNamespace(vectors={"made": None}, trees=None)
    stack = SimpleNamespace(checkpoint="made", kind="distance", layers=[0, 1])
    judged = _judged(stack, SimpleNamespace(train_on=corpus, validation=np.arange(2)))
    assert [probe.score for probe in judged] == pytest.approx([6 / 11, 5 / 11])


def test_nothing_is_chosen_on_test():
    """Layer 0 has the trees in train and validation, layer 1 in train and test: validation takes the one that then
    fails."""
    examples, store = planted(200)
    trees, noise = store.vectors(1), store.vectors(0)
    layers = []
    for part in (2, 1):
        hidden = np.isin(np.repeat(np.arange(200), np.diff(store.starts)), parts(examples.text, 0, test=True)[part])
        layers.append(np.where(hidden[:, None], noise, trees))
    result = structure(made_store(examples, layers), examples, replace(QUICK, control=False))
    for kind, (metric, *_) in METRICS.items():
        assert result.numbers(key="best_layer", probe=kind)[0].value == 0
        failed, other = (of(result, metric, arm="probe", layer=layer)["value"] for layer in (0, 1))
        assert result[metric].value == failed < other


def test_drawn_trees_are_trees_and_say_what_they_share(found):
    examples, result = found
    trees = result.tables["trees"]
    assert trees["sentence"].nunique() == 4
    gold = dict(zip(examples.ids, examples.governors or (), strict=True))
    for (sentence, tree), rows in trees.groupby(["sentence", "tree"]):
        heads = rows["head"].astype("float").to_numpy()
        assert (
            np.isnan(heads[-1]) and (heads[:-1] == 0).sum() == 1
        )  # punctuation hangs on nothing, one word is the root
        if tree == "gold":
            assert (heads[:-1] - 1 == np.array(gold[sentence][:-1])).all()
            shared = (rows["edge"] == "in_both") & (rows["head"] != 0)
            assert rows["picture"].iloc[0] == f"{sentence} · {shared.sum()} of {len(heads) - 2} edges"
    assert (trees["edge"] == "in_both").sum() > 0.9 * trees["head"].notna().sum()


def test_a_stored_answer_is_the_answer(found, tmp_path):
    _, result = found
    assert bertscope.Result.load(result.save(tmp_path / "kept")).equals(result)


def test_figures_draw_what_is_there(found):
    _, result = found
    titles = [figure.title for figure in result.figures]
    drawn = ("UUAS", "DSpr over sentences", "Root accuracy", "NSpr over sentences")
    assert titles == [*(f"{metric} by layer" for metric in drawn), "Gold trees and predicted trees"]
    keys = [f"{metric}_by_layer" for metric in ("uuas", "dspr_sentences", "root_accuracy", "nspr_sentences")]
    keys.append("trees")
    assert [figure.key for figure in result.figures] == keys
    assert {number.key for number in result.headline} == set(structure.numbers)
    assert result.in_words().tables["trees"]["edge"].cat.categories.tolist() == ["in both trees", "in one tree only"]
    assert result.figures[0].rules == pytest.approx(
        {"linear chain": result["linear_chain"].value, "random trees": result["control"].value}
    )


def test_ranks_are_swept_in_one_run_and_none_is_above_the_width():
    examples, store = planted(150)
    config = replace(QUICK, ranks=(1, 2, 8, 99), control=False, epochs=8, sentences=0)
    result = structure(store, examples, config)
    training, scores = result.tables["training"], result.tables["scores"]
    assert sorted(training["rank"].unique()) == [1, 2, 8, 16] and len(training) == 4 * 3 * 2
    assert "trees" not in result.tables and "control" not in set(scores["arm"])
    best = scores.query("metric == 'uuas' and best_layer")
    assert best["rank"].tolist() == [1, 2, 8, 16] and best["best_rank"].sum() == 1
    assert best["value"].iloc[-1] > best["value"].iloc[0]
    assert "UUAS by rank" in [figure.title for figure in result.figures]
    alone = structure(store, examples, replace(config, ranks=(8,))).tables["training"]
    both = training.query("rank == 8").reset_index(drop=True)
    assert np.allclose(both["validation_loss"], alone["validation_loss"], atol=1e-5)
