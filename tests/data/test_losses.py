"""Losses and divergences of outputs: each equals what is worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import entropy

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.data.task import Task


def _task(kind: str, labels: tuple[str, ...], gold: list[float], metric: str) -> Task:
    ids = tuple(map(str, range(len(gold))))
    rows = Examples(ids, ids, label=np.array(gold, dtype=np.int64 if labels else np.float64))
    return Task("toy", kind, labels, rows, rows, rows, metric)  # type: ignore[arg-type]


@pytest.fixture
def classes() -> Task:
    return _task("classification", ("no", "yes"), [0, 1, 1], "accuracy")


def _predicted(logits: np.ndarray, labels: tuple[str, ...] = ()) -> Predictions:
    return Predictions(("0", "1", "2"), np.asarray(logits, dtype=np.float32), labels, 0)


def test_cross_entropy_worked_out_by_hand_and_labels_matched_by_name(classes):
    thirds = np.log([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])  # right with 2/3, 2/3 and 1/3
    wanted = [np.log(1.5), np.log(1.5), np.log(3)]
    np.testing.assert_allclose(classes.losses(_predicted(thirds, ("no", "yes"))), wanted, rtol=1e-6)
    np.testing.assert_allclose(classes.losses(_predicted(thirds[:, ::-1], ("Yes", "no"))), wanted, rtol=1e-6)


def test_kl_and_flips_worked_out_by_hand_for_many_changes_at_once(classes):
    whole = np.zeros((3, 2))
    quarter = np.log([[3.0, 1.0]] * 3)  # 3/4 and 1/4 where the whole model says 1/2 and 1/2
    found = classes.divergence(whole, np.stack([whole, quarter, whole + 7]))
    wanted = 0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25)
    np.testing.assert_allclose(found, [[0] * 3, [wanted] * 3, [0] * 3], atol=1e-12)
    sure = np.array([[1.0, 0], [0, 1.0], [0, 1.0]])
    assert classes.flips(sure, np.stack([sure, quarter])).tolist() == [[0, 0, 0], [0, 1, 1]]


def test_many_classes_agree_with_scipy_and_extreme_outputs_stay_finite():
    generator = np.random.default_rng(0)
    whole, others = generator.normal(0, 3, (50, 5)), generator.normal(0, 3, (4, 50, 5))
    gold = generator.integers(5, size=50)
    task = _task("classification", tuple("abcde"), gold.tolist(), "accuracy")
    np.testing.assert_allclose(task.losses(others), -log_softmax(others, -1)[:, np.arange(50), gold])
    np.testing.assert_allclose(
        task.divergence(whole, others), entropy(softmax(whole, -1)[None], softmax(others, -1), axis=-1)
    )
    assert np.isfinite(task.losses(others * 1e4)).all() and np.isfinite(task.divergence(whole * 1e4, others)).all()
    with pytest.raises(UserError, match="NaN or infinite"):
        task.losses(others * np.nan)


def test_scores_have_squared_errors_in_their_own_unit_and_nothing_that_flips():
    task = _task("regression", (), [1.0, 2.0, 5.0], "pearson")
    whole, other = np.array([[1.0], [3.0], [2.0]]), np.array([[[0.0], [3.0], [4.0]]])
    assert task.losses(whole).tolist() == [0, 1, 9] and task.losses(other).tolist() == [[1, 1, 1]]
    assert task.divergence(whole, other).tolist() == [[1, 0, 4]]
    assert np.isnan(task.flips(whole, other)).all()
