"""`freeze`: the trainings it plans, the scores and movements it compares, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.store import Store
from bertscope.core.variance_components import group_values, interval_over_runs
from bertscope.data.read import task_root
from bertscope.experiments.freeze.question import FreezeConfig, freeze, plan
from bertscope.models.source import model_root
from bertscope.models.states_store import open_store
from bertscope.training.finetune.question import FinetuneConfig
from device import DEVICE
from running import made_by
from toy import write_reviews


@pytest.fixture
def rows(tmp_path):
    return write_reviews(tmp_path / "rows.csv", 150)


@pytest.mark.slow
def test_the_whole_of_it(tmp_path, tiny, rows):
    config = FreezeConfig(epochs=1, learning_rate=2e-3, seeds=(0, 1), sets=("embeddings", "2", "2-2", "encoder"))
    step = plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), config)
    store = Store(tmp_path / "store")
    made = made_by(step, store)
    assert {name: made.count(name) for name in set(made)} == {"finetune": 10, "states": 11, "freeze": 1}
    result = store.result(step)
    arms = result.tables["arms"].set_index("arm")
    assert list(arms.index) == ["whole", "embeddings", "embeddings,1-2", "2", "encoder"]
    for place, (_, row) in enumerate(arms.iterrows()):
        runs = [store.result(step.inputs[f"tuned.{2 * place + seed}"]) for seed in (0, 1)]
        assert row["score"] == pytest.approx(np.mean([run["after"].value for run in runs]))
        assert row["effect"] == pytest.approx(row["score"] - arms["score"].iloc[0])
        assert row["activation_mb"] == pytest.approx(runs[0].provenance["activation_bytes"] / 1e6)
        assert row["training_seconds"] == pytest.approx(np.mean([r.provenance["training_seconds"] for r in runs]))
        assert row["training_time"] == pytest.approx(row["training_seconds"] / arms["training_seconds"].iloc[0])
        assert row["activations"] == pytest.approx(row["activation_mb"] / arms["activation_mb"].iloc[0])
        sizes = [runs[0].provenance[name] for name in ("trained_parameters", "parameters")]
        assert row["trained_share"] == pytest.approx(sizes[0] / sizes[1])
    assert np.isnan(arms["low"]).all() and np.isnan(arms["peak_mb"]).all() == (DEVICE == "cpu")
    assert arms["trained_share"].iloc[0] == 1
    moved = result.tables["movement"].set_index(["arm", "layer"])["rsa"]
    assert (moved["encoder"] == 1).all()
    assert (moved["embeddings,1-2"][[0, 1, 2]] == 1).all() and moved["embeddings,1-2"][3] < 1
    assert moved["embeddings"][0] == 1 and (moved["whole"] < 1).all()
    assert (moved["2"] < 1).all(), "a frozen layer over layers that move moves with them"
    assert result.numbers(key="score", arm="whole")[0].value == arms.loc["whole", "score"]
    (lost,) = result.numbers(key="effect", arm="encoder")
    assert lost.value == arms.loc["encoder", "effect"] and lost.label == "effect, all but classifier frozen"
    assert result["chance"].value == 0.5 and not result.numbers(key="effect", arm="whole")
    worst = freeze.sentence(result)
    assert worst.main == arms["effect"].min() and "(2 seeds)" in worst.sentence
    (said,) = (note for note in result.notes if "Merchant" in note)
    effect = 100 * arms.loc["embeddings,1-2", "effect"]
    assert said.startswith(f"embeddings and first 2 layers frozen, in points of accuracy: {effect:+.1f}")
    assert said.endswith("whether that holds here")
    held = result.tables["movement"].set_index(["arm", "layer"])["frozen"]
    assert held["embeddings"].tolist() == [True, False, False, False] and held["encoder"].all()
    assert held["2"].tolist() == [False, False, True, False]
    vectors = [open_store(store.path(step.inputs[f"states.{place}"]) / "states").vectors for place in (0, 1, 2)]
    for layer in (1, 3):
        base, *tuned = (_cosines(of(layer)) for of in vectors)
        by_hand = [np.corrcoef(base, one)[0, 1] for one in tuned]
        assert moved["whole"][layer] == pytest.approx(np.mean(by_hand), abs=1e-4)
        assert abs(by_hand[0] - by_hand[1]) > 1e-3


def _cosines(vectors: np.ndarray) -> np.ndarray:
    """Of every two words: the upper triangle."""
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return (units @ units.T)[np.triu_indices(len(units), 1)]


def test_an_interval_over_texts_and_seeds_has_both_errors():
    """Draws of a mean, made so that both errors are known: 0.1 over seeds, 0.05 over groups of texts."""
    generator = np.random.default_rng(0)
    groups, seeds, covered = 20, 8, []
    for _ in range(400):
        of_seed, of_group = (
            0.1 * generator.normal(size=(seeds, 1)),
            0.05 * np.sqrt(groups) * generator.normal(size=groups),
        )
        values = of_seed + of_group  # [seed, group]
        left_out = (values.sum(1, keepdims=True) - values) / (groups - 1)
        draws = np.concatenate([values.mean(1, keepdims=True), left_out], axis=1)[..., None]
        low, high = interval_over_runs(group_values(draws))
        covered.append(low[0] <= 0 <= high[0])
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.isnan(interval_over_runs(group_values(draws[:3]))).all()
    assert not np.isnan(interval_over_runs(group_values(draws[:1]))).any()


def test_plans_share_trainings_and_know_the_depth():
    config = FreezeConfig()
    step = plan(model_root("pocket"), task_root("demo/sentiment"), config)
    tuned = [step.inputs[f"tuned.{place}"] for place in range(5)]
    assert [each.config["frozen"] for each in tuned] == [
        "",
        "embeddings",
        "embeddings,1-4",
        "embeddings,1-8",
        "encoder",
    ]
    assert FinetuneConfig(**tuned[0].config) == FinetuneConfig()
    assert len(step.inputs) == 1 + 5 + 6 + 1 and step.inputs["examples"].options["limit"] == 200
    assert len(plan(model_root("pocket"), task_root("demo/sentiment"), replace(config, movement=False)).inputs) == 6
    dropping = plan(model_root("pocket"), task_root("demo/sentiment"), replace(config, frozen_dropout=True))
    assert dropping.inputs["tuned.0"] == tuned[0] and dropping.inputs["tuned.1"] != tuned[1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": ()}, "seeds are (); give one or more"),
        ({"sets": ("lower",)}, "'lower' names no layers"),
        ({"sets": ("²",)}, "'²' names no layers"),
        ({"texts": 1}, "texts is 1; it must be at least 2"),
        ({"words": 10}, "words is 10; it must be at least 50"),
    ],
)
def test_what_cannot_work_is_refused(wrong, message):
    with pytest.raises(UserError) as error:
        FreezeConfig(**wrong)
    assert str(error.value).startswith(message)
    with pytest.raises(UserError, match="13 layers can't be frozen: the model has 12"):
        FreezeConfig(sets=("13",)).frozen(12)
