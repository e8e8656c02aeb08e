"""How often each kind of interval holds the truth, where the truth is known: made-up samples, all of a case at once.

A case is a function from a random generator and a number of samples to the ends of as many intervals and the truth.
The intervals are made by the functions that the questions call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, spearmanr

from bertscope.core.agreement import fleiss_kappa, kappa_interval
from bertscope.core.estimate import Estimate, extreme
from bertscope.core.intervals import (
    interval,
    jackknife_interval,
    jackknife_interval_of_difference,
    median_interval,
    normal_interval,
    part_of_whole,
    reach,
    wider_for_all,
)
from bertscope.core.rank_resampling import rank_draws
from bertscope.core.resampling import Resampling, group_bounds, left_out, metric_draws, resampled_means
from bertscope.core.variance_components import example_values, group_values, interval_over_runs
from bertscope.data.metrics import metric
from labelled_shares import labelled_shares

Random = np.random.Generator
Ends = tuple[np.ndarray, np.ndarray]
Simulated = tuple[Ends, float]
_FEW_RESAMPLES = 1000  # enough for the ends of 95%, and half the time


@dataclass(frozen=True)
class Case:
    kind: str
    of: str
    simulate: Callable[[Random, int], Simulated]
    samples: int = 2000

    def coverage(self) -> float:
        """Of the intervals that there are; the samples of a case are always the same."""
        draw = np.random.default_rng([ord(letter) for letter in self.kind + self.of])
        (low, high), truth = self.simulate(draw, self.samples)
        given = ~np.isnan(low)
        return float(((low <= truth) & (truth <= high))[given].mean())


# Over examples


def _answers(draw: Random, name: str, shape: tuple[int, ...]) -> tuple[np.ndarray, float]:
    """Moments [..., n, k] of a metric, and what it truly is."""
    if name.startswith("pearson"):
        truth = float(name.split()[1])
        gold, noise = draw.normal(size=(2, *shape))
        said = truth * gold + (1 - truth**2) ** 0.5 * noise
        return np.stack([said, gold, said**2, gold**2, said * gold], -1), truth
    if name.startswith("accuracy"):
        truth = float(name.split()[1])
        return (draw.random(shape) < truth)[..., None].astype(float), truth
    gold = draw.random(shape) < 0.3
    says = np.where(gold, draw.random(shape) < 0.7, draw.random(shape) < 0.1)
    yes, both = 0.3 * 0.7 + 0.7 * 0.1, 0.3 * 0.7
    truth = (both - 0.3 * yes) / (0.3 * 0.7 * yes * (1 - yes)) ** 0.5
    two = np.stack([~gold, gold], -1), np.stack([~says, says], -1)
    return np.concatenate([two[0] & two[1], two[1], two[0]], -1).astype(float), truth


def _value(name: str) -> Callable[[np.ndarray], np.ndarray]:
    return metric(name.split()[0], 2).value


def bootstrap(name: str, n: int, draw: Random, samples: int) -> Simulated:
    moments, truth = _answers(draw, name, (samples, n))
    return interval(metric_draws(_value(name), moments, repeats=_FEW_RESAMPLES)), truth


def student(name: str, n: int, draw: Random, samples: int) -> Simulated:
    moments, truth = _answers(draw, name, (samples, 1, n))
    return interval_over_runs(example_values(_value(name), moments)), truth


def paired(n: int, draw: Random, samples: int) -> Simulated:
    """Two models that are right equally often, mostly of the same examples."""
    hard = draw.normal(size=(samples, n, 1))
    one, other = (hard + 0.7 * draw.normal(size=hard.shape) < 1 for _ in range(2))
    draws = metric_draws(_value("accuracy"), np.concatenate([one, other]).astype(float), repeats=_FEW_RESAMPLES)
    return interval(draws[:, :samples] - draws[:, samples:]), 0.0


def share(truth: float, away: float, n: int, draw: Random, samples: int) -> Simulated:
    """What a graft gives of a gain, by the loss, whose distribution is skew. The gain is so many standard errors away
    from 0, or of the size of its own spread (0); where the sample doesn't tell it from 0 there is no share."""
    gain = draw.exponential(size=(samples, n)) - 1 + (away / n**0.5 if away else 1)
    given = truth * gain + 0.5 * (draw.exponential(size=(samples, n)) - 1)
    draws = metric_draws(
        lambda means: means[..., 0], np.concatenate([gain, given])[..., None], repeats=_FEW_RESAMPLES
    )
    _, low, high = part_of_whole(draws[:, samples:], draws[:, :samples])
    return (low, high), truth


def score_share(truth: float, n: int, draw: Random, samples: int) -> Simulated:
    """The same by accuracy: from 0.5 to 0.85, on the same examples, some of which are hard."""
    hard = draw.normal(size=(samples, n))
    levels = norm.ppf([0.5, 0.85, 0.5 + 0.35 * truth]) * 2**0.5
    right = np.concatenate([hard + draw.normal(size=hard.shape) < level for level in levels])
    draws = metric_draws(_value("accuracy"), right[..., None].astype(float), repeats=_FEW_RESAMPLES)
    base, tuned, graft = draws[:, :samples], draws[:, samples : 2 * samples], draws[:, 2 * samples :]
    _, low, high = part_of_whole(graft - base, tuned - base)
    return (low, high), truth


def one_pass(n: int, draw: Random, samples: int) -> Simulated:
    values = draw.exponential(size=(n, samples))
    return interval(resampled_means(Resampling([str(one) for one in range(n)]), values)), 1.0


def spearman(n: int, draw: Random, samples: int) -> Simulated:
    big, noise = draw.normal(size=(2, 200_000))
    truth = spearmanr(big, 0.6 * big + 0.8 * noise).statistic
    ends = []
    for _ in range(samples):
        gold, noise = draw.normal(size=(2, n))
        ends.append(interval(rank_draws((0.6 * gold + 0.8 * noise)[None], gold, repeats=400)))
    low, high = np.array(ends)[..., 0].T
    return (low, high), truth


def known_error(n: int, draw: Random, samples: int) -> Simulated:
    values = draw.exponential(size=(samples, n))
    return normal_interval(values.mean(1), values.std(1, ddof=1) / n**0.5), 1.0


def median(n: int, draw: Random, samples: int) -> Simulated:
    found = np.array([median_interval(row) for row in draw.exponential(size=(samples, n))])
    return (found[:, 1], found[:, 2]), float(np.log(2))


# Over groups of texts


def _texts(draw: Random, texts: int, groups: int) -> np.ndarray:
    """The mean over words without each group, [1 + groups]: texts are short and long, and their words alike."""
    words = np.exp(draw.normal(2.5, 1.2, size=texts)).astype(int) + 1
    owner = np.repeat(np.arange(texts), words)
    values = draw.normal(size=texts)[owner] + draw.normal(size=len(owner))
    edges = group_bounds(owner, groups)
    return left_out(np.add.reduceat(values, edges[:-1])) / left_out(np.diff(edges).astype(float))


def jackknife(texts: int, draw: Random, samples: int) -> Simulated:
    low, high = np.array([jackknife_interval(_texts(draw, texts, 20)) for _ in range(samples)]).T
    return (low, high), 0.0


def two_jackknives(draw: Random, samples: int) -> Simulated:
    ends = [jackknife_interval_of_difference(_texts(draw, 100, 20), _texts(draw, 60, 12)) for _ in range(samples)]
    low, high = np.array(ends).T
    return (low, high), 0.0


# Over trainings


def trainings(runs: int, n: int, sds: tuple[float, float, float], draw: Random, samples: int) -> Simulated:
    """Differences of two arms, by the standard deviations of trainings, examples and what is left."""
    shapes = ((samples, runs, 1), (samples, 1, n), (samples, runs, n))
    return interval_over_runs(sum(draw.normal(0, sd, shape) for sd, shape in zip(sds, shapes, strict=True))), 0.0


def _accuracies(runs: int, n: int, fails: float, draw: Random, samples: int) -> np.ndarray:
    """Whether each training of an arm is right, [sample, run, n]; some of them fail, and guess. About as good as each
    other otherwise, they err mostly in the same examples."""
    hard = draw.normal(size=(samples, 1, n))

    def arm() -> np.ndarray:
        skill = norm.ppf(0.8 + 0.02 * draw.normal(size=(samples, runs, 1)).clip(-3, 3))
        right = 0.8 * hard + 0.6 * draw.normal(size=(samples, runs, n)) < skill
        guessed = draw.random((samples, runs, n)) < 0.5
        return np.where(draw.random((samples, runs, 1)) < fails, guessed, right).astype(float)

    return np.stack([arm(), arm()])


def failing(runs: int, fails: float, draw: Random, samples: int) -> Simulated:
    one, other = _accuracies(runs, 200, fails, draw, samples)
    return interval_over_runs(one - other), 0.0


def failing_score(runs: int, fails: float, draw: Random, samples: int) -> Simulated:
    return interval_over_runs(_accuracies(runs, 200, fails, draw, samples)[0]), 0.8 * (1 - fails) + 0.5 * fails


def correlations(runs: int, n: int, draw: Random, samples: int) -> Simulated:
    """Two arms' Pearson correlations, trainings of which have noise of their own."""
    gold, hard = draw.normal(size=(2, samples, 1, n))

    def arm() -> np.ndarray:
        own = np.exp(0.2 * draw.normal(size=(samples, runs, 1)))
        said = gold + 0.4 * hard + 0.4 * own * draw.normal(size=(samples, runs, n))
        whole = np.broadcast_to(gold, said.shape)
        return example_values(_value("pearson"), np.stack([said, whole, said**2, whole**2, said * whole], -1))

    return interval_over_runs(arm() - arm()), 0.0


def groups_of_texts(runs: int, draw: Random, samples: int) -> Simulated:
    values = draw.normal(0, 0.1, (samples, runs, 1)) + 0.2 * draw.normal(size=(samples, 1, 20))
    values = values + 0.2 * draw.normal(size=(samples, runs, 20))
    draws = np.concatenate([values.mean(-1, keepdims=True), (values.sum(-1, keepdims=True) - values) / 19], -1)
    return interval_over_runs(group_values(np.moveaxis(draws, 0, -1))), 0.0


def over_seeds(runs: int, draw: Random, samples: int) -> Simulated:
    values = draw.normal(size=(samples, runs))
    either = reach(runs) * values.std(1, ddof=1) / runs**0.5
    return (values.mean(1) - either, values.mean(1) + either), 0.0


def kappa(runs: int, spread: float, parts: int, draw: Random, samples: int) -> Simulated:
    """Parts survive with chances of their own."""
    chances = draw.beta(spread, spread, parts)
    truth = fleiss_kappa(draw.random((4000, parts)) < chances)
    ends = [kappa_interval(draw.random((runs, parts)) < chances) for _ in range(samples)]
    low, high = np.array(ends).T
    return (low, high), truth


# Of labels


def by_labels(kind: int, texts: int, labelled: int, apart: float, draw: Random, samples: int) -> Simulated:
    """The share of one class."""
    found = labelled_shares(draw, samples, texts=texts, labelled=labelled, apart=apart)
    return (found.low[:, kind], found.high[:, kind]), float(found.truth[kind])


# Of many at once


def the_best(parts: int, draw: Random, samples: int) -> Simulated:
    """The largest effect of parts of which none has any."""
    low, high = np.array(
        [
            (found.low, found.high)
            for row in draw.normal(size=(samples, parts))
            for found in [extreme([Estimate(one, one - 1.96, one + 1.96) for one in row], max)]
        ]
    ).T
    return (low, high), 0.0


def all_at_once(parts: int, draw: Random, samples: int) -> Simulated:
    """The interval of whichever is furthest off: if it holds the truth, all do."""
    values = draw.normal(size=(samples, parts))
    furthest = np.take_along_axis(values, np.abs(values).argmax(1)[:, None], 1)[:, 0]
    either = wider_for_all(parts) * 1.96
    return (furthest - either, furthest + either), 0.0


def difference_of_ends(draw: Random, samples: int) -> Simulated:
    one, other = draw.normal(size=(2, samples))
    found = [
        Estimate(a, a - 1.96, a + 1.96) - Estimate(b, b - 1.96, b + 1.96) for a, b in zip(one, other, strict=True)
    ]
    return (np.array([each.low for each in found]), np.array([each.high for each in found])), 0.0
