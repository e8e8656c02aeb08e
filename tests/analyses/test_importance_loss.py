"""Importance by the loss: curves and areas of plain losses, how far predictions move, how reliable rankings are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import log_softmax

import bertscope.analyses.importance.measure as measure
from bertscope.analyses.gradients import example_gradients
from bertscope.analyses.importance.measure import _reliability
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.core.examples import Examples
from bertscope.core.reliability import Reliability
from bertscope.core.units import Unit, every
from bertscope.data.task import Task

WORDS = ("the", "good", "bad", "old", "house", "was", "never", "by", "a", "long", "road", "and", "she", "said", "it")
FEW = ImportanceConfig(repeats=200, steps=3, random=2)


@pytest.fixture
def task() -> Task:
    def split(seed: int, n: int) -> Examples:
        random = np.random.default_rng(seed)
        texts = tuple(" ".join(random.choice(WORDS, random.integers(2, 12))) for _ in range(n))
        return Examples(tuple(f"{seed}.{row}" for row in range(n)), texts, label=np.arange(n) % 2)

    return Task("own", "classification", ("LABEL_0", "LABEL_1"), split(1, 10), split(2, 24), split(3, 30), "accuracy")


def log_p(encoder, examples: Examples, off=()) -> np.ndarray:
    with encoder.gates(off=off):
        return log_softmax(encoder.predict(examples).logits.astype(float), -1)


def loss(encoder, examples: Examples, off=()) -> float:
    return float(-log_p(encoder, examples, off)[np.arange(len(examples)), examples.label].mean())


def test_curves_areas_and_moves_are_those_of_plain_predictions(tiny, task):
    result = importance(tiny, task, FEW)
    parts = result.table.set_index("unit")
    heads = parts[parts["kind"] == "head"].sort_values("importance").index.tolist()
    curves = result.tables["curves"].query("kind == 'head' and order == 'importance'")
    plain = [loss(tiny, task.test, heads[:off]) for off in curves["off"]]
    np.testing.assert_allclose(curves["loss"], plain, atol=1e-5)
    assert (curves["loss_low"] <= curves["loss"]).all() and (curves["loss"] <= curves["loss_high"]).all()
    areas = result.tables["areas"].query("kind == 'head'").set_index("order")
    assert areas.loc["importance", "loss_area"] == pytest.approx(trapezoid(plain, curves["share"]), abs=1e-5)
    more = areas.loc["importance", "loss_area"] - areas.loc["random", "loss_area"]
    assert areas.loc["importance", "loss_more_than_random"] == pytest.approx(more)
    (number,) = result.numbers("loss_area", kind="head", order="importance")
    assert (number.value, number.unit) == (areas.loc["importance", "loss_area"], "nats")
    whole = log_p(tiny, task.validation)
    for unit in ("head:2.3", "mlp:1"):
        without = log_p(tiny, task.validation, [unit])
        kl = (np.exp(whole) * (whole - without)).sum(1).mean()
        assert parts.loc[unit, "kl"] == pytest.approx(kl, abs=1e-5)
        assert parts.loc[unit, "flips"] == pytest.approx((whole.argmax(1) != without.argmax(1)).mean())
        assert parts.loc[unit, "kl_low"] <= parts.loc[unit, "kl"] <= parts.loc[unit, "kl_high"]


def test_a_ranking_that_examples_agree_on_is_reliable_and_one_of_noise_is_not():
    random, units = np.random.default_rng(0), [*every("head", [4, 4, 4]), Unit("mlp", 1)]
    noise = random.exponential(size=(400, 3, 4))
    planted = noise * np.linspace(1, 4, 12).reshape(3, 4)
    by = {
        name: _reliability(units, values, np.zeros((400, 3)), seed=0) for name, values in
        (("noise", noise), ("planted", planted))
    }  # fmt: skip
    assert set(by["noise"]) == {("head", "importance"), ("head", "normalised_importance"), ("mlp", "importance")}
    assert by["planted"]["head", "importance"].pearson > 0.95 > 0.5 > by["noise"]["head", "importance"].pearson
    assert np.isnan(by["noise"]["mlp", "importance"].pearson), "one MLP is no ranking"
    # All of a layer are as important: normalised, nothing is left to rank but what layers do, which is taken out too.
    layers = noise * np.array([1.0, 5.0, 20.0])[:, None]
    found = _reliability(units, layers, np.zeros((400, 3)), seed=0)
    assert found["head", "importance"].pearson > 0.9 and found["head", "normalised_importance"].pearson < 0.5


def test_reliability_is_printed_with_the_heat_maps_and_stands_beside_the_agreement(tiny, task):
    result = importance(tiny, task, FEW)
    rows = np.concatenate([np.abs(part.heads) for part in example_gradients(tiny, task, task.validation)])
    for key, by in (("heads", "importance"), ("heads_normalised", "normalised_importance")):
        (figure,) = (figure for figure in result.figures if figure.key == key)
        (number,) = result.numbers("reliability", kind="head", ranked_by=by)
        assert "Reliability of this ranking" in figure.caption and f"{number.value:.2f}" in figure.caption
        assert number.n == rows.shape[1] * rows.shape[2]
    agreement = result.tables["agreement"].set_index(["kind", "ranked_by", "effect"])
    assert agreement.loc[("head", "importance", "rise"), "reliability"] > 0
    assert {"reliability", "effect_reliability"} < set(agreement)
    plain = importance(tiny, task, replace(FEW, form="cumulative", faithful=False))
    assert not plain.numbers("reliability"), "the examples' order is part of it"


@pytest.mark.parametrize(
    ("score", "loss", "first"), [(0.2, 0.6, "heads_off_loss"), (0.8, 0.9, "heads_off"), (0.2, 0.1, "heads_off")]
)
def test_the_loss_leads_where_the_score_ranks_by_chance_and_the_loss_less_so(
    tiny, task, monkeypatch, score, loss, first
):
    monkeypatch.setattr(measure, "split_half", lambda *args, **how: Reliability(score, score))
    monkeypatch.setattr(measure, "split_half_of_means", lambda *args, **how: Reliability(loss, loss))
    result = importance(tiny, task, FEW)
    figures = [figure for figure in result.figures if figure.key.startswith("heads_off")]
    assert figures[0].key == first and len(figures) == 2
    leads = first == "heads_off_loss"
    assert ("mostly by chance (reliability 0.20" in figures[0].caption) == leads
    assert any("heads mostly by chance" in note for note in result.notes) == leads
    areas = [number.key for number in result.headline if number.key.endswith("area")]
    assert areas[0] == ("loss_area" if leads else "area")


def test_scores_have_no_flips(tiny, task):
    from bertscope.models.new_task_head import with_classifier

    one = with_classifier(tiny, (), seed=1)
    label = {name: replace(getattr(task, name), label=np.linspace(0, 5, len(getattr(task, name))))
             for name in ("train", "validation", "test")}  # fmt: skip
    scored = replace(task, kind="regression", labels=(), metric="pearson", **label)
    result = importance(one, scored, FEW)
    assert "kl" in result.table and "flips" not in result.table
    assert result.numbers("loss_area")[0].unit == "squared deviations"
