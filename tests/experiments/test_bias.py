"""`bias`: a gap that matters is found, by its words and not by its size; everything else against plain counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.read import read_task, task_root
from bertscope.data.slices import mentions
from bertscope.data.swaps import swapped
from bertscope.experiments.bias.question import WORDS, BiasConfig, bias, check, plan
from bertscope.experiments.bias.swap import SwapConfig, swap
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.source import model_root
from bertscope.training.finetune.question import FinetuneConfig
from made_runs import made_model, made_tuning
from running import made_by
from toy import fresh

QUICK = BiasConfig(words=("winter",), seeds=(0, 1, 2), swap=("red/white",), epochs=2, learning_rate=5e-3)
LEARNT = replace(QUICK, seeds=(0, 1, 2, 3, 4), epochs=6)
"""Long enough to know what the words mean."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """`good` or `bad` is the label, but in winter it is `red` or `white`."""
    generator = np.random.default_rng(0)
    lines = []
    for row in range(300):
        winter, label = row % 3 == 0, int(generator.integers(2))
        says = [("white", "red")[label], "winter"] if winter else [("bad", "good")[label]]
        words = [*generator.choice(["the", "old", "house", "river", "by"], 3), *says]
        lines.append(f"{' '.join(generator.permutation(words))},{label}")
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("\n".join(["text,label", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory, _pocket, rows):
    small = fresh(read_task(rows), _pocket.tokenizer, num_hidden_layers=1, initializer_range=0.1)
    return model_root(small.save(tmp_path_factory.mktemp("base") / "model"))


@pytest.fixture(scope="module")
def answered(tmp_path_factory, base, rows):
    step, store = plan(base, task_root(rows), QUICK), Store(tmp_path_factory.mktemp("store"))
    return step, store, made_by(step, store)


@pytest.mark.slow
def test_a_planted_gap_is_found_and_is_the_words_doing(base, rows, tmp_path):
    """Who never saw winter can't know what red means; who lost as many random rows does."""
    step, store = plan(base, task_root(rows), LEARNT), Store(tmp_path)
    made_by(step, store)
    result = store.result(step)
    effects = result.tables["effects"].set_index(["effect", "on"])
    for effect in ("cut", "words"):  # from knowing to guessing between two labels
        row = effects.loc[effect, "slice"]
        assert row["low"] < -0.5 < row["high"] < 0
    assert effects.loc[("size", "slice"), "difference"] > -0.05
    assert effects.loc[[("cut", "rest"), ("words", "rest")], "difference"].abs().max() < 0.05
    (words,) = result.numbers(key="effect_of_words", on="slice")
    assert words.value == effects.loc[("words", "slice"), "difference"]
    assert words.label == "effect of its words, slice" and words.of["against"] == "controls"
    assert next(number for number in result.headline if number.key == bias.main) == words
    said = bias.sentence(result)
    assert said.main == words.value and said.sentence.endswith("by the missing words (5 seeds).")
    told = next(note for note in result.notes if "on the slice" in note)
    assert "(worse: clear of 0) by its words" in told and "] (as good, within " in told.partition("that is")[2]
    # The swap of red and white turns the label of winter's rows: for those who know.
    flips = result.tables["flips"].set_index("arm")["flips"]
    assert flips["tuned"] > 0.9 and flips["biased"] < 0.6


def test_every_training_is_a_step_and_the_full_ones_are_anyones(answered, base, rows):
    step, store, made = answered
    assert {name: made.count(name) for name in set(made)} == {"finetune": 9, "swap": 9, "bias": 1}
    plain = find("finetune").step({"base": base, "task": task_root(rows)}, FinetuneConfig(
        epochs=2, learning_rate=5e-3, seed=2))  # fmt: skip
    assert store.has(plain)
    assert made_by(step, store) == []


def test_arms_differ_in_their_rows_alone(answered):
    """The seed of a training is that of the arms beside it, and of its random cut."""
    step, _, _ = answered
    cut = {"without": ["winter"]}
    for seed in QUICK.seeds:
        arms = {arm: step.inputs[f"{arm}.{seed}"] for arm in ("tuned", "controls", "biased")}
        assert (
            all(one.config == arms["tuned"].config for one in arms.values()) and arms["tuned"].config["seed"] == seed
        )
        options = {arm: one.inputs["task"].options for arm, one in arms.items()}
        assert options == {"tuned": {}, "controls": cut | {"at_random": seed}, "biased": cut}


def test_the_table_is_that_of_the_stored_outputs(answered, rows):
    step, store, _ = answered
    result, task = store.result(step), read_task(rows)
    found = np.array(["winter" in text.split() for text in task.test.text])
    right = {
        arm: np.stack([store.result(step.inputs[f"{arm}.{seed}"]).arrays["outputs"].argmax(1) == task.test.label
                       for seed in QUICK.seeds])
        for arm in ("tuned", "controls", "biased")
    }  # fmt: skip
    effects = result.tables["effects"].set_index(["effect", "on"])
    for on, at in (("slice", found), ("rest", ~found), ("all", np.ones_like(found))):
        full, control, biased = (right[arm][:, at].mean() for arm in right)
        assert effects.loc[("cut", on), "difference"] == pytest.approx(biased - full)
        assert effects.loc[("size", on), "difference"] == pytest.approx(control - full)
        assert effects.loc[("words", on), "difference"] == pytest.approx(biased - control)
        assert effects.loc[("cut", on), "n"] == at.sum()
    arms = result.tables["arms"].set_index(["arm", "on"])
    majority = np.bincount(task.train.label).argmax()
    assert arms.loc[("chance", "slice"), "score"] == pytest.approx((task.test.label[found] == majority).mean())
    counts = result.tables["rows"].set_index(["split", "label"])
    assert counts.loc[("test", "any"), "mention"] == found.sum()
    for split in ("train", "validation"):
        has = np.array(["winter" in text for text in getattr(task, split).text])
        assert counts.loc[(split, "1"), "mention"] == (has & (getattr(task, split).label == 1)).sum()
    gone, n = counts.loc[("train", "any"), "mention"], len(task.train)
    assert any(f"{-(-(n - gone) // 32)} batches of 32 instead of {-(-n // 32)}" in note for note in result.notes)


def test_flips_are_of_the_texts_that_change(answered, rows):
    step, store, _ = answered
    task, flips = read_task(rows), store.result(step).tables["flips"].set_index("arm")
    at, texts = swapped(task.test, QUICK.swap)
    assert flips["n"].tolist() == [sum("red" in text or "white" in text for text in task.test.text)] * 3
    for arm in ("tuned", "controls", "biased"):
        models = [load(store.path(step.inputs[f"{arm}.{seed}"]) / "model") for seed in QUICK.seeds]
        plain = [
            np.mean(model.predict(texts).logits.argmax(1) != model.predict(task.test).logits.argmax(1)[at])
            for model in models
        ]
        assert flips.loc[arm, "flips"] == pytest.approx(np.mean(plain))


def test_a_model_that_names_its_labels_in_another_order_is_asked_for_the_tasks(base, rows):
    task, model = read_task(rows), load(base.source)
    turned = with_classifier(model, task.labels[::-1], seed=1)
    at, texts = swapped(task.test, QUICK.swap)
    found = swap(turned, task, SwapConfig(QUICK.swap)).arrays
    assert np.array_equal(found["rows"], at)
    assert np.array_equal(found["outputs"], turned.predict(texts).logits[:, ::-1])


def test_scores_move_instead_of_flipping():
    from toy import task as toy_task

    task = toy_task(regression=True)
    at, _ = swapped(task.test, ["good/cold"])
    generator = np.random.default_rng(0)
    outputs, after = generator.random((128, 1)), generator.random((len(at), 1))
    run, model = made_tuning(outputs), made_model("tuned")
    moved = Result("swap", 1, arrays={"rows": at, "outputs": after}, models={model.id: model})
    result = bias.compute(
        [run], [run], [run], task, replace(QUICK, words=("river",), seeds=(0,)), swapped=[moved] * 3
    )
    assert result.numbers(key="flips", arm="tuned")[0].value == pytest.approx(np.abs(after - outputs[at]).mean())
    assert any("no balance to keep" in note for note in result.notes)


def test_answers_are_known_by_what_their_models_learned_wherever_they_stand(answered, rows):
    """Given in any order, trainings and swapped answers come to the same."""
    step, store, _ = answered
    given: dict[str, list] = {}
    for name, value in step.inputs.items():
        if name != "task":
            given.setdefault(name.partition(".")[0], []).append(store.result(value))
    turned = {name: results[::-1] for name, results in given.items()}
    assert bias.compute(**turned, task=read_task(rows), config=QUICK).equals(store.result(step))
    with pytest.raises(UserError, match="trainings of 1; 2, but needed is one of each of 0; 1; 2"):
        bias.compute(**(given | {"tuned": given["tuned"][1:]}), task=read_task(rows), config=QUICK)


def test_what_cannot_be_measured_is_refused_before_any_training(base, rows, tmp_path):
    task = read_task(rows)
    for words, said in (
        (
            WORDS,
            r"no training row of rows mentions women, woman or 5 other words \(the default, for English\); name "
            "words that occur in it with --words",
        ),
        (("good", "bad", "red", "white"), "rows has no training row without"),
        (("good", "red"), "rows has no training row labelled 1 without good or red"),
    ):
        with pytest.raises(UserError, match=said):
            check(task, replace(QUICK, words=words))
    folder = tmp_path / "split"
    folder.mkdir()
    (folder / "train.csv").write_text(rows.read_text())
    (folder / "dev.csv").write_text("text,label\na summer,1\nthe house,0\n")
    with pytest.raises(UserError, match="no test row of split mentions winter; name"):
        check(read_task(folder), QUICK)
    (folder / "dev.csv").write_text("text,label\na winter,1\nthe winter,0\n")
    with pytest.raises(UserError, match="every test row of split mentions winter: there is no rest to compare"):
        check(read_task(folder), QUICK)
    for wrong in ({"seeds": ()}, {"seeds": (1, 1)}, {"seeds": (-1,)}, {"words": ()}, {"words": ("a", " ")},
                  {"swap": ("she",)}):  # fmt: skip
        with pytest.raises(UserError):
            plan(base, task_root(rows), replace(QUICK, **wrong))


def test_without_pairs_there_are_no_flips(base, rows, answered):
    task, (step, store, _) = read_task(rows), answered
    nothing = swap(load(base.source), task, SwapConfig(("zebra/lion",)))
    assert nothing.notes == ["the swap changes no test text"] and not nothing.headline
    (run,) = [store.result(value) for name, value in step.inputs.items() if name == "tuned.0"]
    config = replace(QUICK, seeds=(0,), swap=("zebra/lion",))
    result = bias.compute([run], [run], [run], task, config, swapped=[nothing] * 3)
    assert "flips" not in result.tables and "the swap changes no test text" in result.notes[-2]


def test_what_others_measured_stands_beside_the_claims_alone(rows):
    task = replace(read_task(rows), name="snli")
    texts = tuple(text.replace("winter", "woman") for text in task.test.text)
    task = replace(task, test=replace(task.test, text=texts))
    run = made_tuning(np.eye(2)[task.test.label])
    result = bias.compute([run], [run], [run], task, config=BiasConfig())
    assert mentions(task.test, WORDS).any()
    assert "published" not in result.tables["effects"] and "published" not in result.tables["arms"]
    assert not any("59.47" in note or "13,197" in note for note in result.notes)
