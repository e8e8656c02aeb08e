"""Importance: the gradients of the validation set, and how well they foretell what switching parts off does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid
from scipy.stats import spearmanr

from bertscope.analyses.gradients import gate_gradients
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.analyses.one_by_one import fall, sizes
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.ranking import rank_correlation
from bertscope.core.units import Unit
from bertscope.data.task import Task
from own_task import own_task, said_by, some
from planted_task import leave_one_head

FEW = ImportanceConfig(repeats=200, steps=4, random=2)
GRADIENTS = replace(FEW, faithful=False)


@pytest.fixture
def task() -> Task:
    return own_task()


def losses_of(encoder, examples: Examples) -> np.ndarray:
    outputs = torch.from_numpy(encoder.predict(examples).logits).double()
    return -torch.log_softmax(outputs, -1)[torch.arange(len(examples)), torch.from_numpy(examples.label)].numpy()


def test_the_table_holds_the_gradients_of_the_validation_set(tiny, task):
    result = importance(tiny, task, GRADIENTS)
    found = gate_gradients(tiny, task, task.validation)
    parts = result.table.set_index("unit")
    heads, mlps = parts[parts["kind"] == "head"], parts[parts["kind"] == "mlp"]
    np.testing.assert_allclose(heads["importance"], found.heads.ravel(), rtol=1e-5)
    np.testing.assert_allclose(mlps["importance"], found.mlps, rtol=1e-5)
    np.testing.assert_allclose(heads["normalised"], found.normalised().heads.ravel(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(mlps["normalised"], found.normalised().mlps, rtol=1e-4, atol=1e-6)
    assert (parts["low"] < parts["importance"]).all() and (parts["importance"] < parts["high"]).all()
    for kind in (heads, mlps):
        assert kind.sort_values("rank")["importance"].is_monotonic_decreasing
        assert kind.sort_values("normalised_rank")["normalised"].is_monotonic_decreasing
        assert sorted(kind["rank"]) == list(range(1, len(kind) + 1))
    assert list(result.tables) == ["parts"]
    assert result["loss"].value == pytest.approx(losses_of(tiny, task.validation).mean(), rel=1e-5)
    (most,) = result.numbers(key="highest_importance", kind="head")
    assert (most.of["unit"], most.value) == (heads["importance"].idxmax(), heads["importance"].max())
    assert most.label == f"most important head ({most.of['unit']})"
    assert result.numbers(kind="mlp")[0].label.startswith("most important MLP (mlp:")
    assert list(result.models) == [tiny.id] and result.subject == {"task": "own", "form": "example"}


def test_intervals_are_those_of_means_over_examples(tiny, task):
    """The bootstrap's are close to the normal approximation's on many examples."""
    from bertscope.analyses.gradients import example_gradients

    many = replace(task, validation=some(400, 5))
    table = importance(tiny, many, replace(GRADIENTS, repeats=2000, units=("mlp",))).table
    sizes = np.concatenate([np.abs(part.mlps) for part in example_gradients(tiny, many, many.validation)])
    wide = 2 * 1.96 * sizes.std(0) / np.sqrt(400)
    np.testing.assert_allclose(table["high"] - table["low"], wide, rtol=0.12)


def test_effects_alone_are_of_the_validation_set(tiny, task):
    result = importance(tiny, task, FEW)
    parts = result.table.set_index("unit")
    whole, right = (
        losses_of(tiny, task.validation),
        tiny.predict(task.validation).logits.argmax(-1) == task.validation.label,
    )
    for unit in ("head:1.2", "head:3.4", "mlp:2"):
        with tiny.gates(off=[unit]):
            change = losses_of(tiny, task.validation) - whole
            drop = right.mean() - (tiny.predict(task.validation).logits.argmax(-1) == task.validation.label).mean()
        row = parts.loc[unit]
        assert row["rise"] == pytest.approx(change.mean(), abs=1e-5)
        assert row["size"] == pytest.approx(np.abs(change).mean(), abs=1e-5)
        assert row["drop"] == pytest.approx(drop)
        for effect in ("rise", "size", "drop"):
            assert row[f"{effect}_low"] <= row[effect] <= row[f"{effect}_high"]


def test_agreement_is_spearmans(tiny, task):
    result = importance(tiny, task, FEW)
    parts, agreement = result.table, result.tables["agreement"]
    assert len(agreement) == 6 + 3
    for row in agreement.to_dict("records"):
        here = parts[parts["kind"] == row["kind"]]
        by = here["importance"] if row["ranked_by"] == "importance" else here["normalised"]
        assert row["correlation"] == pytest.approx(spearmanr(by, here[row["effect"]]).statistic)
        assert row["low"] <= row["high"] and row["n"] == len(here)
    (number,) = result.numbers(key="rank_correlation", effect="rise", kind="head")
    assert number.label == "Spearman with the loss's rise (heads)"
    row = agreement[(agreement["kind"] == "head") & (agreement["ranked_by"] == "importance")].iloc[0]
    assert (row["effect"], row["correlation"]) == ("rise", number.value)


def test_rank_correlation_of_many_rows_with_ties():
    generator = np.random.default_rng(0)
    one, other = generator.integers(0, 4, (20, 9)), generator.normal(size=(20, 9))
    expected = [spearmanr(a, b).statistic for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(rank_correlation(one, other), expected)
    assert np.isnan(rank_correlation(np.ones((1, 3)), np.arange(3.0)[None])).all()


def test_curves_are_scores_of_the_test_set_with_nested_sets_off(tiny, task):
    result = importance(tiny, task, FEW)
    parts, curves = result.table, result.tables["curves"]
    heads = parts[parts["kind"] == "head"]

    def score(off) -> float:
        with tiny.gates(off=off):
            return (tiny.predict(task.test).logits.argmax(-1) == task.test.label).mean()

    for order, by in (
        ("importance", "importance"),
        ("normalised_importance", "normalised"),
        ("effect_alone", "rise"),
    ):
        line = curves[(curves["kind"] == "head") & (curves["order"] == order)]
        assert line["off"].tolist() == [0, 3, 6, 9, 12] and line["share"].tolist() == [0, 0.25, 0.5, 0.75, 1]
        units = heads.sort_values(by)["unit"].tolist()
        assert line["score"].tolist() == pytest.approx([score(units[:size]) for size in (0, 3, 6, 9, 12)])
        area = result.tables["areas"].query("kind == 'head' and order == @order").iloc[0]
        assert area["area"] == pytest.approx(trapezoid(line["score"], line["share"]))
        assert [number.value for number in result.numbers(key="area", kind="head", order=order)] == [area["area"]]
    ends = curves[curves["share"].isin([0, 1])].groupby(["kind", "share"])["score"].nunique()
    assert (ends == 1).all(), "all orders begin and end alike"
    assert "normalised_importance" not in set(curves[curves["kind"] == "mlp"]["order"])
    shown = result.in_words()
    assert "normalised importance" in set(shown.tables["curves"]["order"])
    assert shown.numbers(key="area", kind="mlp", order="effect_alone")[0].label == "area, MLPs (order: effect alone)"


def test_random_order_is_a_mean_of_orders_with_their_range(tiny, task):
    a, b, c = Unit("mlp", 1), Unit("mlp", 2), Unit("mlp", 3)
    orders = {("mlp", "random"): [[a, b, c], [c, b, a]], ("mlp", "importance"): [[a, b, c]]}
    fell = fall(WithoutParts(tiny, task), task.test, orders, steps=4, repeats=200, seed=0)
    curves, areas = fell.curves, fell.areas
    whole = task.score_answers(fell.judged.predicted[0])
    several, one = (curves[curves["order"] == name].reset_index(drop=True) for name in ("random", "importance"))
    with tiny.gates(off=["mlp:3"]):
        without = (tiny.predict(task.test).logits.argmax(-1) == task.test.label).mean()
    assert several["score"][1] == pytest.approx((one["score"][1] + without) / 2)
    assert (several["low"][1], several["high"][1]) == tuple(sorted([one["score"][1], without]))
    assert one["score"][0] == whole.value
    by = areas.set_index("order")
    assert by.loc["random", "more_than_random"] == 0 == by.loc["random", "more_high"]
    more = by.loc["importance"]
    assert more["more_than_random"] == pytest.approx(more["area"] - by.loc["random", "area"])
    assert more["more_low"] <= more["more_than_random"] <= more["more_high"]


def test_sizes_go_from_none_to_all():
    assert sizes(144, 10).tolist() == [0, 14, 29, 43, 58, 72, 86, 101, 115, 130, 144]
    assert sizes(3, 10).tolist() == [0, 1, 2, 3] and sizes(12, 4).tolist() == [0, 3, 6, 9, 12]


def test_a_planted_head_is_the_most_important_and_goes_last(tiny, task):
    """The others' importance is 0, and they can go without loss."""
    leave_one_head(tiny, task.test)
    result = importance(tiny, said_by(tiny, task), replace(FEW, units=("head",), random=4))
    parts = result.table.set_index("unit")["importance"]
    assert parts.drop("head:2.3").abs().max() == 0 < parts["head:2.3"]
    assert result.table.set_index("unit")["rank"]["head:2.3"] == 1
    curve = result.tables["curves"].query("order == 'importance'")["score"].tolist()
    assert curve[:-1] == [1.0] * 4 and curve[-1] < 0.9
    areas = result.tables["areas"].set_index("order")
    assert areas.loc["importance", "area"] > areas.loc["random", "area"]
    assert areas.loc["importance", "more_low"] > 0


def test_validation_decides_and_test_is_only_scored(tiny, task):
    one = importance(tiny, task, FEW)
    other = importance(tiny, replace(task, test=some(40, 9)), FEW)
    assert one.table.equals(other.table) and one.tables["agreement"].equals(other.tables["agreement"])
    assert not one.tables["curves"].equals(other.tables["curves"])
    assert (
        not importance(tiny, replace(task, validation=some(40, 9)), GRADIENTS)
        .table["importance"]
        .equals(one.table["importance"])
    )


@pytest.mark.parametrize("form", ["token", "cumulative"])
def test_other_forms_are_those_of_the_gradients(tiny, task, form):
    result = importance(tiny, task, replace(FEW, form=form, batch_size=5))
    found = gate_gradients(tiny, task, task.validation, form=form, batch_size=5)
    expected = np.concatenate([found.heads.ravel(), found.mlps])
    np.testing.assert_allclose(result.table["importance"], expected, rtol=1e-4)
    assert result.table["low"].isna().all() == (form == "cumulative")
    assert any("another order" in note for note in result.notes) == (form == "cumulative")
    assert result.subject["form"] == form


def test_neurons(tiny, task):
    from bertscope.analyses.gradients import example_gradients

    result = importance(tiny, task, replace(GRADIENTS, units=("neuron",)))
    table = result.table.sort_values(["layer", "neuron"])
    parts = list(example_gradients(tiny, task, task.validation, neurons=True))
    each = np.concatenate([np.concatenate([np.abs(layer) for layer in part.neurons], 1) for part in parts])
    np.testing.assert_allclose(table["importance"], each.mean(0), rtol=1e-5)
    error = each.std(0, ddof=1) / np.sqrt(len(each))
    np.testing.assert_allclose(table["high"] - table["low"], 2 * 1.959964 * error, rtol=1e-4)
    assert result.table["rank"].tolist() == list(range(1, 3 * 48 + 1)) and result.table["unit"].is_unique
    found = gate_gradients(tiny, task, task.validation, neurons=True).normalised()
    np.testing.assert_allclose(table["normalised"], np.concatenate(found.neurons), rtol=1e-4, atol=1e-6)
    share = result["neurons_with_half"].value
    largest = np.sort(each.mean(0))[::-1]
    count = round(share * 144)
    assert largest[:count].sum() >= largest.sum() / 2 > largest[: count - 1].sum()
    assert list(result.tables) == ["neurons", "neurons_by_layer"] and len(result.tables["neurons_by_layer"]) == 3


def test_a_cut_model_is_measured_as_it_is(tiny, task):
    cut = tiny.cut(["head:1.2", "heads:2", "mlp:3"])
    result = importance(cut, task, replace(FEW, units=("head", "mlp", "neuron")))
    assert result.table["kind"].value_counts().to_dict() == {"head": 3 + 4, "mlp": 2}
    assert result.table[["importance", "normalised"]].notna().to_numpy().all()
    assert len(result.tables["neurons"]) == 2 * 48
    with pytest.raises(UserError, match="has no heads left"):
        importance(tiny.cut(["heads:1", "heads:2", "heads:3"]), task, GRADIENTS)


def test_a_regression(tiny, task):
    tiny.model.classifier = torch.nn.Linear(24, 1).to(tiny.device)
    tiny.model.config.num_labels = tiny.model.num_labels = 1

    def scored(examples: Examples) -> Examples:
        return replace(examples, label=tiny.predict(examples).logits[:, 0].astype(float) * 3 + 1)

    splits = {name: scored(getattr(task, name)) for name in ("train", "validation", "test")}
    task = replace(task, kind="regression", labels=(), metric="pearson", **splits)
    result = importance(tiny, task, FEW)
    assert result["score"].value == pytest.approx(1)
    errors = (tiny.predict(task.validation).logits[:, 0] - task.validation.label) ** 2 / task.train.label.var()
    assert result["loss"].value == pytest.approx(errors.mean(), rel=1e-4)


def test_results_repeat_and_come_back(tiny, task, tmp_path):
    config = replace(FEW, units=("head", "mlp", "neuron"))
    one, two = importance(tiny, task, config), importance(tiny, task, config)
    assert one.equals(two)
    assert type(one).load(one.save(tmp_path / "r")).equals(one)
    assert not one.equals(importance(tiny, task, replace(config, seed=1)))
    kinds = [figure.kind for figure in one.figures]
    assert kinds == ["heatmap", "heatmap", "intervals", "intervals", "points", "points", *["lines"] * 4]
    keys = [figure.key for figure in one.figures]
    assert keys[:6] == ["heads", "heads_normalised", "mlps", "neurons", "against_size", "against_rise"]
    assert [set(keys[6:8]), set(keys[8:])] == [{f"{kind}s_off", f"{kind}s_off_loss"} for kind in ("head", "mlp")]
    assert {number.key for number in one.headline} == set(importance.numbers)


def test_what_can_not_work_is_refused_before_computing(tiny, pocket, task):
    with pytest.raises(UserError, match="pocket has no classifier"):
        importance(pocket, task)
    with pytest.raises(UserError, match="gives 2 outputs, the task needs 3"):
        importance(tiny, replace(task, labels=("a", "b", "c")))
    tiny.model.config.rotary_value = True
    with pytest.raises(UserError, match="rotates its values by position"):
        importance(tiny, task, replace(FEW, mode="uniform"))
    for settings, message in (
        ({"units": ("hed",)}, "unknown kind of part 'hed'; did you mean 'head'"),
        ({"units": ()}, "no parts to measure"),
        ({"form": "sum"}, "unknown form 'sum'; known: cumulative, example, token"),
        ({"mode": "off"}, "unknown mode 'off'"),
        ({"form": "cumulative", "units": ("neuron",)}, "the cumulative form is for comparison"),
        ({"steps": 1}, "steps is 1; it must be at least 2"),
        ({"random": 1}, "random is 1"),
        ({"repeats": 3}, "repeats is 3; it must be at least 100"),
        ({"seed": -1}, "seed is -1"),
    ):
        with pytest.raises(UserError, match=message):
            ImportanceConfig(**settings)
