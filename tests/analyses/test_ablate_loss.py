"""What the score can't see: the loss, KL and flips without each part; how reliable rankings are; null, references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import log_softmax, softmax
from scipy.stats import entropy

import planted_task
import toy
from bertscope.analyses.ablate import measure as measuring
from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.core import statistics
from bertscope.core.intervals import share_interval
from bertscope.core.null_panel import fails
from bertscope.core.predictions import Judged
from bertscope.core.units import Unit, every
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.judge import predict_without
from bertscope.models.outputs.kinds import model_output
from bertscope.models.random_part import losses_without_random_parts
from bertscope.report.head_card import facts
from quick_configs import QUICK_ABLATE

CONFIG = AblateConfig(mode="zero", repeats=200, permutations=999)
TWICE = ("head:1.1", "head:1.2", "head:2.1", "head:2.3")
"""In the model below two heads of each layer say the same: without either, answers are less sure, none is wrong."""


@pytest.fixture
def doubled(pocket) -> Encoder:
    model = planted_task.planted(pocket.tokenizer)
    with torch.no_grad():
        for block, number in zip(model.model.bert.encoder.layer, (1, 2), strict=True):
            value, output = block.attention.self.value.weight, block.attention.output.dense.weight
            own = number * model.head_size
            value[0], output[:, 0] = value[own], output[:, own] / 4
            output[:, own] /= 4
    return model


@pytest.fixture
def told(doubled):
    return ablate(doubled, planted_task.task(), replace(CONFIG, null=True))


def test_columns_equal_what_the_outputs_give(tiny):
    task = toy.task()
    row = ablate(tiny, task, replace(QUICK_ABLATE, units=("mlp",))).table.set_index("unit").loc["mlp:2"]
    whole = task.outputs(tiny.predict(task.test))
    with tiny.gates(off=["mlp:2"], mode="uniform"):
        without = task.outputs(tiny.predict(task.test))
    rows, gold = np.arange(len(task.test)), task.test.label
    losses = [-log_softmax(outputs.astype(float), -1)[rows, gold] for outputs in (whole, without)]
    assert row["loss_rise"] == pytest.approx(losses[1].mean() - losses[0].mean(), rel=1e-3)
    assert row["loss_low"] < row["loss_rise"] < row["loss_high"]
    assert row["kl"] == pytest.approx(entropy(softmax(whole, -1), softmax(without, -1), axis=-1).mean(), rel=1e-3)
    assert row["kl_low"] < row["kl"] < row["kl_high"]
    flips = (whole.argmax(-1) != without.argmax(-1)).mean()
    assert row["flips"] == flips and row["flips_low"] < flips < row["flips_high"]


def test_a_share_of_none_has_an_interval_as_statsmodels_has_it():
    from statsmodels.stats.proportion import proportion_confint

    for count in (0, 3, 30, 60):
        low, high = share_interval(np.array(count / 60), 60)
        assert (low, high) == pytest.approx(proportion_confint(count, 60, method="wilson"), abs=1e-12)
    assert share_interval(np.array(0.0), 60)[1] > 0.04
    for share in (0.02, 0.1, 0.4):
        low, high = share_interval(np.random.default_rng(0).binomial(300, share, 5000) / 300, 300)
        assert 0.93 <= np.mean((low <= share) & (share <= high)) <= 0.97


def test_the_loss_finds_heads_that_accuracy_cannot_see(told):
    heads = told.table[told.table["kind"] == "head"].set_index("unit")
    assert not heads["certain"].any() and (heads["effect"] == 0).all() and (heads["flips"] == 0).all()
    assert set(heads[heads["loss_certain"]].index) == set(TWICE)
    assert (heads.loc[list(TWICE), "loss_low"] > 0).all() and (heads.loc[list(TWICE), "kl"] > 0).all()
    assert heads.drop(list(TWICE))["loss_rise"].abs().max() < 1e-6


def test_the_unreliable_score_gives_way_to_the_loss_and_says_why(told):
    by = told.tables["reliability"].query("kind == 'head'").set_index("measure")
    assert by.loc["metric", "pearson"] == 0 and by.loc["loss", "pearson"] > 0.9 and (by["parts"] == 8).all()
    assert told.numbers(key="reliability", kind="head", measure="loss")[0].value == by.loc["loss", "pearson"]
    assert set(told.table.query("kind == 'head'")["told_by"]) == {"loss"}
    first, second = told.figures[:2]
    assert (first.key, first.value, first.mark) == ("head", "loss_rise", "loss_certain")
    assert (second.key, second.value, second.mark) == ("head_metric", "effect", "certain")
    said = f"split-half reliability 0.00 by accuracy, {by.loc['loss', 'pearson']:.2f} by the loss"
    assert all(said in figure.caption for figure in (first, second)) and any(said in note for note in told.notes)
    assert "so the loss is told first" in first.caption
    keys = [number.key for number in told.headline if number.of.get("kind") == "head"]
    assert keys.index("most_loss_rise") < keys.index("lowest_score")
    sentence = ablate.sentence(told).sentence
    assert sentence.startswith("Switching off one head raises the loss by less than 0.001 (head "), "not by 0.000"
    assert "reliability of 0.00" in sentence
    assert told["parts_needed"].value >= len(TWICE) and told["parts_that_harm"].value == 0


def test_a_rise_that_three_decimals_show_is_written_with_them(told):
    effects = told.tables["effects"].copy()
    effects[["loss_rise", "loss_low", "loss_high"]] *= 0.25 / effects.query("kind == 'head'")["loss_rise"].max()
    sentence = ablate.sentence(replace(told, tables=told.tables | {"effects": effects})).sentence
    assert sentence.startswith("Switching off one head raises the loss by at most 0.250 (")


def test_a_reliable_score_stays_first(pocket):
    result = ablate(planted_task.planted(pocket.tokenizer), planted_task.task(), CONFIG)
    assert set(result.table["told_by"]) == {"metric"}
    assert [figure.key for figure in result.figures[:2]] == ["head", "head_loss"]
    by = result.tables["reliability"].query("kind == 'head'").set_index("measure")["pearson"]
    assert by["metric"] > 0.9 and f"reliability {by['metric']:.2f} by accuracy" in result.figures[0].caption
    assert result.figures[0].value == "effect"
    assert ablate.sentence(result).sentence.startswith("Switching off one head costs at most")


def test_the_head_card_shows_first_what_is_told_first(told, pocket):
    def leading(result):
        heads = result.table[result.table["kind"] == "head"]
        shown = facts(result.in_words(), ablate)
        words = heads["told_by"].map(lambda key: ablate.words["told_by"].get(key, key))
        return [fact["column"] for fact in shown if fact["where"].get("told_by", words.iloc[0]) == words.iloc[0]]

    assert leading(told) == ["loss_rise", "effect"]
    plain = ablate(planted_task.planted(pocket.tokenizer), planted_task.task(), CONFIG)
    assert leading(plain) == ["effect", "loss_rise"]


def test_the_panel_passes_on_exchanged_outputs(told):
    panel = told.tables["null"]
    assert list(zip(panel["kind"], panel["measure"], strict=True)) == [
        (kind, measure) for kind in ("head", "heads", "mlp", "layer") for measure in ("metric", "loss")
    ]
    assert (panel["draws"] == 200).all() and panel["passes"].all() and not fails(told)
    assert any(note.startswith("null panel: passes") for note in told.notes)


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["", "mcnemar_p", "paired_p_of_nothing"])
def test_the_panel_fails_where_a_test_is_broken(tiny, monkeypatch, broken):
    """A p-value that is smaller than it ought to be is found out, by whichever of the two tests."""
    if broken:
        sound = getattr(statistics, broken)
        monkeypatch.setattr(measuring, broken, lambda *args, **how: sound(*args, **how) / 8)
    result = ablate(tiny, toy.task(), replace(CONFIG, units=("head", "mlp"), null=True))
    assert fails(result) == bool(broken)
    failing = set(result.tables["null"].query("not passes")["measure"])
    assert failing == {"mcnemar_p": {"metric"}, "paired_p_of_nothing": {"loss"}}.get(broken, set())


def test_a_needed_head_costs_more_than_a_random_part_of_its_size(pocket):
    model, task = planted_task.planted(pocket.tokenizer), planted_task.task()
    result = ablate(model, task, replace(CONFIG, null=True))
    heads = result.table[result.table["kind"] == "head"].set_index("unit")
    assert heads.loc[list(planted_task.NEEDED), "above_random"].all()
    assert not heads.drop(list(planted_task.NEEDED))["above_random"].any()
    assert result["heads_above_random"].value == 2 and result["heads_above_random"].n == 8
    assert result.table.set_index("unit").loc["mlp:1"][["random_part", "above_random"]].isna().all()
    units = list(planted_task.NEEDED)
    random = losses_without_random_parts(model, task.output, task.test, Unit.parse_all(units), draws=8)
    rise = (random - task.losses(model.predict(task.test))).mean(-1)
    np.testing.assert_allclose(heads.loc[units, "random_part"], rise.mean(1), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(heads.loc[units, "random_most"], rise.max(1), rtol=1e-4, atol=1e-7)


def test_random_weights_stand_beside(doubled, told):
    task = planted_task.task()
    twin = model_output(doubled, task.output).with_random_weights(0)
    assert twin.labels == doubled.labels
    off = predict_without(twin, task.test, [[], *([head] for head in every("head", [4, 4]))], mode="zero")
    losses = task.losses(off)
    heads = told.table[told.table["kind"] == "head"]
    np.testing.assert_allclose(heads["random_weights"], (losses[1:] - losses[0]).mean(1), atol=1e-7)
    far = task.divergence(off.of_change(0), off)[1:].mean(1)
    np.testing.assert_allclose(heads["random_weights_kl"], far, atol=1e-9)


def _scores(task: Task, scale: float) -> Judged:
    """Of a whole model, near the right ones but for their unit, and without one part."""
    right = scale * (task.test.label + np.random.default_rng(0).normal(0, 0.2, len(task.test)))
    both = np.stack([right, right])
    losses, nothing = task.losses(both[..., None]), np.zeros_like(both)
    return Judged(task.moments(both[..., None]), losses, nothing, nothing, both, 0)


@pytest.mark.parametrize(
    ("metric", "loss", "scale", "wanted"),
    [(0.2, 0.8, 1, "loss"), (0.6, 0.8, 1, "metric"), (0.2, 0.1, 1, "metric"), (0.2, 0.8, 10, None)],
)
def test_what_parts_are_told_by(metric, loss, scale, wanted):
    """The loss only where the score is noise and the loss is less so, and of scores only in the task's own unit."""
    task = toy.task(regression=True)
    reliability = pd.DataFrame({"kind": "head", "measure": ["metric", "loss"], "pearson": [metric, loss]})
    assert measuring._told_by(task, _scores(task, scale), reliability).get("head") == wanted


def test_scores_have_a_squared_change_and_nothing_that_flips(pocket):
    task = toy.task(regression=True)
    model = toy.fresh(task, pocket.tokenizer, initializer_range=0.3)
    result = ablate(model, task, replace(QUICK_ABLATE, units=("mlp",), null=True))
    assert {"squared_change", "squared_change_low", "random_weights_squared_change"} <= set(result.table)
    assert not {"kl", "flips"} & set(result.table) and result["loss"].unit == "squared error"
    whole = model.predict(task.test).logits[:, 0].astype(float)
    with model.gates(off=["mlp:3"], mode="uniform"):
        without = model.predict(task.test).logits[:, 0].astype(float)
    row = result.table.set_index("unit").loc["mlp:3"]
    assert row["squared_change"] == pytest.approx(((without - whole) ** 2).mean(), rel=1e-3)
    rise = ((without - task.test.label) ** 2 - (whole - task.test.label) ** 2).mean()
    assert row["loss_rise"] == pytest.approx(rise, rel=1e-3)


def test_means_are_read_off_each_model_once(tiny, monkeypatch):
    asked, means = [], Encoder.means
    monkeypatch.setattr(Encoder, "means", lambda self, *args: asked.append(self.name) or means(self, *args))
    ablate(tiny, toy.task(), replace(CONFIG, units=("head",), mode="mean", null=True))
    assert len(asked) == len(set(asked)) == 2, "the model, and its twin with random weights"
