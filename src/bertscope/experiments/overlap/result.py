"""The answer of `overlap`: the pairs of tasks and how often each part survives, as numbers and figures."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.experiments.overlap.question import overlap

KINDS = {"head": "heads", "mlp": "mlps"}
"""Kinds of parts, and what tables call them."""


def overlap_result(
    models: Mapping[str, ModelRecord], seeds: Mapping[str, int], pairs: pd.DataFrame, survival: pd.DataFrame
) -> Result:
    """`seeds` says how many there are of each task."""
    return overlap.result(
        tables={"pairs": pairs, "survival": survival},
        headline=_headline(pairs),
        figures=_figures(len(seeds)),
        models=dict(models),
        subject={"task": ", ".join(seeds)},
        notes=[f"{task}: {count} seed{'s' * (count > 1)}" for task, count in seeds.items()],
    )


def _headline(pairs: pd.DataFrame) -> list[Number]:
    numbers = []
    for parts in KINDS.values():
        here = pairs[pairs["parts"] == parts]
        same = here["task"] == here["other"]
        for tasks, rows in (("different", here[~same]), ("same", here[same])):
            if rows["jaccard"].notna().any():
                of = {"parts": parts, "tasks": tasks}
                for key, column in (("overlap", "jaccard"), ("overlap_by_chance", "by_chance")):
                    numbers.append(Number(key, float(rows[column].mean()), unit="overlap", of=of))
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
            key="pairs",
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
            key="survival",
        ),
    ]
