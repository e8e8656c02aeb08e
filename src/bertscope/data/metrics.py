"""Metrics as functions of the means of per-example moments.

That form lets `core.resampling` resample a metric, for every arm at once, by one matrix product: a resample is a
row of weights, and the weighted means of the moments are all that the metric needs.

Where a metric is undefined it takes the value of chance: predictions that never vary (or gold that doesn't, in an
unlucky resample) give Matthews 0 and Pearson 0, and an F1 without any positive is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bertscope.core.errors import UserError

MetricName = Literal[
    "accuracy", "f1", "macro_f1", "matthews", "pearson",
    "micro_f1", "token_f1", "exact_match", "las", "uas", "las_no_punct", "uas_no_punct",
    "entity_f1", "strict_entity_f1", "entity_precision", "entity_recall", "word_accuracy",
]  # fmt: skip
METRICS: dict[str, tuple[MetricName, ...]] = {
    "classification": ("accuracy", "f1", "macro_f1", "matthews"),
    "choices": ("accuracy",),
    "one_logit": ("accuracy", "f1", "macro_f1", "matthews"),
    "regression": ("pearson",),
    "several": ("micro_f1", "macro_f1", "exact_match"),
    "spans": ("token_f1", "exact_match"),
    "trees": ("las", "uas", "las_no_punct", "uas_no_punct"),
    "tokens": ("entity_f1", "strict_entity_f1", "entity_precision", "entity_recall", "word_accuracy"),
    "masked": ("accuracy",),
    "vectors": ("pearson",),
}
"""The metrics of each kind of task; the first stands for it, unless the task names another, as one does whose tags
are no entities."""

_CORRELATIONS = ("matthews", "pearson")
"""The metrics that go below 0, down to -1; all others are shares."""


def between(name: str) -> tuple[float, float]:
    """Between what a metric lies.

    >>> between("accuracy"), between("pearson")
    ((0.0, 1.0), (-1.0, 1.0))
    """
    return (-1.0, 1.0) if name in _CORRELATIONS else (0.0, 1.0)


# A variance smaller than this share of the mean square is rounding: the predictions are constant.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Metric:
    """`moments` takes predictions [..., n] and gold [n] to [..., n, k]; `value` takes means [..., k] to [...]."""

    name: str
    moments: Callable[[np.ndarray, np.ndarray], np.ndarray]
    value: Callable[[np.ndarray], np.ndarray]

    def __call__(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The metric on these examples."""
        return self.value(self.moments(predicted, gold).mean(-2))


def metric(name: str, n_classes: int) -> Metric:
    """The metric of that name, for labels 0 .. n_classes - 1 (Pearson ignores `n_classes`)."""
    known = {
        "accuracy": Metric("accuracy", _hits, lambda means: means[..., 0]),
        "f1": Metric("f1", _margins(np.array([1])), _mean_f1),
        "macro_f1": Metric("macro_f1", _margins(np.arange(n_classes)), _mean_f1),
        "matthews": Metric("matthews", _margins(np.arange(n_classes)), _matthews),
        "pearson": Metric("pearson", _products, _pearson),
    }
    return known[name]


def spearman(predicted: np.ndarray, gold: np.ndarray) -> float:
    """Spearman's rank correlation, as a point value only: ranks depend on all examples, so they are not means of
    per-example moments and can't be resampled by weights. Constant predictions give 0."""
    from scipy.stats import rankdata

    refuse_not_finite(predicted)
    return float(metric("pearson", 0)(rankdata(predicted), rankdata(gold)))


def refuse_not_finite(outputs: np.ndarray) -> None:
    """Refuse predictions that are no numbers: argmax and means would hide them."""
    if outputs.size and not np.isfinite([outputs.min(), outputs.max()]).all():  # neither needs a second array
        bad = ~np.isfinite(outputs)
        raise UserError(
            f"{bad.sum()} of {bad.size} outputs are NaN or infinite: the model has diverged; "
            "train it again with a lower learning rate"
        )


def _hits(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    refuse_not_finite(predicted)
    return (predicted == gold)[..., None].astype(np.float64)


def _margins(classes: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The diagonal and the two margins of the confusion matrix, [..., n, 3 * classes]: F1 and Matthews need no
    other cell, and these grow with the number of classes, not with its square."""

    def moments(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        refuse_not_finite(predicted)
        says = predicted[..., None] == classes
        holds = np.broadcast_to(gold[..., None] == classes, says.shape)
        return np.concatenate([says & holds, says, holds], axis=-1).astype(np.float64)

    return moments


def _mean_f1(means: np.ndarray) -> np.ndarray:
    """F1, averaged over the classes that gold or predictions hold."""
    hit, says, holds = np.split(means, 3, axis=-1)
    present = says + holds > 0
    f1 = np.divide(2 * hit, says + holds, out=np.zeros_like(hit), where=present)
    return f1.sum(-1) / np.maximum(present.sum(-1), 1)


def _matthews(means: np.ndarray) -> np.ndarray:
    """Gorodkin's multi-class form of Matthews' correlation."""
    hit, says, holds = np.split(means, 3, axis=-1)
    covariance = hit.sum(-1) - (says * holds).sum(-1)
    return _correlation(covariance, 1 - (says**2).sum(-1), 1 - (holds**2).sum(-1))


def _products(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """p, y, pp, yy, py, each model's predictions and gold in units of their own mean and deviation. Pearson's r sees
    neither; squares of uncentred scores would lose digits; and a test that swaps the predictions of two models,
    example by example, would take a difference of their means or scales for noise."""
    refuse_not_finite(predicted)
    y = np.asarray(gold, dtype=np.float64)
    p = _standardised(np.asarray(predicted, dtype=np.float64), y.mean())
    y = np.broadcast_to(_standardised(y, y.mean()), p.shape)
    return np.stack([p, y, p * p, y * y, p * y], axis=-1)


def _standardised(values: np.ndarray, level: float) -> np.ndarray:
    """With mean 0 and deviation 1 over the last axis; all 0 where they vary by no more than rounding would make them,
    beside their distance from 0 or, since scores may all be large, from their usual level."""
    size = np.minimum(*((each**2).mean(-1, keepdims=True) for each in (values, values - level)))
    centred = values - values.mean(-1, keepdims=True)
    centred = centred - centred.mean(-1, keepdims=True)  # the first mean was rounded
    variance = (centred**2).mean(-1, keepdims=True)
    varies = variance > _ROUNDING * size
    return np.divide(centred, np.sqrt(variance), out=np.zeros_like(centred), where=varies)


def _pearson(means: np.ndarray) -> np.ndarray:
    p, y, pp, yy, py = np.moveaxis(means, -1, 0)
    return _correlation(py - p * y, _variance(p, pp), _variance(y, yy))


def _variance(mean: np.ndarray, mean_square: np.ndarray) -> np.ndarray:
    variance = mean_square - mean**2
    return np.where(variance > _ROUNDING * mean_square, variance, 0.0)


def _correlation(covariance: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Covariance over the two deviations; 0 where one of them doesn't vary."""
    varies = (one > _ROUNDING) & (other > _ROUNDING)
    return np.divide(covariance, np.sqrt(np.where(varies, one * other, 1.0)), out=np.zeros_like(one), where=varies)
