"""Whether a model is as often right as it says: calibration of its decisions, and the temperature that mends it.

**Bins** are of equal mass by rank: their edges are quantiles of the confidences, as in scikit-learn's
`calibration_curve(strategy="quantile")`, and equal confidences lie in one bin whatever their order. Bins that ties
leave empty aren't there.

**The expected calibration error** is the mean distance of confidence and accuracy over the bins, each counted by its
decisions. It is above 0 even where calibration is perfect, so it stands beside what it is then: with answers drawn
anew, each right with the probability that is its confidence (consistency resampling, Bröcker & Smith 2007). Decisions
are drawn independently of each other. Where an example holds several (words of a sentence) and they go wrong
together, the real error of a calibrated model scatters more than that, and p is too small.

**Intervals** of means (confidence minus accuracy, Brier score, cross-entropy) are bootstrapped over examples: what is
decided in one example stays together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import interval, percentile_ends
from bertscope.core.resampling import chunks, metric_draws

BINS = 15
COOLEST, HOTTEST = 0.01, 100.0
"""Between these a temperature is looked for."""
_HALVINGS = 60  # of an interval of ten thousandfold: down to the last digit of a double
_ROUNDING = 1e-12  # what is as large may come out so much smaller


@dataclass(frozen=True, eq=False)
class Bins:
    """Decisions of about equal confidence together, from the least sure."""

    n: np.ndarray
    """[bin]: how many decisions it holds."""
    confidence: np.ndarray
    """[bin]: the mean of what they say."""
    accuracy: np.ndarray
    """[bin]: the share that is right."""
    low: np.ndarray
    high: np.ndarray
    """[bin]: between what that lies 95 times of 100 where calibration is perfect."""


@dataclass(frozen=True, eq=False)
class Calibration:
    bins: Bins
    error: float
    """The expected calibration error."""
    expected: float
    """What it is on average where calibration is perfect."""
    low: float
    high: float
    """Between what it then lies 95 times of 100."""
    p: float
    """How often it is then as large as here, or larger."""
    over: Estimate
    """Mean confidence minus accuracy: above 0 the model is too sure of itself."""
    brier: Estimate
    """The squared distance of probabilities and what is right, summed over classes."""
    loss: Estimate
    """Minus the log of the right answer's probability, in nats, over decisions of which it is above 0."""
    decisions: int
    unsaid: int
    """How many decisions have no probability for what is right: labels that the model lacks."""

    @property
    def excess(self) -> float:
        """How much larger the error is than where calibration is perfect."""
        return self.error - self.expected


def calibration(decisions: Decisions, *, bins: int = BINS, repeats: int = 2000, seed: int = 0) -> Calibration:
    """How far the confidence of decisions is from how often they are right."""
    refuse_none(decisions)
    confidence, right = decisions.confidence, decisions.right.astype(np.float64)
    place = bin_of(confidence, bins)
    order, n = np.argsort(place, kind="stable"), np.bincount(place)
    starts = np.concatenate([[0], np.cumsum(n)[:-1]])
    sure = np.bincount(place, confidence)
    hits = np.bincount(place, right)
    drawn = np.concatenate(
        [np.add.reduceat(one, starts, axis=1) for one in _drawn_right(confidence[order], repeats, seed)]
    )  # [repeats, bin]
    error, errors = (float(np.abs(sure - hits).sum() / len(right)), np.abs(sure - drawn).sum(1) / len(right))
    low, high = percentile_ends(drawn / n)
    least, most = (float(end) for end in percentile_ends(errors))
    said = decisions.of_gold
    told = said > 0
    losses = -np.log(np.where(told, said, 1.0))
    over, score, loss = _means(decisions, [confidence - right, brier(decisions), losses], told, repeats, seed)
    return Calibration(
        bins=Bins(n, sure / n, hits / n, low, high),
        error=error,
        expected=float(errors.mean()),
        low=float(least),
        high=float(most),
        p=float((1 + (errors >= error - _ROUNDING).sum()) / (1 + repeats)),
        over=over,
        brier=score,
        loss=loss,
        decisions=len(right),
        unsaid=int((~told).sum()),
    )


def bin_of(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Which bin each confidence lies in, counted from 0 without those that are empty."""
    edges = np.percentile(confidence, np.linspace(0, 1, bins + 1) * 100)[1:-1]
    return np.unique(np.searchsorted(edges, confidence), return_inverse=True)[1]


def brier(decisions: Decisions) -> np.ndarray:
    """[m]: each decision's squared distance of probabilities and what is right, summed over classes: from 0 to 2."""
    return (decisions.shares**2).sum(1) - 2 * decisions.of_gold + 1


def fitted_temperature(decisions: Decisions) -> float:
    """What logits are to be divided by for these decisions' cross-entropy to be lowest: above 1 where a model is too
    sure of itself. It is convex in 1 / T: where its slope is 0 is found by halving. `COOLEST` or `HOTTEST` where it
    still falls there: of answers that are all right, or no better than any other."""
    refuse_none(decisions)
    told = decisions.of_gold > 0
    logs = _logs(decisions.shares[told])
    gold = np.take_along_axis(logs, decisions.gold[told][:, None], 1)[:, 0]
    finite = np.where(np.isfinite(logs), logs, 0.0)

    def rises(log_temperature: float) -> bool:
        """Whether the cross-entropy rises with 1 / T there: what is expected is above what is right."""
        shares = _shares(logs, np.exp(log_temperature))
        return bool(((shares * finite).sum(1) - gold).sum() > 0)

    low, high = np.log(COOLEST), np.log(HOTTEST)
    if not told.any():
        return 1.0
    if not rises(low):
        return COOLEST
    if rises(high):
        return HOTTEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) else (low, middle)
    return float(np.exp((low + high) / 2))


def at_temperature(decisions: Decisions, temperature: float) -> Decisions:
    """The same decisions with the probabilities of logits that are divided by the temperature."""
    return replace(decisions, shares=_shares(_logs(decisions.shares), temperature))


def refuse_none(decisions: Decisions) -> None:
    if not len(decisions):
        raise UserError("there is nothing that is decided in these examples; give some with labels")
    if not np.isfinite(decisions.shares).all():
        raise UserError("some probabilities are not numbers (NaN); look at the model's outputs")


def _logs(shares: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _shares(logs: np.ndarray, temperature: float) -> np.ndarray:
    """The probabilities of logs of probabilities that are divided by the temperature; what has none gets none."""
    scaled = logs / temperature
    scaled = np.exp(scaled - scaled.max(1, keepdims=True))
    return scaled / scaled.sum(1, keepdims=True)


def _drawn_right(confidence: np.ndarray, repeats: int, seed: int) -> Iterator[np.ndarray]:
    """Whether each decision is right [some, m], where it is with the probability that it says."""
    generator = np.random.default_rng(seed)
    for size in chunks(2 * len(confidence), repeats):  # drawn numbers, and what comes of them
        yield (generator.random((size, len(confidence))) < confidence).astype(np.float64)


def _means(
    decisions: Decisions, values: Sequence[np.ndarray], told: np.ndarray, repeats: int, seed: int
) -> list[Estimate]:
    """The means of decisions' values, the last over those that are `told`, with their intervals over examples."""
    owner = np.unique(decisions.example, return_inverse=True)[1]
    *others, last = values
    pairs = [*((one, np.ones(len(one))) for one in others), (last * told, told.astype(np.float64))]
    sums = np.array([[np.bincount(owner, one) for one in pair] for pair in pairs]).transpose(0, 2, 1)  # [value, n, 2]
    draws = metric_draws(_ratio, sums, repeats=repeats, seed=seed)
    return [Estimate.of(*ends) for ends in zip(draws[0], *interval(draws), strict=True)]


def _ratio(means: np.ndarray) -> np.ndarray:
    return np.divide(means[..., 0], means[..., 1], out=np.full(means.shape[:-1], np.nan), where=means[..., 1] > 0)
