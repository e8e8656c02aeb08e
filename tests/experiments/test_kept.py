"""What a smaller model keeps of the whole one's skill: a ratio of means, with its interval."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.resampling import resamples
from bertscope.experiments.comparison import skill_kept
from bertscope.experiments.shrink.question import ShrinkConfig, Target, shrink
from bertscope.experiments.shrink.result import _allowed

BARE = ShrinkConfig(target="50%", retrain=False, onnx=False)


def accuracy(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def moments(right) -> np.ndarray:
    return np.asarray(right, float)[..., None]


def test_a_ratio_by_hand():
    whole, cut, constant = np.zeros(100), np.zeros(100), np.zeros(100)
    whole[:90], cut[:80], constant[50:] = 1, 1, 1
    kept, low, high = skill_kept(accuracy, moments([whole, cut]), moments(constant))
    assert kept.tolist() == [1.0, pytest.approx(0.75)]  # (.8 - .5) / (.9 - .5)
    assert (low[0], high[0]) == (1.0, 1.0)  # of itself it keeps all, whoever is drawn
    drawn = np.concatenate(list(resamples(100, 2000, 0)))
    ratios = [np.average(cut - constant, weights=one) / np.average(whole - constant, weights=one) for one in drawn]
    assert (low[1], high[1]) == tuple(pytest.approx(end) for end in np.quantile(ratios, [0.025, 0.975]))


def test_of_no_skill_nothing_can_be_kept():
    generator = np.random.default_rng(0)
    right = moments(generator.random((2, 200)) < 0.55)
    kept, low, high = skill_kept(accuracy, right, moments(generator.random(200) < 0.5))
    assert np.isfinite(kept).all() and np.isnan(low).all() and np.isnan(high).all()  # may be divided by 0
    kept, *ends = skill_kept(accuracy, right, moments(np.ones(200)))
    assert np.isnan(kept).all() and np.isnan(ends).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "whole", "cut"), [(300, 0.8, 0.78), (300, 0.8, 0.7)])
def test_the_interval_holds_the_truth_as_often_as_it_says(n, whole, cut):
    """A constant answer is right half of the time; the cut model errs on some rows where the whole one is right, and
    is right on some others."""
    generator, times, held = np.random.default_rng(1), 200, 0
    broken = (whole - cut) / whole + 0.05
    mended = broken * whole / (1 - whole) - (whole - cut) / (1 - whole)
    truth = (cut - 0.5) / (whole - 0.5)
    for _ in range(times):
        right = generator.random(n) < whole
        flips = generator.random(n) < np.where(right, broken, mended)
        _, low, high = skill_kept(accuracy, moments([right, right ^ flips]), moments(generator.random(n) < 0.5))
        held += low[1] <= truth <= high[1]
    assert abs(held / times - 0.95) < 2.6 * (0.95 * 0.05 / times) ** 0.5


@pytest.mark.usefixtures("clock")
def test_shrink_tells_what_is_kept_and_how_surely(toy_model, toy_task, tmp_path):
    result = shrink(toy_model, toy_task, BARE, out=tmp_path / "small").result
    (kept,) = result.numbers(key="kept", arm="cut")
    row = result.tables["models"].set_index("arm").loc["cut"]
    score = {number.of["arm"]: number.value for number in result.numbers(key="score")}
    chance = result["chance"].value
    assert kept.value == pytest.approx((score["cut"] - chance) / (score["whole"] - chance))
    assert (kept.low, kept.high) == (row["kept_low"], row["kept_high"]) and kept.low <= kept.value <= kept.high
    said = shrink.sentence(result).sentence
    assert f"{100 * kept.value:.0f}%" in said and "of what is above chance" in said
    card = (tmp_path / "small" / "README.md").read_text()
    assert "| change | kept |" in card and f"| {kept.value:.0%} [{kept.low:.0%}, {kept.high:.0%}] |" in card


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("change", "verdict"),
    [((-0.01, -0.02, 0.0), "certain"), ((-0.01, -0.08, 0.06), "open"), ((-0.2, -0.3, -0.1), "certainly not so")],
)
def test_what_was_allowed_on_validation_is_asked_of_test(toy_model, toy_task, monkeypatch, change, verdict):
    from bertscope.experiments.shrink import measure

    measured = measure.measured

    def planted(*args, **settings):
        models, times = measured(*args, **settings)
        models.loc[models["arm"] == "cut", ["change", "change_low", "change_high"]] = change
        return models, times

    monkeypatch.setattr(measure, "measured", planted)
    result = shrink(toy_model, toy_task, replace(BARE, target="5 points", step=0.3)).result
    (said,) = [note for note in result.notes if note.startswith("at most 5 points lost on the test set")]
    assert said.partition("): ")[2].partition(":")[0] == verdict


@pytest.mark.parametrize(("texts", "verdict"), [(20, "open"), (1000, "certain")])
def test_few_texts_of_which_no_answer_changes_are_no_evidence_that_little_is_lost(texts, verdict):
    task = SimpleNamespace(test=range(texts), metric="accuracy")
    same = pd.DataFrame({"arm": ["cut"], "change": [0.0], "change_low": [0.0], "change_high": [0.0]})
    (said,) = _allowed(SimpleNamespace(target=Target.parse("1 point"), task=task), same, "cut")
    assert said.partition("): ")[2].partition(":")[0] == verdict
