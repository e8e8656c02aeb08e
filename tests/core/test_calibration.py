"""Calibration against scikit-learn, closed forms, and models whose calibration is known; and against nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from bertscope.core.calibration import (
    COOLEST,
    HOTTEST,
    at_temperature,
    calibration,
    fitted_temperature,
)
from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.risk_coverage import risk_coverage


def drawn(n: int, classes: int = 3, temperature: float = 1.0, seed: int = 0) -> Decisions:
    """Decisions of a model whose logits are `temperature` times those that would be calibrated."""
    generator = np.random.default_rng(seed)
    true = _softmax(2 * generator.normal(size=(n, classes)))
    gold = (generator.random((n, 1)) > true.cumsum(1)).sum(1)
    shares = _softmax(temperature * np.log(true))
    return Decisions(np.arange(n), shares, shares.argmax(1), gold, tuple("abcdefgh"[:classes]))


def of_two(confidence: np.ndarray, right: np.ndarray, example: np.ndarray | None = None) -> Decisions:
    """Decisions for the second of two labels, of which some are right."""
    shares = np.stack([1 - confidence, confidence], 1)
    where = np.arange(len(right)) if example is None else example
    return Decisions(where, shares, np.ones(len(right), int), right.astype(int), ("no", "yes"))


def _softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


@pytest.mark.parametrize("n", [15, 16, 100, 997])
def test_bins_are_scikit_learns(n: int) -> None:
    decisions = drawn(n)
    found = calibration(decisions, repeats=100)
    right, said = calibration_curve(decisions.right, decisions.confidence, n_bins=15, strategy="quantile")
    np.testing.assert_allclose(found.bins.accuracy, right)
    np.testing.assert_allclose(found.bins.confidence, said)
    assert found.bins.n.sum() == n and found.bins.n.max() - found.bins.n.min() <= 2
    assert found.error == pytest.approx((found.bins.n * np.abs(right - said)).sum() / n)


def test_equal_confidences_dont_depend_on_their_order() -> None:
    generator = np.random.default_rng(0)
    confidence = generator.choice([0.5, 0.6, 0.9, 0.99], 400, p=[0.1, 0.1, 0.2, 0.6])
    right = generator.random(400) < confidence
    order = generator.permutation(400)
    one, other = (calibration(of_two(confidence[at], right[at]), repeats=200) for at in (np.arange(400), order))
    np.testing.assert_allclose(one.bins.n, other.bins.n)
    np.testing.assert_allclose(one.bins.accuracy, other.bins.accuracy)
    assert one.error == pytest.approx(other.error)
    both = [risk_coverage(of_two(confidence[at], right[at]), repeats=10) for at in (np.arange(400), order)]
    np.testing.assert_allclose(both[0].accuracy, both[1].accuracy)
    assert both[0].area.value == pytest.approx(both[1].area.value)
    alike = calibration(of_two(np.full(50, 0.7), np.arange(50) < 40), repeats=200)
    assert alike.bins.n.tolist() == [50] and alike.error == pytest.approx(0.1)


def test_scores_are_scikit_learns() -> None:
    two = drawn(300, 2)
    assert calibration(two, repeats=100).brier.value == pytest.approx(
        2 * brier_score_loss(two.gold, two.shares[:, 1])
    )
    three = drawn(300, 3)
    found = calibration(three, repeats=100)
    by_hand = ((three.shares - np.eye(3)[three.gold]) ** 2).sum(1).mean()
    assert found.brier.value == pytest.approx(by_hand)
    assert found.loss.value == pytest.approx(log_loss(three.gold, three.shares))
    assert found.over.value == pytest.approx(three.confidence.mean() - three.right.mean())


@pytest.mark.parametrize("planted", [0.4, 1.0, 2.5])
def test_temperature_recovers_what_was_planted(planted: float) -> None:
    decisions = drawn(20_000, temperature=planted)
    found = fitted_temperature(decisions)
    assert found == pytest.approx(planted, rel=0.05)
    near = [at_temperature(decisions, t) for t in (found, found * 1.02, found / 1.02)]
    loss = [-np.log(one.of_gold).mean() for one in near]
    assert loss[0] < min(loss[1:])  # the lowest there is
    mended = at_temperature(decisions, found)
    assert (mended.predicted == decisions.predicted).all()
    np.testing.assert_allclose(mended.shares, _softmax(np.log(decisions.shares) / found))


def test_temperature_without_an_end() -> None:
    shares = np.array([[0.9, 0.1], [0.6, 0.4]])
    each = np.arange(2)
    assert fitted_temperature(Decisions(each, shares, shares.argmax(1), each * 0, ("a", "b"))) == COOLEST
    assert fitted_temperature(Decisions(each, shares, shares.argmax(1), each * 0 + 1, ("a", "b"))) == HOTTEST


def test_labels_that_a_model_lacks() -> None:
    """They have no probability at any temperature, and the cross-entropy is of the others."""
    shares = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0], [0.5, 0.5, 0.0]])
    decisions = Decisions(np.arange(4), shares, shares.argmax(1), np.array([0, 1, 1, 2]), ("a", "b", "c"))
    found = calibration(decisions, repeats=100)
    assert found.unsaid == 1 and found.loss.value == pytest.approx(-np.log([0.7, 0.8, 0.4]).mean())
    assert np.isfinite(fitted_temperature(decisions))
    assert (at_temperature(decisions, 2.0).shares[:, 2] == 0).all()


def test_p_of_perfect_calibration_is_uniform() -> None:
    found = [calibration(drawn(200, seed=seed), repeats=199) for seed in range(200)]
    p = np.array([one.p for one in found])
    assert (p <= 0.05).sum() <= 18 and 0.42 < p.mean() < 0.58  # the panel's bound; a mean of 200 uniform ones
    assert (p > 0.9).sum() >= 8
    excess = np.array([one.excess for one in found])
    assert abs(excess.mean()) < 3 * excess.std() / 200**0.5  # the error itself is far above 0
    assert np.mean([one.error for one in found]) > 0.03
    held = np.mean([one.over.low <= 0 <= one.over.high for one in found])
    assert 0.90 <= held <= 0.99


def test_miscalibration_is_found() -> None:
    found = calibration(drawn(1000, temperature=2.0), repeats=999)
    assert found.p < 0.01 and found.excess > 0.03 and found.over.low > 0
    assert found.error > found.high
    doubting = calibration(drawn(1000, temperature=0.4), repeats=999)
    assert doubting.p < 0.01 and doubting.over.high < 0
    outside = (found.bins.accuracy < found.bins.low) | (found.bins.accuracy > found.bins.high)
    assert outside.any()


def test_intervals_cover_where_words_of_a_sentence_go_together() -> None:
    """All words of a sentence are right, or none: over examples the interval holds, over words it would not."""
    generator, held, alone = np.random.default_rng(1), 0, 0
    for seed in range(120):
        right = np.repeat(generator.random(80) < 0.7, 10)
        confidence = np.full(800, 0.7) + generator.normal(0, 0.01, 800)
        together = calibration(of_two(confidence, right, np.repeat(np.arange(80), 10)), repeats=200, seed=seed).over
        apart = calibration(of_two(confidence, right), repeats=200, seed=seed).over
        held, alone = held + (together.low <= 0 <= together.high), alone + (apart.low <= 0 <= apart.high)
    assert 0.90 <= held / 120 <= 0.99 and alone / 120 < 0.7


def test_risk_and_coverage_by_hand() -> None:
    decisions = of_two(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, True]))
    found = risk_coverage(decisions, repeats=50)
    assert found.area.value == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert found.at(0.5).value == pytest.approx(0.5) and found.at(1.0).value == pytest.approx(0.75)
    assert found.at(0.25).value == 1.0
    tied = risk_coverage(of_two(np.full(4, 0.9), np.array([True, False, True, True])), repeats=50)
    assert tied.area.value == pytest.approx(0.25) and tied.at(0.8).value == pytest.approx(0.75)


def test_risk_and_coverage_against_a_loop() -> None:
    decisions = drawn(237)
    found = risk_coverage(decisions, repeats=300)
    wrong = ~decisions.right[np.argsort(-decisions.confidence)]
    assert found.area.value == pytest.approx(np.mean(np.cumsum(wrong) / np.arange(1, 238)))
    shuffled = np.random.default_rng(0).integers(0, 237, 237)  # a resample, by the plain way
    again = Decisions(
        np.arange(237), *(getattr(decisions, of)[shuffled] for of in ("shares", "predicted", "gold")), ()
    )
    one = risk_coverage(again, repeats=10).area.value
    assert found.area.low < found.area.value < found.area.high and 0.5 < one / found.area.value < 2
    assert found.at(0.8).value > decisions.right.mean()


def test_intervals_of_risk_and_coverage_cover() -> None:
    true = risk_coverage(drawn(40_000, seed=99), repeats=10)
    found = [risk_coverage(drawn(200, seed=seed), repeats=200) for seed in range(150)]
    area = np.mean([one.area.low <= true.area.value <= one.area.high for one in found])
    kept = np.mean([one.at(0.8).low <= true.at(0.8).value <= one.at(0.8).high for one in found])
    assert area >= 0.89 and kept >= 0.89


def test_of_answers_that_are_all_right_no_interval_is_a_point() -> None:
    found = risk_coverage(of_two(np.linspace(0.6, 0.9, 100), np.ones(100, bool)), repeats=50)
    kept, all_of_them = (binomtest(n, n).proportion_ci(method="wilson") for n in (80, 100))
    assert found.at(0.8).low == pytest.approx(kept.low) and found.at(0.8).high == 1.0
    assert found.area.low == 0.0 and found.area.high == pytest.approx(1 - all_of_them.low)


def test_of_few_mistakes_the_interval_of_the_surest_covers() -> None:
    """About one of 80 is wrong, in every third sample none: resamples of those know of no mistake."""

    def sure(n: int, seed: int) -> Decisions:
        generator = np.random.default_rng(seed)
        confidence = generator.uniform(0.9, 1, n)
        return of_two(confidence, generator.random(n) < 0.97 + 0.3 * (confidence - 0.9))

    true = 1 - 0.3 * (0.08 / 2)  # of those above .92, on average .04 under 1
    found = [risk_coverage(sure(100, seed), repeats=200).at(0.8) for seed in range(150)]
    assert np.mean([one.low <= true <= one.high for one in found]) >= 0.93
    assert all(one.low < one.high for one in found)


def test_what_cant_be_judged() -> None:
    nothing = Decisions(*(np.zeros(0, int),), np.zeros((0, 2)), np.zeros(0, int), np.zeros(0, int), ("a", "b"))
    with pytest.raises(UserError, match="nothing that is decided"):
        calibration(nothing)
    broken = of_two(np.array([0.5, np.nan]), np.array([True, False]))
    with pytest.raises(UserError, match="not numbers"):
        calibration(broken)
    one = calibration(of_two(np.array([0.9]), np.array([True])), repeats=100)
    assert one.bins.n.tolist() == [1] and one.error == pytest.approx(0.1)
    assert risk_coverage(of_two(np.array([0.9]), np.array([True])), repeats=10).area.value == 0.0
