"""A task as whoever asks for it wants it: scored by another metric, read in windows, with fewer rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.metrics import METRICS
from bertscope.data.options import TaskOptions
from bertscope.data.splits import mixed_order
from bertscope.data.task import Kind, Task


def with_metric(task: Task, options: TaskOptions) -> Task:
    """The task, scored by the metric the user asks for."""
    metric = options.metric
    if metric is None:
        return task
    if metric not in METRICS[task.kind]:
        raise UserError(f"metric {metric} isn't for {task.kind}, which {task.name} is; leave out --metric")
    if metric == "f1" and len(task.labels) != 2:
        raise UserError(f"metric f1 is for two labels, and {task.name} has {len(task.labels)}; give macro_f1")
    task = replace(task, metric=metric)
    _ = task.output  # which may know better: tags of words need not be those of entities
    return task


def with_threshold(task: Task, options: TaskOptions) -> Task:
    """The task, with the threshold that the user asks for."""
    if options.label_threshold is None:
        return task
    if task.kind != "several":
        raise UserError(f"a threshold is for several labels a text, and {task.name} is {task.kind}; leave it out")
    return replace(task, threshold=float(np.log(options.label_threshold / (1 - options.label_threshold))))


def with_windows(task: Task, options: TaskOptions) -> Task:
    """The task, with long texts read in windows if the user asks for it."""
    if not options.windows:
        return task
    if task.kind not in ("classification", "regression", "several"):
        raise UserError(f"windows are for labels and scores of texts, and {task.name} is {task.kind}; leave them out")
    return replace(task, windows=options.windows)


def few(examples: Examples, kind: Kind, options: TaskOptions) -> Examples:
    """At most `limit` of the examples, the labels in about the same shares."""
    limit = options.limit
    if limit is None or limit >= len(examples):
        return examples
    if kind == "masked" or examples.label is None:
        label, kind = np.zeros(len(examples)), "regression"
    else:
        label = examples.label
    return examples.take(np.sort(mixed_order(label, kind, options.seed)[:limit]))
