"""Several labels a text: metrics against scikit-learn, the threshold and the constant answer by trying all."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.data.baselines import baselines
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.task import Task

LABELS = ("anger", "joy", "love", "never")
METRICS = ("micro_f1", "macro_f1", "exact_match")


def some(n: int, seed: int) -> Examples:
    """Each label has a word that mostly gives it away; the last is never right, and some texts have none."""
    generator = np.random.default_rng(seed)
    gold = (generator.random((n, 4)) < [0.5, 0.3, 0.1, 0]).astype(np.int64)
    said = np.where(generator.random((n, 4)) < 0.8, gold, 1 - gold)
    text = tuple(" ".join(["so", *(label for label, has in zip(LABELS, row, strict=True) if has)]) for row in said)
    return Examples(tuple(f"{seed}.{row}" for row in range(n)), text, label=gold)


def task(metric: str = "micro_f1", labels: tuple[str, ...] = LABELS) -> Task:
    return Task("made", "several", labels, some(80, 1), some(30, 2), some(60, 3), metric)


def logits(n: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4)) * 2


def by_sklearn(metric: str, gold: np.ndarray, predicted: np.ndarray) -> float:
    if metric == "exact_match":
        return accuracy_score(gold, predicted)
    return f1_score(gold, predicted, average=metric.removesuffix("_f1"), zero_division=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_scikit_learns(metric, seed):
    made, outputs = task(metric), logits(60, seed)
    score = made.score(outputs)
    predicted = (outputs > 0).astype(int)
    assert score.value == pytest.approx(by_sklearn(metric, made.test.label, predicted))
    others = {name: by_sklearn(name, made.test.label, predicted) for name in METRICS if name != metric}
    assert score.secondary == pytest.approx(others)


@pytest.mark.parametrize("metric", METRICS)
def test_the_constant_answer_is_the_best_of_all_sets_on_the_training_set(metric):
    made = task(metric)
    gold, right = made.train.label, made.test.label
    sets = [np.array(one) for one in product((0, 1), repeat=4)]
    best = max(sets, key=lambda one: by_sklearn(metric, gold, np.tile(one, (len(gold), 1))))
    found = made.outputs_to_predictions(made.blind_outputs(made.train))
    tried, reached = (by_sklearn(metric, gold, rows) for rows in (np.tile(best, (len(gold), 1)), found))
    assert reached == pytest.approx(tried)
    assert made.chance() == pytest.approx(by_sklearn(metric, right, np.tile(found[0], (len(right), 1))))


def test_the_threshold_is_the_best_of_all():
    made, outputs = task(), np.round(logits(30, 8), 1)  # with ties
    gold = made.validation.label
    output = made.output
    assert isinstance(output, SeveralLabels)
    best = output.best_threshold(outputs, gold)
    tried = [by_sklearn("micro_f1", gold, outputs > cut) for cut in [-9.0, *np.unique(outputs)]]
    assert by_sklearn("micro_f1", gold, outputs > best) == pytest.approx(max(tried))
    assert np.abs(outputs - best).min() > 0.01  # none stands on it
    assert output.best_threshold(outputs, np.zeros_like(gold)) == 0


def test_a_threshold_between_neighbouring_numbers_parts_them():
    """Their middle would be rounded to one of them in the model's own precision, and both would be below it."""
    gold = np.array([[0, 1], [0, 1]])
    for low in np.random.default_rng(3).normal(size=50).astype(np.float32):
        logits = np.array([[low, np.nextafter(low, np.float32(9))]] * 2)
        output = SeveralLabels.of("made", ("no", "yes"), "micro_f1")
        decided = replace(output, threshold=output.best_threshold(logits, gold))
        assert np.array_equal(decided.predictions(decided.in_order(logits, decided.labels)[0]), gold)


def test_what_a_model_says_of_validation_decides_and_what_is_kept_says_it():
    made, low = task(), logits(30, 2) - 3
    said = Predictions(made.validation.ids, low, LABELS, 0)
    decided = made.decided_by(said)
    assert not made.is_decided and decided.is_decided and decided.threshold < -1
    assert "probability is above 0." in decided.notes[-1] and decided.fingerprint == made.fingerprint
    kept = decided.outputs(said)
    assert kept.shape == (30, 5) and (kept[:, 4] == decided.threshold).all()
    # Whoever reads what was kept needs no threshold, nor the model.
    np.testing.assert_array_equal(made.moments(kept, made.validation), decided.moments(said, made.validation))
    assert made.score(low, made.validation).value < decided.score(said, made.validation).value
    fixed = replace(made, threshold=0.0)
    assert fixed.decided_by(said) is fixed


def test_losses_and_divergence_are_those_of_plain_loops():
    made, one, other = task(), logits(60, 1), logits(60, 2)
    gold, shares = made.test.label, [1 / (1 + np.exp(-each)) for each in (one, other)]
    wanted = [
        np.mean([log_loss([y], [p], labels=[0, 1]) for y, p in zip(*row, strict=True)])
        for row in zip(gold, shares[0], strict=True)
    ]
    np.testing.assert_allclose(made.losses(one), wanted)
    apart = [
        np.mean([p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)) for p, q in zip(*row, strict=True)])
        for row in zip(*shares, strict=True)
    ]
    np.testing.assert_allclose(made.divergence(one, other), apart)
    assert made.divergence(one, one).max() == 0
    np.testing.assert_array_equal(made.flips(one, other), ((one > 0) != (other > 0)).any(1))


def test_labels_are_matched_by_name():
    made, outputs = task(), logits(60)
    order = [2, 0, 3, 1]
    said = Predictions(made.test.ids, outputs[:, order], tuple(LABELS[at].upper() for at in order), 0)
    np.testing.assert_array_equal(made.outputs(said)[:, :4], outputs)
    assert made.score(said).value == made.score(outputs).value
    numbered = Predictions(made.test.ids, outputs, ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"), 0)
    assert "labels matched by their order" in made.score(numbered).notes[0]
    with pytest.raises(UserError, match="the model answers a, b, c, d, but made is labelled anger"):
        made.score(Predictions(made.test.ids, outputs, ("a", "b", "c", "d"), 0))
    with pytest.raises(UserError, match="the model gives 2 outputs, but made has 4 labels"):
        made.score(outputs[:, :2])


def test_a_bag_of_words_beats_the_constant_answer_and_is_cut_where_validation_says():
    made = task()
    found = baselines(made)
    words, chance = (made.score(found[name]).value for name in ("bag_of_words", "chance"))
    assert words > chance + 0.1 and found["bag_of_words"].shape == (60, 5)
    assert np.unique(found["bag_of_words"][:, 4]).size == 1 and found["bag_of_words"][0, 4] != 0
    fixed = baselines(replace(made, threshold=1.5))["bag_of_words"]
    assert (fixed[:, 4] == 1.5).all() and (fixed[:, 3] < -20).all()  # a label that no text has


def test_a_split_is_described():
    about = task().describe()["splits"]["test"]["labels"]
    gold = some(60, 3).label
    assert about == dict(zip(LABELS, gold.sum(0), strict=True)) | {"(none)": int((gold.sum(1) == 0).sum())}
