"""Ablation: by replay as by force, and the planted head is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.statistics import holm
from bertscope.core.units import Unit, every
from bertscope.models.judge import predict_without
from bertscope.models.surgery import without_layers
from planted_task import leave_one_head
from quick_configs import QUICK_ABLATE
from toy import task_of


@pytest.fixture
def examples() -> Examples:
    generator = np.random.default_rng(3)
    words = [
        "the", "good", "bad", "old", "house", "was", "never", "by", "a", "long", "road", "and", "she", "said",
        "it", "to", "him",
    ]  # fmt: skip
    text = tuple(" ".join(generator.choice(words, generator.integers(2, 14))) for _ in range(60))
    return Examples(tuple(map(str, range(60))), text, label=np.arange(60) % 2)


@pytest.mark.parametrize("mode", ["zero", "uniform", "mean"])
def test_replay_equals_running_the_whole_model(tiny, examples, mode):
    units = [unit for kind in ("head", "heads", "mlp", "layer") for unit in every(kind, [4, 4, 4])]
    sets = [
        [],
        *([unit] for unit in units),
        [Unit("head", 3, 1), Unit("mlp", 2)],
        [Unit("layer", 1), Unit("head", 2, 2)],
    ]
    reference = tiny.means(examples) if mode == "mean" else None
    fast = predict_without(tiny, examples, sets, mode=mode, reference=reference, tokens=200).logits
    slow = predict_without(tiny, examples, sets, mode=mode, reference=reference, tokens=64, replay=False).logits
    assert np.allclose(fast, slow, atol=1e-5)
    for place, units_off in enumerate(sets):
        with tiny.gates(off=units_off, mode=mode, reference=reference):
            assert np.allclose(fast[place], tiny.predict(examples).logits, atol=1e-5)
    assert np.abs(fast[1:] - fast[0]).max((1, 2)).min() > 1e-4, "every unit of this model does something"


def test_the_model_is_left_as_it_was(tiny, examples):
    plain = tiny.predict(examples).logits
    predict_without(tiny, examples, [[Unit("head", 3, 1)]])
    assert np.array_equal(tiny.predict(examples).logits, plain)
    assert all("forward" not in vars(module) for module in tiny.model.modules())


def test_a_planted_head_is_the_only_one_that_counts(tiny, examples):
    leave_one_head(tiny, examples, mlps=False)
    result = ablate(tiny, task_of(examples, tiny), replace(QUICK_ABLATE, mode="zero"))
    heads = result.table[result.table["kind"] == "head"].set_index("unit")["effect"]
    assert heads.drop("head:2.3").abs().max() == 0
    assert heads["head:2.3"] < -0.2
    row = result.table.set_index("unit").loc["head:2.3"]
    assert row["high"] < 0 and row["p_holm"] <= 0.1
    by_layer = result.table[result.table["kind"] == "heads"]["effect"].tolist()
    assert by_layer == [0.0, pytest.approx(heads["head:2.3"]), 0.0]


def test_effects_are_differences_of_plain_scores(tiny, examples):
    task = replace(task_of(examples, tiny), test=examples)
    result = ablate(tiny, task, QUICK_ABLATE)
    full = (tiny.predict(examples).logits.argmax(-1) == examples.label).mean()
    assert result["score"].value == pytest.approx(full)
    for unit in ("head:1.2", "heads:3", "mlp:2", "layer:1"):
        with tiny.gates(off=[unit], mode="uniform"):
            score = (tiny.predict(examples).logits.argmax(-1) == examples.label).mean()
        row = result.table.set_index("unit").loc[unit]
        assert (row["score"], row["effect"]) == (pytest.approx(score), pytest.approx(score - full))
        assert row["low"] <= row["effect"] <= row["high"]
    assert len(result.table) == 12 + 3 + 3 + 3
    assert [figure.kind for figure in result.figures] == [*["heatmap"] * 2, *["intervals"] * 3]


def test_named_sets_are_switched_off_together(tiny, examples):
    task = replace(task_of(examples, tiny), test=examples)
    config = replace(QUICK_ABLATE, units=("mlp",), sets=("top = head:3.1+head:3.2", "mixed=mlp:1+layer:3+neuron:2.7"))
    result = ablate(tiny, task, config)
    sets = result.table[result.table["kind"] == "set"].set_index("unit")
    assert list(sets.index) == ["top", "mixed"] and sets["layer"].isna().all() and sets["head"].isna().all()
    full = (tiny.predict(examples).logits.argmax(-1) == examples.label).mean()
    for name, off in (("top", ["head:3.1", "head:3.2"]), ("mixed", ["mlp:1", "layer:3", "neuron:2.7"])):
        with tiny.gates(off=off, mode="uniform"):
            score = (tiny.predict(examples).logits.argmax(-1) == examples.label).mean()
        assert sets.loc[name, "effect"] == pytest.approx(score - full)
        (number,) = result.numbers(key="change_without", unit=name)
        assert number.label == f"change without {name}"
        assert (number.value, number.low, number.high) == tuple(sets.loc[name, ["effect", "low", "high"]])
    assert "top is head:3.1 + head:3.2" in result.notes
    np.testing.assert_allclose(sets["p_holm"], holm(sets["p"].to_numpy()))  # a family of their own
    assert result.figures[-1].where == {"kind": "set"} and result["parts_needed"].n == 3
    alone = ablate(tiny, task, replace(config, units=()))
    both = alone.table, result.table[result.table["kind"] == "set"].reset_index(drop=True)
    pd.testing.assert_frame_equal(*both, rtol=1e-12)  # sums of losses, unlike hits, depend on how many stand beside
    assert [number.of["unit"] for number in alone.numbers(key="change_without")] == ["top", "mixed"]
    assert [figure.key for figure in result.figures] == ["mlp", "set"]


def test_what_improves_is_listed_best_first(tiny, examples):
    result = ablate(tiny, replace(task_of(examples, tiny), test=examples), QUICK_ABLATE)
    effects, improves = result.tables["effects"], result.tables["improves"]
    assert 0 < len(improves) < len(effects)
    assert set(improves["unit"]) == set(effects[effects["effect"] > 0]["unit"])
    assert improves["effect"].is_monotonic_decreasing and list(improves) == list(effects)
    assert result["parts_better_without"].value == len(improves)
    perfect = ablate(tiny, task_of(examples, tiny), QUICK_ABLATE)  # nothing is better than all
    assert not len(perfect.tables["improves"]) and perfect["parts_better_without"].value == 0


def test_accuracy_is_tested_by_mcnemar_and_others_by_permutation(tiny, examples):
    from statsmodels.stats.contingency_tables import mcnemar

    task = replace(task_of(examples, tiny), test=examples)
    result = ablate(tiny, task, QUICK_ABLATE)
    whole = tiny.predict(examples).logits.argmax(-1) == examples.label
    for unit, p in result.table.set_index("unit")["p"].items():
        with tiny.gates(off=[unit], mode="uniform"):
            less = tiny.predict(examples).logits.argmax(-1) == examples.label
        table = [[(whole & less).sum(), (whole & ~less).sum()], [(~whole & less).sum(), (~whole & ~less).sum()]]
        assert p == pytest.approx(mcnemar(table, exact=True).pvalue)
    by_swaps = ablate(tiny, replace(task, metric="matthews"), QUICK_ABLATE)
    assert (by_swaps.table["p"] * 200 % 1).round(9).isin([0, 1]).all(), "199 swaps and the real one"
    assert "199 permutations are too few for any of 12 head parts to be certain" in by_swaps.notes
    few = [note for note in result.notes if "permutations" in note]
    assert few == ["199 permutations are too few for any of 12 head parts to be certain by the loss"]


def test_the_range_is_that_of_single_heads_and_of_layers_heads(tiny, examples):
    result = ablate(tiny, replace(task_of(examples, tiny), test=examples), QUICK_ABLATE)
    for kind, words in (("head", "one head"), ("heads", "one layer's heads")):
        scores = result.table[result.table["kind"] == kind].set_index("unit")["score"]
        ends = [number for number in result.numbers(kind=kind) if number.key.endswith("_score")]
        assert [number.key for number in ends] == ["lowest_score", "highest_score"]
        assert [number.value for number in ends] == [scores.min(), scores.max()]
        assert [scores[number.of["unit"]] for number in ends] == [scores.min(), scores.max()]
        assert ends[0].label == f"lowest without {words} ({ends[0].of['unit']})"
    alone = ablate(tiny, task_of(examples, tiny), replace(QUICK_ABLATE, units=("mlp",)))
    assert len(alone.numbers(key="lowest_score", kind="mlp")) == 1


def test_every_number_has_its_words_and_what_it_is_about_is_recorded(tiny, examples):
    result = ablate(tiny, task_of(examples, tiny), replace(QUICK_ABLATE, sets=("top=head:3.1",), null=True))
    assert {number.key for number in result.headline} == set(ablate.numbers)
    assert list(result.models) == [tiny.id] and result.subject == {"task": "own", "mode": "uniform"}
    assert set(result.in_words().table["kind"]) == {"head", "layer's heads", "MLP", "layer", "set"}


def test_the_sentence_says_what_the_worst_head_costs(tiny, examples):
    leave_one_head(tiny, examples, mlps=False)
    task = task_of(examples, tiny)
    result = ablate(tiny, task, replace(QUICK_ABLATE, mode="zero"))
    told = ablate.sentence(result)
    assert told.main == -result.table.set_index("unit").loc["head:2.3", "effect"]
    assert "(head 2.3); of 21 parts" in told.sentence and told.written(0.1) == "10.0 points"
    assert ablate.sentence(ablate(tiny, task, replace(QUICK_ABLATE, units=("mlp",)))) is None


def test_results_repeat_and_come_back(tiny, examples, tmp_path):
    task = task_of(examples, tiny)
    one, two = ablate(tiny, task, QUICK_ABLATE), ablate(tiny, task, QUICK_ABLATE)
    assert one.equals(two)
    assert type(one).load(one.save(tmp_path / "r")).equals(one)


def test_what_can_not_work_is_refused_before_computing(tiny, pocket, examples):
    task = task_of(examples, tiny)
    with pytest.raises(UserError, match="pocket has no classifier"):
        ablate(pocket, task)
    with pytest.raises(UserError, match="gives 2 outputs, the task needs 3"):
        ablate(tiny, replace(task, labels=("a", "b", "c")))
    for settings, message in (
        ({"units": ("heds",)}, "unknown kind of part 'heds'; did you mean 'heads'"),
        ({"units": ()}, "no parts to switch off"),
        ({"mode": "off"}, "unknown mode 'off'"),
        ({"repeats": 3}, "repeats is 3; it must be at least 100"),
        ({"sets": ("head:1.1",)}, "'head:1.1' names no set of parts; write it like top=head:12.1"),
        ({"sets": ("a=head:1",)}, "'head:1': write it like head:3.7"),
        ({"sets": ("a=mlp:1", "a=mlp:2")}, "two sets are called 'a'"),
    ):
        with pytest.raises(UserError, match=message):
            AblateConfig(**settings)
    with pytest.raises(UserError, match=r"head:9\.1: the model has layers 1 to 3"):
        ablate(tiny, task, AblateConfig(sets=("a=head:9.1",)))
    with pytest.raises(UserError, match="has no heads left; ask about something else with --units"):
        ablate(tiny.cut(["heads:1", "heads:2", "heads:3"]), task, AblateConfig(units=("head",)))
    with pytest.raises(UserError, match="has no layers; give a model that has some"):
        ablate(without_layers(tiny, {1, 2, 3}), task)
