"""`structure`: trees planted in vectors are found, random ones are not; its inputs, splits and mistakes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.structure.metrics import METRICS, Scored, evaluate
from bertscope.analyses.structure.question import StructureConfig, plan, structure
from bertscope.analyses.structure.study import _judged
from bertscope.analyses.structure.trees import Trees, parts
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.core.resampling import Resampling
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from planted_trees import planted, random_trees, store_of

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
    assert result.number("best layer for distance").value == result.number("best layer for depth").value == 1
    trees, report = Trees.of(examples), parts(examples.text, 0, report=True)[2]
    for kind, metrics in METRICS.items():
        best = evaluate(kind, nearly_right(kind, trees), trees, report).draws(Resampling(examples.ids, repeats=1))
        assert result.number(metrics[1]).value == pytest.approx(best[metrics[1]][0, 0], abs=0.015)
    for metric, least in (("UUAS", 0.98), ("root accuracy", 0.98), ("DSpr", 0.94), ("NSpr", 0.9)):
        assert result.number(metric).value > least
        row = of(result, metric, arm="probe", layer=1)
        assert row["value"] == result.number(metric).value and row["best_layer"] and row["best_rank"]
        assert row["low"] <= row["value"] <= row["high"]
    assert of(result, "UUAS", arm="probe", layer=0)["high"] < 0.45  # noise
    assert 0.45 < of(result, "UUAS", arm="probe", layer=2)["value"] < 0.98  # the tree in noise


def test_random_trees_fall_to_what_luck_gives(found):
    examples, result = found
    trees = Trees.of(examples)
    words = trees.lengths[parts(examples.text, 0, report=True)[2]] - 1
    luck = (2 * (words - 1) / words).sum() / (words - 1).sum()
    control = result.number("control")
    assert control.low < luck < control.high
    assert result.number("selectivity").value == pytest.approx(result.number("UUAS").value - control.value)
    assert of(result, "root accuracy", arm="control")["low"] < (1 / words).mean() < 0.3
    assert abs(result.number("linear chain").value - luck) < 0.1  # the planted trees have no order of words


def test_the_control_is_trained_on_random_trees_too(monkeypatch):
    examples, store = planted(60)
    seen = []
    monkeypatch.setattr(
        "bertscope.analyses.structure.study.train",
        lambda stacks, corpus, *_, **__: seen.append(
            (sum(len(stack.layers) for stack in stacks), corpus.trees.heads)
        ),
    )
    structure(store, examples, QUICK)
    trees = Trees.of(examples)
    (probes, gold), (controls, shuffled) = seen
    assert (probes, controls) == (6, 2)
    assert np.array_equal(gold, trees.heads) and np.array_equal(shuffled, trees.shuffled(0).heads)


def test_tables_have_every_probe_and_its_baselines(found):
    examples, result = found
    scores, training = result.tables["scores"], result.tables["training"]
    assert len(training) == 3 * 2 and len(scores) == 2 * 2 * (3 + 1 + 1)
    assert set(scores["arm"]) == {"probe", "control", "linear chain"}
    assert scores.query("arm == 'linear chain'")["checkpoint"].isna().all()
    assert training["epochs"].between(6, 40).all()
    report = parts(examples.text, 0, report=True)[2]
    assert (scores.query("metric == 'root accuracy'")["n"] == len(report)).all()
    assert (scores.query("metric == 'UUAS'")["n"] == (Trees.of(examples).lengths[report] - 2).sum()).all()
    assert "are scored" in result.notes[0]


def test_checkpoints_are_compared_on_the_same_sentences(found):
    """A copy of the first finds the same edges of each sentence: 0, and sure of it, however unsure each score. What
    is in noise finds as many fewer as the scores say."""
    examples, alone = found
    assert "changes" not in alone.tables
    _, store = planted(400)
    trees, noisy = (store.vectors(layer)[:] for layer in (1, 2))
    stores = [
        store_of(examples, [layer], name) for layer, name in ((noisy, "one"), (noisy, "same"), (trees, "better"))
    ]
    result = structure(stores, examples, replace(QUICK, control=False))
    changes = result.tables["changes"].set_index(["checkpoint", "metric"])
    assert set(changes["against"]) == {"one"}
    assert (
        changes.loc[[("same", name) for name in ("UUAS", "root accuracy")], ["value", "low", "high"]]
        .eq(0)
        .all(axis=None)
    )
    for metric in ("UUAS", "root accuracy", "DSpr", "NSpr"):
        first, other = (of(result, metric, arm="probe", checkpoint=name) for name in ("one", "better"))
        row = changes.loc["better", metric]
        assert row["value"] == pytest.approx(other["value"] - first["value"]) and row["n"] == first["n"]
        widest = other["low"] - first["high"] - 1e-9, other["high"] - first["low"] + 1e-9
        assert widest[0] < row["low"] < row["value"] < row["high"] < widest[1]


def test_the_layer_is_chosen_on_select(found):
    _, result = found
    training = result.tables["training"]
    for kind, rows in training.groupby("probe"):
        best = rows.loc[rows["select_score"].idxmax(), "layer"]
        assert result.number(f"best layer for {kind}").value == best


def test_the_share_that_decides_is_over_all_edges(monkeypatch):
    """Of two sentences, of ten edges and of one: the first probe finds 6 and 0, the second 4 and 1."""
    hits, asked = np.array([[6, 4], [0, 1]]), np.array([10, 1])
    found = Scored("distance", np.arange(2), np.array([11, 2]), hits, asked, np.zeros((2, 2)))
    monkeypatch.setattr("bertscope.analyses.structure.study.evaluate", lambda *_: found)
    corpus = SimpleNamespace(vectors={"made": None}, trees=None)
    stack = SimpleNamespace(checkpoint="made", kind="distance", layers=[0, 1])
    judged = _judged(stack, SimpleNamespace(fit_on=corpus, select=np.arange(2)))
    assert [probe.score for probe in judged] == pytest.approx([6 / 11, 5 / 11])


def test_nothing_is_chosen_on_report():
    """Layer 0 has the trees in fit and select, layer 1 in fit and report: select takes the one that then fails."""
    examples, store = planted(200)
    trees, noise = store.vectors(1), store.vectors(0)
    layers = []
    for part in (2, 1):
        hidden = np.isin(np.repeat(np.arange(200), np.diff(store.starts)), parts(examples.text, 0, report=True)[part])
        layers.append(np.where(hidden[:, None], noise, trees))
    result = structure(store_of(examples, layers), examples, replace(QUICK, control=False))
    for kind, (metric, _) in METRICS.items():
        assert result.number(f"best layer for {kind}").value == 0
        failed, other = (of(result, metric, arm="probe", layer=layer)["value"] for layer in (0, 1))
        assert result.number(metric).value == failed < other


def test_drawn_trees_are_trees_and_say_what_they_share(found):
    examples, result = found
    trees = result.tables["trees"]
    assert trees["sentence"].nunique() == 4
    gold = dict(zip(examples.ids, examples.heads or (), strict=True))
    for (sentence, tree), rows in trees.groupby(["sentence", "tree"]):
        heads = rows["head"].astype("float").to_numpy()
        assert (
            np.isnan(heads[-1]) and (heads[:-1] == 0).sum() == 1
        )  # punctuation hangs on nothing, one word is the root
        if tree == "gold":
            assert (heads[:-1] - 1 == np.array(gold[sentence][:-1])).all()
            shared = (rows["edge"] == "in both trees") & (rows["head"] != 0)
            assert rows["picture"].iloc[0] == f"{sentence} · {shared.sum()} of {len(heads) - 2} edges"
    assert (trees["edge"] == "in both trees").sum() > 0.9 * trees["head"].notna().sum()


def test_a_stored_answer_is_the_answer(found, tmp_path):
    _, result = found
    assert bertscope.Result.load(result.save(tmp_path / "kept")).equals(result)


def test_figures_draw_what_is_there(found):
    _, result = found
    titles = [figure.title for figure in result.figures]
    assert titles == [*(f"{metric} by layer" for metric in ("UUAS", "DSpr", "Root accuracy", "NSpr")),
                      "Gold trees and predicted trees"]  # fmt: skip
    assert result.figures[0].rules == pytest.approx(
        {"linear chain": result.number("linear chain").value, "random trees": result.number("control").value}
    )


def test_ranks_are_swept_in_one_run_and_none_is_above_the_width():
    examples, store = planted(150)
    config = replace(QUICK, ranks=(1, 2, 8, 99), control=False, epochs=8, sentences=0)
    result = structure(store, examples, config)
    training, scores = result.tables["training"], result.tables["scores"]
    assert sorted(training["rank"].unique()) == [1, 2, 8, 16] and len(training) == 4 * 3 * 2
    assert "trees" not in result.tables and "control" not in set(scores["arm"])
    best = scores.query("metric == 'UUAS' and best_layer")
    assert best["rank"].tolist() == [1, 2, 8, 16] and best["best_rank"].sum() == 1
    assert best["value"].iloc[-1] > best["value"].iloc[0]
    assert "UUAS by rank" in [figure.title for figure in result.figures]
    alone = structure(store, examples, replace(config, ranks=(8,))).tables["training"]
    both = training.query("rank == 8").reset_index(drop=True)
    assert np.allclose(both["select_loss"], alone["select_loss"], atol=1e-5)


def test_another_corpus_to_train_on():
    examples, store = planted(60, seed=5)
    # The same map for both corpora: layer 1 of each is turned alike only if the same directions are.
    others, more = planted(200, seed=0)
    result = structure(store, examples, QUICK, fit=others, fit_states=more)
    assert any(note.endswith("60 are scored") for note in result.notes)
    assert result.number("root accuracy").n == 60
    half = others.take(range(50, 200))
    seen = structure(store_of(half, [more.vectors(layer)[more.starts[50] :] for layer in more.layers]), half, QUICK,
                     fit=others, fit_states=more)  # fmt: skip
    assert any("also occur among those that train" in note for note in seen.notes)


def test_sentences_without_all_their_vectors_are_left_out():
    examples, store = planted(100)
    starts = store.starts.copy()
    starts[8:] -= 1  # sentence 7 lacks its last word
    lacking = replace(store, starts=starts, array=np.delete(store.array, store.starts[8] - 1, axis=0))
    result = structure(lacking, examples, replace(QUICK, epochs=2, sentences=0))
    assert "1 sentences of planted are left out: too long, or a word without tokens" in result.notes


def test_the_split_is_by_text_and_no_sentence_is_in_two_parts():
    texts = [f"text {number % 500}" for number in range(1000)]
    three = parts(texts, 0, report=True)
    assert sum(map(len, three)) == 1000 and [len(part) for part in three] == pytest.approx([800, 100, 100], abs=60)
    named = [{texts[row] for row in part} for part in three]
    assert not named[0] & named[1] and not named[0] & named[2] and not named[1] & named[2]
    fit, select = parts(texts[::-1], 0, report=False)
    assert len(fit) + len(select) == 1000 and len(select) == pytest.approx(100, abs=30)
    few = {texts[:100][row] for row in parts(texts[:100], 0, report=True)[2]}
    assert few == named[2] & set(texts[:100])  # what else there is doesn't matter


def test_models_are_read_and_the_random_one_is_beside_them(tiny):
    examples = read_examples("demo/corpus", limit=120)
    config = StructureConfig(ranks=(8,), epochs=2, repeats=100)
    result = structure([tiny, tiny], examples, config)
    names = [tiny.name, f"{tiny.name} (2)", f"{tiny.name} (random init)"]
    assert list(result.tables["training"]["checkpoint"].unique()) == names
    one, same, other = (
        result.tables["training"].query("checkpoint == @name")["select_loss"].tolist() for name in names
    )
    assert one == same and one != other
    assert result.number(f"UUAS, {names[2]}") and result.subject["task"] == "demo/corpus"


def test_the_command_keeps_each_models_states_once(tmp_path, tiny):
    folder = str(tiny.save(tmp_path / "model"))
    corpus, other = examples_root("demo/corpus", limit=100), examples_root("demo/sentiment", limit=40)
    config = StructureConfig(ranks=(8,), epochs=2, repeats=100)
    model, store, told = model_root(folder), Store(tmp_path / "store"), []
    step = plan(model, other, config, fit=corpus)
    assert list(step.inputs) == ["examples", "fit", "states.0", "states.1", "fit_states.0", "fit_states.1"]
    store.run(step, announce=lambda step, stored: told.append((step.name, stored)))
    result = store.result(step)
    assert told.count(("states", False)) == 4 and result.subject["probes trained on"] == "demo/corpus"
    told.clear()
    store.run(plan(model, corpus, config), announce=lambda step, stored: told.append((step.name, stored)))
    assert told.count(("states", True)) == 2  # the corpus that was trained on is known


def test_texts_without_trees_are_refused(tiny, texts, monkeypatch):
    monkeypatch.setattr("bertscope.models.hidden.hidden", lambda *_, **__: pytest.fail("the model was run first"))
    with pytest.raises(UserError, match="has no dependency trees; give a treebank"):
        structure(tiny, texts)
    with pytest.raises(UserError, match="has pairs, which have two trees each"):
        Trees.of(read_examples("demo/entailment", limit=10))
    examples, heads = random_trees(3), random_trees(3).heads
    assert heads is not None
    with pytest.raises(UserError, match="doesn't say which words are punctuation"):
        Trees.of(replace(examples, marks={}))
    with pytest.raises(UserError, match="tree 2 of 3 is none: words 1 and 2 are both roots"):
        Trees.of(replace(examples, heads=(heads[0], (ROOT,) * len(heads[1]), heads[2])))


def test_mistakes_are_said_before_anything_is_trained():
    examples, store = planted(60)
    with pytest.raises(UserError, match="no sentence 's999' is scored here; those that are have ids such as 's"):
        structure(store, examples, replace(QUICK, show=("s999",)))
    few = examples.take(range(8))
    with pytest.raises(UserError, match="are too few; give more sentences"):
        structure(store_of(few, [store.vectors(0)[: store.starts[8]]]), few)
    with pytest.raises(UserError, match="are the data to be scored"):
        structure(store, examples, fit=examples, fit_states=store)
    others, more = planted(60, seed=3)
    with pytest.raises(UserError, match="those of planted, the states to train on those of else"):
        structure(store, examples, fit=others, fit_states=replace(more, name="else"))
    with pytest.raises(UserError, match="holds word vectors of 60 texts, not word vectors of these 61"):
        structure(store, examples, fit=planted(61)[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"ranks": ()}, "ranks are"), ({"ranks": (0, 2)}, "ranks are"), ({"ranks": (4, 4)}, "ranks are"),
     ({"epochs": 0}, "epochs is 0"), ({"batch_size": 0}, "batch-size is 0"), ({"repeats": 9}, "repeats is 9"),
     ({"learning_rate": 0.0}, "learning-rate is 0.0"), ({"seed": -1}, "seed is -1"),
     ({"sentences": -1}, "sentences is -1")],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(wrong, said):
    with pytest.raises(UserError, match=said):
        bertscope.StructureConfig(**wrong)


def test_named_sentences_are_drawn():
    examples, store = planted(60)
    report = parts(examples.text, 0, report=True)[2]
    wanted = tuple(examples.ids[row] for row in report[:2])
    result = structure(store, examples, replace(QUICK, show=wanted, epochs=2))
    assert list(result.tables["trees"]["sentence"].unique()) == list(wanted)


def test_fit_is_a_flag_of_the_command(tmp_path, tiny, command):
    tiny.save(tmp_path / "tiny")
    words = "structure tiny --on demo/sentiment --fit demo/corpus --limit 60 --ranks 2,8 --epochs 1 --no-random"
    code, out, err = command(*words.split())
    assert code == 0 and "selectivity" in out and "60 are scored" in out
    assert err.count("running  states") == 2 and "ranks=2,8 random=False epochs=1" in err
