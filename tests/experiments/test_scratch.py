"""`scratch`: every arm against its stored outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.read import read_task, task_root
from bertscope.experiments.scratch.question import TRAININGS, UNTUNED, ScratchConfig, plan, scratch
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.source import model_root
from running import made_by
from toy import fresh, write_reviews
from toy import task as toy

QUICK = ScratchConfig(seeds=(0, 1, 2, 3, 4), epochs=2, learning_rate=3e-3)


@pytest.fixture(scope="module")
def answered(tmp_path_factory, _pocket):
    folder = tmp_path_factory.mktemp("scratch")
    task = task_root(write_reviews(folder / "rows.csv", 160))
    small = fresh(read_task(task.source), _pocket.tokenizer, num_hidden_layers=2, initializer_range=0.1)
    step, store = plan(model_root(small.save(folder / "model")), task, QUICK), Store(folder / "store")
    return step, store, made_by(step, store)


@pytest.mark.slow
def test_the_steps(answered):
    _, _, made = answered
    wanted = {"finetune": 5 * len(TRAININGS), "untuned": 5, "scratch": 1}
    wanted["patterns"] = 1 + sum(training.moved for training in TRAININGS.values())
    assert {name: made.count(name) for name in set(made)} == wanted


def test_arms_and_effects_are_those_of_the_stored_outputs(answered):
    step, store, _ = answered
    result, task = store.result(step), read_task(step.inputs["task"].source)
    right = {
        arm: np.stack([_right(store, step, f"{arm}.{seed}", task) for seed in QUICK.seeds])
        for arm in (*TRAININGS, UNTUNED)
    }
    arms, scores = result.tables["arms"].set_index("arm"), result.tables["scores"].set_index(["arm", "seed"])["score"]
    for arm, hits in right.items():
        assert arms.loc[arm, "score"] == pytest.approx(hits.mean()) == result.numbers(key="score", arm=arm)[0].value
        assert arms.loc[arm, "sd"] == pytest.approx(hits.mean(1).std(ddof=1))
        assert arms.loc[arm, "low"] <= arms.loc[arm, "score"] <= arms.loc[arm, "high"]
        assert scores[arm].tolist() == pytest.approx(hits.mean(1).tolist())
    for _, row in result.tables["effects"].iterrows():
        against = right[row["against"]].mean() if row["against"] in right else 0.5
        assert row["difference"] == pytest.approx(right[row["arm"]].mean() - against)
    sides = result.tables["effects"].set_index("effect")[["arm", "against"]].apply(tuple, axis=1)
    assert sides["pretraining"] == ("tuned", "random") and sides["fine_tuning"][1] in (UNTUNED, "chance")
    assert sides["pretraining_frozen"] == ("frozen", "frozen_random")
    assert sides["encoder_from_random"] == ("random", "frozen_random")
    shown = result.in_words().tables["effects"].set_index("effect")["arm"]
    assert shown["pretraining, encoder frozen"] == "pretrained, frozen"
    curves = result.tables["curves"].set_index(["arm", "seed"])
    for seed in QUICK.seeds:
        plain = store.result(step.inputs[f"random.{seed}"]).tables["epochs"]["score"]
        assert curves.loc[("random", seed), "score"].tolist() == plain.tolist()
    assert arms.loc["chance", "score"] == 0.5 == result["chance"].value and arms.loc["chance", "runs"] == 0
    said = scratch.sentence(result)
    assert said.main == pytest.approx(right["tuned"].mean() - right["random"].mean()) and "(5 seeds)" in said.sentence
    assert "published" not in arms and not any("published" in note for note in result.notes)


def _right(store, step, name, task):
    return store.result(step.inputs[name]).arrays["outputs"].argmax(1) == task.test.label


def test_the_untuned_model_is_where_the_fine_tuning_starts(answered):
    step, store, _ = answered
    for seed in QUICK.seeds:
        before = store.result(step.inputs[f"tuned.{seed}"])["before"]
        assert store.result(step.inputs[f"untuned.{seed}"])["untuned"].value == before.value


def test_a_frozen_encoder_is_where_it_began(answered):
    step, store, _ = answered
    base, labels = load(step.inputs["tuned.0"].inputs["base"].source), read_task(step.inputs["task"].source).labels
    for name, init in (("frozen", "pretrained"), ("frozen_random", "random")):
        start = with_classifier(base, labels, init=init, seed=0).model.base_model.encoder.state_dict()
        trained = load(str(store.path(step.inputs[f"{name}.0"]) / "model")).model.base_model.encoder.state_dict()
        for part, weights in start.items():
            assert np.array_equal(weights.cpu(), trained[part].cpu()), (name, part)


def test_the_patterns_are_those_of_each_arms_encoder(answered):
    from bertscope.analyses.patterns.question import patterns

    step, store, _ = answered
    classes, task = store.result(step).tables["classes"], read_task(step.inputs["task"].source)
    assert classes.groupby("arm")["share"].sum().to_numpy() == pytest.approx(1)
    models = {UNTUNED: step.inputs["tuned.0"].inputs["base"].source}
    models |= {arm: store.path(step.inputs[f"{arm}.0"]) / "model" for arm, one in TRAININGS.items() if one.moved}
    assert list(dict.fromkeys(classes["arm"])) == list(models)
    for arm, source in models.items():
        alone = patterns(load(str(source)), task.test).tables["models"]
        assert classes[classes["arm"] == arm]["share"].tolist() == pytest.approx(alone["share"].tolist())


def _run(key: str, seed: int, outputs) -> Result:
    numbers = [Number(one, 0.5, 0.4, 0.6, 128, "accuracy") for one in (key, "chance", "bag_of_words")]
    return Result("finetune" if key == "after" else key, 2, arrays={"outputs": outputs}, headline=numbers,
                  tables={"epochs": pd.DataFrame({"epoch": [0], "score": [0.5], "low": [0.4], "high": [0.6]})},
                  subject={"seed": str(seed)})  # fmt: skip


def test_one_seed_has_intervals_over_examples_and_two_have_none():
    task = replace(toy(), name="glue/mrpc")
    generator = np.random.default_rng(0)
    keys = [*["after"] * len(TRAININGS), "untuned"]
    runs = [[_run(key, seed, generator.random((128, 2))) for seed in (0, 1)] for key in keys]
    result = scratch.compute(*([of_arm[0]] for of_arm in runs), task, config=ScratchConfig(patterns=False))
    assert "published" not in result.tables["arms"], "what others measured stands beside the claims"
    assert result.tables["arms"].loc[0, "low"] < result.tables["arms"].loc[0, "high"]  # one seed: over examples
    assert any("one seed" in note for note in result.notes) and "classes" not in result.tables
    config = ScratchConfig(seeds=(0, 1), patterns=False)
    two = scratch.compute(*runs, task, config=config)
    assert two.tables["arms"]["low"][:5].isna().all() and two.tables["effects"]["low"].isna().all()
    turned = scratch.compute(runs[0], *(of_arm[::-1] for of_arm in runs[1:]), task, config=config)
    assert turned.equals(two), "each says of which seed it is"
    with pytest.raises(UserError, match="trainings of 0, but needed is one of each of 0; 1"):
        scratch.compute([runs[0][0]], *runs[1:], task, config=config)


@pytest.mark.parametrize(("untuned_right", "better"), [(0.2, "chance"), (0.8, UNTUNED)])
def test_fine_tuning_is_against_the_better_of_the_untuned_model_and_a_constant_answer(untuned_right, better):
    """A new classifier that is right in a fifth of two classes makes any training look good."""
    task = toy()
    label = np.asarray(task.test.label)

    def right_in(share: float, seed: int) -> np.ndarray:
        right = np.random.default_rng(seed).permutation(len(label)) < share * len(label)
        return np.eye(2)[np.where(right, label, 1 - label)]

    shares = [*[0.75] * len(TRAININGS), untuned_right]
    keys = [*["after"] * len(TRAININGS), "untuned"]
    runs = [[_run(key, seed, right_in(share, seed)) for seed in range(5)]
            for key, share in zip(keys, shares, strict=True)]  # fmt: skip
    result = scratch.compute(*runs, task, config=ScratchConfig(seeds=tuple(range(5)), patterns=False))
    gives = result["fine_tuning_gives"]
    assert (
        gives.value == pytest.approx(0.75 - max(untuned_right, task.chance()), abs=0.01)
        and gives.of["against"] == better
    )
    assert gives.low < gives.value < gives.high and result["pretraining_gives"].value == pytest.approx(0, abs=1e-9)
    assert result.tables["arms"]["arm"].tolist().count("chance") == 1
    (told,) = (note for note in result.notes if "fine-tuning gives" in note)
    assert ("better: clear of 0" in told) == (better == "chance")
