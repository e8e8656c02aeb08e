"""The answer of `overlap`: the pairs of tasks and how often each part survives, as numbers and figures."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.experiments.overlap.question import overlap

KINDS = {"head": "heads", "mlp": "MLPs"}
"""Kinds of parts, and what tables call them."""


def overlap_result(model: str, seeds: Mapping[str, int], pairs: pd.DataFrame, survival: pd.DataFrame) -> Result:
    """`seeds` says how many there are of each task."""
    return overlap.result(
        tables={"pairs": pairs, "survival": survival},
        headline=_headline(pairs),
        figures=_figures(len(seeds)),
        subject={"model": model, "task": ", ".join(seeds)},
        notes=[f"{task}: {count} seed{'s' * (count > 1)}" for task, count in seeds.items()],
    )


def _headline(pairs: pd.DataFrame) -> list[Number]:
    numbers = []
    for parts in KINDS.values():
        here = pairs[pairs["parts"] == parts]
        same = here["task"] == here["other"]
        for name, rows in ((f"{parts}, within a task", here[same]), (f"{parts}, between tasks", here[~same])):
            if rows["jaccard"].notna().any():
                numbers.append(Number(name, float(rows["jaccard"].mean()), unit="overlap"))
                numbers.append(Number(f"{name}, by chance", float(rows["by_chance"].mean()), unit="overlap"))
    return numbers


def _figures(tasks: int) -> list[Figure]:
    return [
        Figure(
            "heatmap",
            "pairs",
            x="other",
            y="task",
            value="jaccard",
            facet="parts",
            title="What the survivors of two tasks share",
            caption="Of the parts that either mask has, the share that both have, mean over pairs of seeds; on the "
            "diagonal, two seeds of one task. The table has what random sets of these sizes would share.",
            labels={"jaccard": "overlap", "other": "", "task": ""},
        ),
        Figure(
            "heatmap",
            "survival",
            x="head",
            y="layer",
            value="share",
            where={"kind": "head"},
            title="Heads that survive, whatever the task",
            caption=f"The share of seeds with which a head survives, mean over {tasks} tasks.",
            labels={"share": "survives"},
        ),
    ]
