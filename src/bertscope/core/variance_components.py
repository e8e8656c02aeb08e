"""Intervals over training runs: every run is scored on the same examples, and both runs and examples vary.

A value that each run s has on each example i is d[s, i] = mean + run_s + example_i + rest_si. The mean of them all
has the variance V = s2_run / S + s2_example / n - s2_rest / (n S). s2_run is the variance of the runs' means,
s2_example that of the examples' means, s2_rest that of what is left: the rest is in both of the others, and counts
once. V is known about as well as its parts are (Satterthwaite's degrees of freedom), so the interval is Student's.

A bootstrap that draws runs and then examples is no substitute: of five runs it is too sure where they differ much,
and not sure enough where they are alike. docs/methods.md has the coverage of this one.

What is no mean over examples has pseudo-values, of examples (`example_values`) or of groups of texts that were left
out in turn (`group_values`).
"""

from __future__ import annotations

import numpy as np

from bertscope.core.intervals import few_runs, reach, share_by_chance
from bertscope.core.resampling import Value


def example_values(value: Value, moments: np.ndarray) -> np.ndarray:
    """What each example has to do with a metric, [..., n], of moments [..., n, k]: their mean is the metric.

    These are the jackknife's pseudo-values, moved so that their mean is exact; of a metric that is a mean itself
    (accuracy) they are what it is the mean of.
    """
    n = moments.shape[-2]
    whole = value(moments.mean(-2))[..., None]
    if n == 1:
        return whole
    return _pseudo_values(whole, value((moments.sum(-2, keepdims=True) - moments) / (n - 1)))


def group_values(draws: np.ndarray) -> np.ndarray:
    """The same for groups: from a statistic of each run and of it without each group, [run, 1 + groups, ...], to
    [..., run, groups]."""
    found = np.moveaxis(draws, (0, 1), (-2, -1))
    return _pseudo_values(found[..., :1], found[..., 1:])


def _pseudo_values(whole: np.ndarray, without: np.ndarray) -> np.ndarray:
    return whole + (without.shape[-1] - 1) * (without.mean(-1, keepdims=True) - without)


def interval_over_runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the interval of the mean of values [..., run, n], or of differences that are paired by run and
    example. Of one run it is over examples alone; of two to four there is none: NaN."""
    if few_runs(values.shape[-2]):
        return (np.full(values.shape[:-2], np.nan),) * 2
    error, freedom = error_of_mean(values)
    mean, either = values.mean((-2, -1)), reach(freedom + 1) * error
    return mean - either, mean + either


def error_of_mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The standard error of the mean of values [..., run, n], and its degrees of freedom; NaN where a single example
    of a single run tells nothing of either."""
    runs, n = values.shape[-2:]
    of_runs, of_examples = values.mean(-1), values.mean(-2)
    if runs == 1 or n == 1:
        one_way = of_examples if runs == 1 else of_runs
        spread = one_way.std(-1, ddof=1) if one_way.shape[-1] > 1 else np.full(values.shape[:-2], np.nan)
        return spread / one_way.shape[-1] ** 0.5, np.full(values.shape[:-2], float(max(one_way.shape[-1] - 1, 1)))
    rest = values - of_runs[..., None] - of_examples[..., None, :] + values.mean((-2, -1))[..., None, None]
    by_run, by_example = of_runs.var(-1, ddof=1) / runs, of_examples.var(-1, ddof=1) / n
    by_both = (rest**2).sum((-2, -1)) / ((runs - 1) * (n - 1)) / (runs * n)
    # Examples that vary less than the rest alone makes them are an accident, since there are many: the runs' own
    # variance is the least. Few runs are often that much alike, which says nothing, unless they are more alike than
    # the rest lets them be in one case of forty: five runs that are right equally often are no interval of nothing.
    least = np.maximum(by_run, by_both * share_by_chance(runs))
    variance = np.maximum(by_run + by_example - by_both, least)
    unsure = by_run**2 / (runs - 1) + by_example**2 / (n - 1) + by_both**2 / ((runs - 1) * (n - 1))
    fewest = min(runs, n) - 1.0  # no part is known from less
    freedom = np.divide(variance**2, unsure, out=np.full_like(variance, fewest), where=unsure > 0)
    return np.sqrt(variance), np.maximum(freedom, fewest)
