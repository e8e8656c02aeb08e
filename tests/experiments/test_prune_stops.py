"""Where `prune` stops: by the three rules, in other draws of the validation rows, and what the test set says then."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from bertscope.core.predictions import Predictions
from bertscope.core.resampling import metric_draws, resamples
from bertscope.experiments.lottery.question import LotteryConfig
from bertscope.experiments.prune import measure, stopping
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.experiments.prune.stopping import Bar, Stops
from bertscope.models.encoder import Encoder
from planted_task import planted, task

# The share of right answers after each step that halves the weights: under the bar (.95) at the third, then above it.
FALLS_AND_RISES = [1.0, 1.0, 0.975, 0.93, 0.96, 0.92, 0.95, 0.5]
ROWS = 200


@pytest.fixture
def model(pocket):
    return planted(pocket.tokenizer)


def answers(right: float, step: int, gold: np.ndarray) -> np.ndarray:
    """Labels of which that share is right; other rows are wrong at each step."""
    wrong = np.random.default_rng(step).permutation(len(gold))[: round((1 - right) * len(gold))]
    said = gold.copy()
    said[wrong] = 1 - said[wrong]
    return said


def plant(monkeypatch, scores, *, on_test=None):
    """A model that has these shares of right answers at each step of halving its weights, the first being whole."""

    def predicted(step: int, examples, output) -> Predictions:
        of_test = on_test is not None and examples.ids[0].startswith("test")
        right = (on_test if of_test else scores)[min(step, len(scores) - 1)]
        said = answers(right, step, examples.label)
        return Predictions(examples.ids, np.eye(2, dtype=np.float32)[said], ("bad", "good"), 0)

    @contextmanager
    def only(encoder, subnetwork):
        step = round(-np.log2(subnetwork.kept.mean()))
        yield SimpleNamespace(predict=partial(predicted, step))

    monkeypatch.setattr(measure, "only", only)
    monkeypatch.setattr(Encoder, "predict", lambda self, examples, output: predicted(0, examples, output))


def pruned(model, stop, **settings):
    return prune(model, task(ROWS), PruneConfig("m", share=0.5, stop=stop, **settings)).result


def kept_step(result) -> int:
    return round(-np.log2(result["left"].value))


def test_each_rule_keeps_its_mask_of_a_path_that_falls_and_rises(model, monkeypatch):
    plant(monkeypatch, FALLS_AND_RISES)
    found = {stop: pruned(model, stop) for stop in ("paper", "smallest", "tested")}
    assert {stop: kept_step(one) for stop, one in found.items()} == {"paper": 2, "smallest": 6, "tested": 1}
    for one in found.values():
        steps = one.tables["steps"]
        assert steps["outcome"].tolist().index("kept") == kept_step(one)
        assert steps["left"][kept_step(one)] == one["left"].value
    steps = found["paper"].tables["steps"]
    assert steps["passes"][:5].tolist() == [True, True, True, False, True]  # it is walked on, for the interval
    assert np.allclose(steps["above_bar"], steps["score"] - 0.95)
    (said,) = [note for note in found["paper"].notes if "pass" in note and "again" in note]
    assert "--stop smallest" in said
    assert not [note for note in found["smallest"].notes if "again" in note]
    assert (found["smallest"].tables["steps"]["left"].iloc[-1] < 0.01) and "p" not in steps


def test_the_tested_stop_wants_to_be_certain(model, monkeypatch):
    """Two steps lie on or above the bar; the second is .01 above it, which 200 rows can't tell."""
    plant(monkeypatch, [1.0, 1.0, 0.96, 0.955, 0.5])
    assert kept_step(pruned(model, "paper")) == 3
    result = pruned(model, "tested")
    assert kept_step(result) == 1
    steps = result.tables["steps"]
    right = np.array([answers(0.96, 2, gold := task(ROWS).validation.label) == gold], float)[0]
    blind = (gold == task(ROWS).outputs_to_predictions(task(ROWS).blind_outputs(task(ROWS).validation))).astype(float)
    values = right - 0.9 - 0.1 * blind  # the whole model is always right
    from scipy.stats import ttest_1samp

    against = [*values, -1.0]  # one row more, on which it alone is wrong
    assert steps["p"][2] == pytest.approx(ttest_1samp(against, 0, alternative="greater").pvalue)
    assert steps["p"][2] > 0.05 > steps["p"][1] and not steps["passes"][2]


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["paper", "smallest", "tested"])
def test_the_interval_of_what_is_left_is_the_bootstrap_by_hand(model, monkeypatch, stop):
    plant(monkeypatch, FALLS_AND_RISES)
    result = pruned(model, stop)
    gold = task(ROWS).validation.label
    constant = int(np.bincount(task(ROWS).train.label).argmax())
    steps = result.tables["steps"]
    by_hand = []
    for counts in np.concatenate(list(resamples(ROWS, 2000, 0))).astype(int):
        rows = np.repeat(np.arange(ROWS), counts)
        chance = np.mean(gold[rows] == constant)
        bar = chance + 0.9 * (1 - chance)
        passed = []
        for at in range(len(steps)):
            right = (answers(FALLS_AND_RISES[min(at, 7)], at, gold) == gold)[rows].astype(float)
            values = right - 0.9 - 0.1 * (gold[rows] == constant)
            against = np.append(values, -1.0)
            error = against.std(ddof=1) / (ROWS + 1) ** 0.5
            certain = against.mean() > 1.65250810 * error  # Student's t with 200 degrees of freedom
            passed.append(at == 0 or (certain if stop == "tested" else right.mean() >= bar - 1e-9))
        first = passed.index(False) if False in passed else len(passed)
        by_hand.append(max(np.flatnonzero(passed)) if stop == "smallest" else first - 1)
    low, high = np.quantile(steps["left"].to_numpy()[by_hand], [0.025, 0.975])
    left = result["left"]
    assert (left.low, left.high, left.n) == (pytest.approx(low), pytest.approx(high), ROWS)
    assert low <= left.value <= high and low < high


def test_phases_begin_with_what_the_validation_set_keeps():
    """Heads and MLPs, heads, MLPs: three resamples beside the sample itself, worked by hand."""
    stops = Stops(PruneConfig(), 4)
    yes, no = True, False
    assert stops.take(1, 0.9, np.array([yes, yes, no, yes]))
    assert stops.take(2, 0.8, np.array([no, yes, yes, no]))  # the sample stops, a resample goes on
    assert not stops.take(3, 0.7, np.array([yes, no, yes, yes]))  # none is left that hasn't failed once
    assert stops.kept.tolist() == [1, 2, 0, 1]
    stops.begin_phase()  # from step 1: only the last resample keeps that, too
    assert stops.take(4, 0.85, np.array([yes, yes, yes, yes]))
    assert stops.kept.tolist() == [4, 2, 0, 4]
    smallest = Stops(PruneConfig(stop="smallest"), 3)
    for row, left, passes in ((1, 0.9, [yes, no, no]), (2, 0.8, [no, no, yes]), (3, 0.7, [yes, no, no])):
        assert smallest.take(row, left, np.array(passes))
    smallest.begin_phase()
    smallest.take(4, 0.75, np.array([yes, yes, yes]))  # larger than what the sample keeps already
    assert smallest.kept.tolist() == [3, 4, 4]


def test_a_mask_that_passes_on_validation_and_misses_the_bar_on_test(model, monkeypatch):
    plant(monkeypatch, [1.0, 0.96, 0.6], on_test=[0.98, 0.92, 0.6])
    result = pruned(model, "paper")
    above = result["above_bar"]
    examples = task(ROWS).test
    chance = max(np.mean(examples.label), 1 - np.mean(examples.label))
    assert above.value == pytest.approx(0.92 - (chance + 0.9 * (0.98 - chance))) and above.value < 0
    draws = metric_draws(
        lambda means: means[..., 0],
        np.stack([[answers(right, step, examples.label) == examples.label] for step, right in ((0, 0.98), (1, 0.92))])
        .transpose(0, 2, 1)
        .astype(float),
    )
    apart = draws[:, 1] - 0.9 * draws[:, 0]  # the constant's share, which hardly varies, is left out
    assert above.high - above.low == pytest.approx(np.ptp(np.quantile(apart[1:], [0.025, 0.975])), rel=0.1)
    (said,) = [note for note in result.notes if "misses the same share on the test set" in note]
    assert "not for certain" in said and "less than must be reached there" in prune.sentence(result).sentence
    plant(monkeypatch, [1.0, 0.96, 0.6], on_test=[0.98, 0.7, 0.6])
    assert "for certain" in prune.sentence(pruned(model, "paper")).sentence.replace("not for certain", "")
    plant(monkeypatch, [1.0, 1.0, 0.6])
    assert not [note for note in pruned(model, "paper").notes if "misses" in note]
    assert "more than must be reached" in prune.sentence(pruned(model, "paper")).sentence


def test_what_was_killed_beyond_its_stop_finds_the_same_interval(model, monkeypatch, tmp_path):
    plant(monkeypatch, FALLS_AND_RISES)
    config = PruneConfig("m", share=0.5)
    whole = prune(model, task(ROWS), config, out=tmp_path / "whole").result
    taken, original = [], measure.Pruning._row

    def dies(self, phase, kept):
        if len(taken) == 5:  # the mask that passes again
            raise KeyboardInterrupt
        taken.append(phase)
        return original(self, phase, kept)

    with monkeypatch.context() as killed:
        killed.setattr(measure.Pruning, "_row", dies)
        with pytest.raises(KeyboardInterrupt):
            prune(model, task(ROWS), config, out=tmp_path / "killed")
    assert prune(model, task(ROWS), config, out=tmp_path / "killed").result.equals(whole)


def test_three_phases_share_the_level(monkeypatch):
    """With 12 wrong rows of 400 p is .030: enough where single weights go, not where heads, MLPs and both do."""
    monkeypatch.setattr(stopping, "metric_draws", partial(metric_draws, repeats=1))
    right = np.ones((400, 1))
    right[:12] = 0
    found = [
        Bar(_Simulated(np.arange(400) % 2 == 0), None, np.ones((400, 1)), PruneConfig(method, stop="tested"))
        .standing(right)
        for method in ("m", "s")
    ]  # fmt: skip
    assert found[0].p == found[1].p and 0.05 / 3 < found[0].p < 0.05
    assert found[0].passes[0] and not found[1].passes[0]


def test_a_lottery_passes_the_rule_on():
    assert LotteryConfig(stop="tested").pruning("s") == PruneConfig("s", stop="tested")
    assert LotteryConfig(force=True).pruning("m") == PruneConfig("m", force=True)


class _Simulated:
    """As much of a task as a bar needs: a constant answer is right where `constant` says."""

    def __init__(self, constant):
        self._constant = constant

    value = staticmethod(lambda means: means[..., 0])

    def blind_moments(self, examples):
        return self._constant[:, None].astype(float)


def simulated(generator, truths, n, stop, draws=1) -> np.ndarray:
    """Which mask is kept, in the sample and in each resample, of masks with these true shares of right answers, where
    the full model's is .9 and that of a constant answer .5."""
    full, level = generator.random(n) < 0.9, generator.random(n)
    config = PruneConfig("m", stop=stop)
    bar = Bar(_Simulated(generator.random(n) < 0.5), None, full[:, None].astype(float), config)
    stops = Stops(config, 1 + draws)
    for row, truth in enumerate(truths, start=1):
        mask = full & (level < truth / 0.9)
        if not stops.take(row, 1 - row / 10, bar.standing(mask[:, None].astype(float)).passes):
            break
    return stops.kept


@pytest.mark.parametrize("n", [60, 100, 500])
def test_the_tested_stop_keeps_a_mask_under_the_bar_as_rarely_as_it_says(monkeypatch, n):
    """The bar is .5 + .9 x .4 = .86. The third mask lies on it, those after it under it: keeping any of them is the
    error. The paper's rule makes it about every other time."""
    monkeypatch.setattr(stopping, "metric_draws", partial(metric_draws, repeats=1))
    generator, times, truths = np.random.default_rng(0), 600, [0.9, 0.89, 0.86, 0.855, 0.85]
    wrong = {
        stop: np.mean([simulated(generator, truths, n, stop)[0] >= 3 for _ in range(times)])
        for stop in ("paper", "tested")
    }
    assert wrong["tested"] < 0.05 + 2.6 * (0.05 * 0.95 / times) ** 0.5
    assert wrong["paper"] > 0.35


@pytest.mark.slow
def test_the_interval_of_what_is_left_holds_where_endless_rows_would_stop(monkeypatch):
    """The scores fall by .008 a step: endless rows would stop after the fifth."""
    monkeypatch.setattr(stopping, "metric_draws", partial(metric_draws, repeats=400))
    generator, times = np.random.default_rng(1), 150
    truths = 0.9 - 0.008 * np.arange(1, 16)
    ends = np.array([np.quantile(simulated(generator, truths, 200, "paper", 400)[1:], [0.025, 0.975])
                     for _ in range(times)])  # fmt: skip
    held = np.mean((ends[:, 0] <= 5) & (ends[:, 1] >= 5))
    assert held > 0.95 - 2.6 * (0.95 * 0.05 / times) ** 0.5
