"""Intervals over training runs: every run is scored on the same examples, and both runs and examples vary.

A value that each run s has on each example i is d[s, i] = mean + run_s + example_i + rest_si. The mean of them all
has the variance V = s2_run / S + s2_example / n - s2_rest / (n S). s2_run is the variance of the runs' means,
s2_example that of the examples' means, s2_rest that of what is left: the rest is in both of the others, and counts
once. V is known about as well as its parts are (Satterthwaite's degrees of freedom), so the interval is Student's.

A bootstrap that draws runs and then examples is no substitute: of five runs it is too sure where they differ much,
and not sure enough where they are alike. docs/methods.md has the coverage of this one.
"""

from __future__ import annotations

import numpy as np

from bertscope.core.intervals import few_runs, reach
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
    without = value((moments.sum(-2, keepdims=True) - moments) / (n - 1))
    return whole + (n - 1) * (without.mean(-1, keepdims=True) - without)


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
    # The rest can come out larger than it is; the variance is never smaller than what runs, or examples, alone show.
    variance = np.maximum(by_run + by_example - by_both, np.maximum(by_run, by_example))
    unsure = by_run**2 / (runs - 1) + by_example**2 / (n - 1) + by_both**2 / ((runs - 1) * (n - 1))
    freedom = np.divide(variance**2, unsure, out=np.full_like(variance, runs - 1.0), where=unsure > 0)
    return np.sqrt(variance), np.maximum(freedom, 1.0)
