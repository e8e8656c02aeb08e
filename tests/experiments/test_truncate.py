"""`truncate`: its trainings and their steps, the scores and costs it compares, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.store import Store
from bertscope.data.read import read_task, task_root
from bertscope.experiments.freeze.question import FreezeConfig
from bertscope.experiments.freeze.question import plan as freeze_plan
from bertscope.experiments.trainings import depth
from bertscope.experiments.truncate import measure
from bertscope.experiments.truncate.question import TaskHeadForm, TruncateConfig, plan, truncate
from bertscope.experiments.truncate.result import Shape
from bertscope.models import source
from bertscope.models.latency import Times
from bertscope.models.load import load
from bertscope.models.source import model_root
from bertscope.models.surgery import without_layers
from bertscope.study.runner import run_steps
from bertscope.training.finetune.question import FinetuneConfig, finetune
from families import tiny_model
from made_runs import made_tuning
from short_training import make_task
from toy import write_reviews

QUICK = TruncateConfig(epochs=1, learning_rate=2e-3)


def test_a_truncated_training_starts_from_the_base_and_reloads(tiny, tmp_path):
    task = make_task()
    start = finetune(tiny, task, FinetuneConfig(epochs=1, learning_rate=0.0, without="3"))
    kept = {key: value for key, value in tiny.model.base_model.state_dict().items() if "layer.2." not in key}
    for key, value in start.encoder.model.base_model.state_dict().items():
        assert torch.equal(value, kept[key]), key
    config = FinetuneConfig(epochs=1, learning_rate=2e-3, without="2-3", classifier="relu", pooler=False, dropout=0.0)
    made = finetune(tiny, task, config, out=tmp_path / "model")
    assert made.result.subject["without"] == "2-3" and made.result.subject["classifier"] == "relu"
    again = load(tmp_path / "model")
    assert made.encoder.model.dropout.p == 0.0
    assert again.n_layers == 1 and np.array_equal(again.predict(task.test).logits, made.result.arrays["outputs"])
    assert made.result.provenance["parameters"] == sum(p.numel() for p in again.model.parameters())
    with pytest.raises(UserError, match="there is no layer 4"):
        finetune(tiny, task, FinetuneConfig(without="4"))


@pytest.fixture
def rows(tmp_path):
    return write_reviews(tmp_path / "rows.csv", 150)


def test_steps_are_shared_and_few(tmp_path, tiny, rows):
    base, task = model_root(tiny.save(tmp_path / "tiny")), task_root(rows)
    whole = plan(base, task, replace(QUICK, seeds=(0, 1)))
    tuned = [step for name, step in whole.inputs.items() if name.startswith("tuned")]
    assert [step.config["without"] for step in tuned] == ["", "", "3", "3", "2-3", "2-3"]  # half of 3 is 1
    plain = FinetuneConfig(epochs=1, learning_rate=2e-3, seed=1)
    assert tuned[1].config == {**tuned[0].config, "seed": 1} and FinetuneConfig(**tuned[1].config) == plain
    crossed = plan(base, task, replace(QUICK, cross=True))
    assert len(crossed.inputs) == 2 + 8 and tuned[0] in crossed.inputs.values()
    off = plan(base, task, replace(QUICK, retrain=False, remove=("all",)))
    assert list(off.inputs) == ["base", "task", "tuned.0", "models.0"]
    assert depth(tuned[4]) == 1 and depth(tuned[0]) == 3


def test_scores_effects_and_costs(tmp_path, tiny, rows):
    step = plan(
        model_root(tiny.save(tmp_path / "tiny")), task_root(rows), replace(QUICK, remove=("2", "2-2"), seeds=(3,))
    )
    store = Store(tmp_path / "store")
    run_steps([step], store)
    result, task = store.result(step), read_task(rows)
    arms = result.tables["arms"].set_index("arm")
    assert list(arms.index) == ["whole", "2-3", "2"]
    assert arms["removed"].tolist() == [0, 2, 1] and arms["from_top"].tolist() == [True, True, False]
    for place, (_, row) in enumerate(arms.iterrows()):
        training = store.result(step.inputs[f"tuned.{place}"])
        assert row["score"] == training["after"].value
        assert row["effect"] == pytest.approx(row["score"] - arms["score"].iloc[0])
        assert row["training_seconds"] == training.provenance["training_seconds"] > 0
        assert row["parameters"] == training.provenance["parameters"]
        assert row["effect_low"] <= row["effect"] <= row["effect_high"]
    assert arms["training_time"].iloc[0] == 1 and result["chance"].value == task.chance()
    assert result.numbers(key="score", arm="whole")[0].value == arms.loc["whole", "score"]
    (lost,) = result.numbers(key="effect", arm="2-3")
    assert lost.value == arms.loc["2-3", "effect"] and lost.label == "effect, 2-3 removed"
    assert result.headline[0].label == "score, nothing removed"
    assert truncate.sentence(result) is None, "nothing lost its top layer alone"
    latency = result.tables["latency"]
    assert latency["texts"].tolist() == [1, 1, 1, 32, 32, 32] and (latency["milliseconds"] > 0).all()
    assert not any("the slides say" in note for note in result.notes), "nothing lost its top layer alone"
    assert "published" not in result.tables, "what others measured stands beside the claims"


def test_without_retraining_it_is_the_fine_tuned_model_cut(tmp_path, tiny, rows):
    config = replace(QUICK, retrain=False, remove=("all",), seeds=(0, 1), classifiers=("linear", "relu"))
    step = plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), config)
    store, task = Store(tmp_path / "store"), read_task(rows)
    run_steps([step], store)
    table = store.result(step).tables["trainings"].set_index(["arm", "top", "seed"])["score"]
    assert len(table) == 2 * 2 * 4
    place = 0
    for form in ("linear", "relu"):
        for seed in (0, 1):
            model = load(store.path(step.inputs[f"models.{place}"]) / "model")
            for removed in range(4):
                left = without_layers(model, Layers.last(removed, 3).numbers)
                arm = str(Layers.last(removed, 3)) or "whole"
                assert table[arm, form, seed] == task.score(left.predict(task.test).logits).value
            place += 1
    assert any("always answers the same label" in note for note in store.result(step).notes)


def test_each_change_is_averaged_over_the_others(tmp_path, tiny, rows):
    step = plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), replace(QUICK, cross=True))
    store = Store(tmp_path / "store")
    run_steps([step], store)
    result = store.result(step)
    score = result.tables["arms"].set_index(["removed", "classifier", "dropout"])["score"]
    assert len(score) == 8
    factors = result.tables["factors"].set_index("effect")
    for name, level in (("removed=3", 0), ("classifier=relu", 1), ("dropout=0", 2)):
        means = score.groupby(level=level).mean()
        off, on = (0, 1) if level == 0 else ("linear", "relu") if level == 1 else ("own", "0")
        assert factors.loc[name, "difference"] == pytest.approx(means[on] - means[off])
    against = ["removed=whole", "classifier=linear", "dropout=own", "none_of_these"]
    assert factors["against"].tolist() == against
    arms = result.tables["arms"].set_index(["classifier", "dropout"])
    for form in set(arms.index):  # each beside the whole model with the same classifier
        whole, less = (arms.loc[form].set_index("removed").loc[removed] for removed in (0, 1))
        assert less["effect"] == pytest.approx(less["score"] - whole["score"]) and whole["effect"] == 0
        assert less["training_time"] == pytest.approx(less["training_seconds"] / whole["training_seconds"])
    at_once = score[1, "relu", "0"] - score[0, "linear", "own"]
    assert factors.loc["all_at_once", "difference"] == pytest.approx(at_once)
    assert any("the slides say that it can go" in note for note in result.notes)


def test_latency_is_that_of_what_is_left(tiny, rows, monkeypatch):
    """On a planted clock: a layer takes a second and the rest another."""
    task = read_task(rows)
    sampled = []

    def batches(encoder, examples, size, *, count, output):
        sampled.append(examples)
        return [size]

    def in_turn(variants, batches, **_):
        seconds = [[[1.0 + model.n_layers] * len(batches)] * 6 for model in variants.values()]
        return Times(tuple(variants), np.array(seconds))

    monkeypatch.setattr(measure, "in_torch", lambda model, output: model)
    monkeypatch.setattr(measure, "sample_batches", batches)
    monkeypatch.setattr(measure, "time_in_turn", in_turn)
    shapes = [Shape(Layers.last(count, 3), 3) for count in (0, 1, 3)]
    found = measure.latencies(tiny, task, shapes).query("texts == 1").set_index("removed")
    assert found["faster"].to_dict() == {0: 1.0, 1: 4 / 3, 3: 4.0}
    assert found["milliseconds"].to_dict() == {0: 4000, 1: 3000, 3: 1000}
    layer = sum(parameter.numel() for parameter in tiny.layers[0].parameters())
    assert (found["parameters"][0] - found["parameters"]).tolist() == [0, layer, 3 * layer]
    assert sampled == [task.validation] * 2, "nothing is chosen by report"


@pytest.mark.parametrize(
    ("worse", "said"),
    [(9, "(worse: clear of 0)"), (0, "(open: 30 texts are too few to say that it is within 5.0 points, ")],
)
def test_the_verdict_is_that_of_the_interval(tiny, rows, monkeypatch, worse, said):
    """Five trainings of the whole are right everywhere; of those without the top layer, each is wrong in some."""
    task, label = read_task(rows), read_task(rows).test.label
    monkeypatch.setattr(measure, "_BATCHES", {1: 1})
    wrong = np.arange(len(label)) < worse
    made = [
        made_tuning(
            np.eye(2)[np.where(wrong & bool(removed), 1 - label, label)], seed=seed, without="3" * removed,
            taken={"training_seconds": 8.0 - 2 * removed, "parameters": 100 - removed},
        )
        for seed in range(5) for removed in (1, 0)
    ]  # fmt: skip
    result = truncate.compute(tiny, task, made, config=TruncateConfig(remove=("1",), seeds=(0, 1, 2, 3, 4)))
    assert truncate.sentence(result).main == pytest.approx(-worse / len(label))
    (verdict,) = (note for note in result.notes if note.startswith("without the top layer, "))
    effect = -100 * worse / len(label)
    assert verdict.startswith(f"without the top layer, in points of accuracy: {effect:+.1f} [")
    assert "; 0.75 of the training time" in verdict and said in verdict
    assert result.tables["arms"]["parameters"].tolist() == [100, 99]


def test_sets_of_layers_and_what_is_on_them():
    config = TruncateConfig()
    assert [str(each) for each in config.sets(12)] == ["", "12", "11-12", "7-12"]
    assert [str(each) for each in config.sets(1)] == ["", "1"], "no more go than there are"
    assert [str(each) for each in TruncateConfig(remove=("all",)).sets(2)] == ["", "2", "1-2"]
    assert [str(each) for each in TruncateConfig(remove=("2+9", "12-12")).sets(12)] == ["", "2,9", "12"]
    assert config.forms == [TaskHeadForm()] and len(TruncateConfig(cross=True, poolers=("kept", "off")).forms) == 8
    assert TaskHeadForm("relu", 0.0, pooler=False).key == "relu+dropout=0+pooler=off"
    twice = TruncateConfig(dropouts=("0", "0.0"), poolers=("kept", "kept"), classifiers=("relu", "relu"))
    assert twice.forms == [TaskHeadForm("relu", 0.0)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": (1, 1)}, "seeds are (1, 1); give one or more different numbers"),
        ({"remove": ("embeddings",)}, "remove is 'embeddings'; only layers can go"),
        ({"remove": ("top",)}, "'top' names no layers"),
        ({"remove": ("²",)}, "'²' names no layers"),
        ({"classifiers": ()}, "classifiers has nothing in it; name one or more, or leave it out"),
        ({"poolers": ()}, "poolers has nothing in it"),
        ({"dropouts": ()}, "dropouts has nothing in it"),
        ({"dropouts": ("much",)}, "dropouts are much; give numbers, or own"),
        ({"dropouts": ("2",)}, "dropout is 2.0; it must be between 0 and 1"),
        ({"classifiers": ("rely",)}, "unknown classifiers 'rely'; did you mean 'relu'?"),
        ({"poolers": ("of",)}, "unknown poolers 'of'; did you mean 'off'?"),
    ],
)
def test_what_cannot_work_is_refused(wrong, message):
    with pytest.raises(UserError) as error:
        TruncateConfig(**wrong)
    assert str(error.value).startswith(message)


def test_what_a_family_cannot_lose_or_hold_is_refused_before_any_training(tmp_path, rows, _pocket):
    """A first layer that must stay, a dense layer that is code, a dropout without a name, a block for many layers."""
    for name, config, said in (
        ("modernbert", TruncateConfig(remove=("all",)), "layer 1 of .* can't be left out: it is built unlike"),
        ("modernbert", TruncateConfig(remove=("all",), retrain=False), "layer 1 of .* can't be left out"),
        ("distilbert", TruncateConfig(poolers=("kept", "off")), "layer before the classifier of a distilbert can't"),
        ("mpnet", TruncateConfig(cross=True), "a mpnet has no setting of its own for the dropout"),
        ("albert", FreezeConfig(sets=("1",)), "has one block for many layers: freeze all 3 of them, or none"),
    ):
        base = model_root(load(tiny_model(name), tokenizer=_pocket.tokenizer).save(tmp_path / f"{name}{len(said)}"))
        with pytest.raises(UserError, match=said):
            (freeze_plan if isinstance(config, FreezeConfig) else plan)(base, task_root(rows), config)
    plan(base, task_root(rows), TruncateConfig(remove=("all",)))
    freeze_plan(base, task_root(rows), FreezeConfig(sets=("3", "embeddings")))


def test_the_hub_is_asked_as_often_for_one_training_as_for_many(tmp_path, tiny, rows, monkeypatch):
    asked, folder = [], tiny.save(tmp_path / "tiny")
    monkeypatch.setattr(source, "_download", lambda name, patterns: asked.append(name) or folder)
    base, counts = model_root("tiny-bert"), []
    for seeds in ((0,), tuple(range(20))):
        asked.clear()
        plan(base, task_root(rows), TruncateConfig(remove=("all",), seeds=seeds))
        freeze_plan(base, task_root(rows), FreezeConfig(seeds=seeds, movement=False))
        counts.append(len(asked))
    assert counts[0] == counts[1] < 10


def test_more_layers_than_there_are(tmp_path, tiny, rows):
    with pytest.raises(UserError, match="7 layers can't go: the model has 3"):
        plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), TruncateConfig(remove=("7",)))
