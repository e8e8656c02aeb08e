"""The answer of `prune`: what survived and how the score fell, as tables, numbers and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.units import Unit, columns
from bertscope.experiments.prune.question import PruneConfig, prune

if TYPE_CHECKING:
    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder

_SIZES = {"left": "share of the blocks' weights", "heads": "", "mlps": ""}
"""What says how much is left, and in which unit."""


@dataclass(frozen=True)
class Tested:
    """The test set's scores."""

    whole: Scores
    pruned: Scores
    truncated: int
    """How many of its texts the model read in part."""


def prune_result(
    encoder: Encoder,
    task: Task,
    rows: Sequence[Mapping[str, Any]],
    kept: np.ndarray,
    survivors: Mapping[str, pd.DataFrame],
    tested: Tested,
    *,
    bar: float,
    config: PruneConfig,
) -> Result:
    """`rows` are the steps, `kept` is the last mask that passed, `bar` the score that it had to reach."""
    steps = pd.DataFrame(rows).drop(columns=["step", "truncated"])
    last = steps[steps["passes"]].iloc[-1]
    whole = tested.whole
    return prune.result(
        tables={**survivors, "steps": steps},
        arrays={"kept": np.packbits(kept), "count": np.array([kept.size])},
        headline=[
            *(Number(name, float(last[name]), unit=unit) for name, unit in _SIZES.items() if name in last),
            whole.keyed("full, test"),
            tested.pruned.keyed("pruned, test"),
            Number("chance", whole.chance, n=whole.n, unit=whole.metric),
        ],
        figures=[_trajectory(task, bar, config), _survivors(config)],
        subject={"model": encoder.name, "task": task.name, "method": config.method},
        notes=[
            *task.notes,
            *whole.notes,
            f"masks are chosen on the validation set ({_rule(config)}); the test set is only scored",
            *cautions(encoder, task, whole, tested.truncated),
            *_warnings(encoder, task, rows[0]["truncated"], bar, config),
        ],
    )


def _rule(config: PruneConfig) -> str:
    what = "score above chance" if config.rule == "chance" else "score"
    return f"{config.threshold:.0%} of the full model's {what}"


def _warnings(encoder: Encoder, task: Task, truncated: int, bar: float, config: PruneConfig) -> list[str]:
    notes = []
    if truncated:
        notes.append(f"{truncated} validation texts are longer than {encoder.max_length} tokens and were cut")
    if config.rule == "paper" and bar <= task.chance(task.validation):
        notes.append(f"a constant answer passes this rule: {bar:.3f} is not above chance")
    return notes


def part_table(units: Sequence[Unit], kept: np.ndarray) -> dict[str, pd.DataFrame]:
    """Which heads and MLPs survive."""
    return {"survivors": pd.DataFrame(columns(units) | {"survives": kept})}


def weight_table(encoder: Encoder, masks: Mapping[str, np.ndarray]) -> dict[str, pd.DataFrame]:
    """How much of each weight matrix survives, from its mask."""
    path = f"{encoder.family.layers}."
    rows = []
    for name, mask in masks.items():
        layer, _, matrix = name.removeprefix(path).partition(".")
        matrix = matrix.replace("self.", "").replace("dense.", "")
        rows.append({"layer": int(layer) + 1, "map": matrix, "weights": mask.size, "kept": int(mask.sum())})
    table = pd.DataFrame(rows)
    return {"weights": table.assign(share=table["kept"] / table["weights"])}


def _trajectory(task: Task, bar: float, config: PruneConfig) -> Figure:
    return Figure(
        "points", "steps", x="left", y="score", color="phase", title="The score while parts go",
        caption=f"The validation set's {task.metric} after each step, against the share of the blocks' "
        f"weights that is left. The upper rule is {_rule(config)}: the last mask above it is kept. Nothing is "
        "trained in between.",
        labels={"left": "share of weights left", "score": task.metric},
        rules={"must be reached": bar, "constant answer": task.chance(task.validation)},
    )  # fmt: skip


def _survivors(config: PruneConfig) -> Figure:
    if config.method == "m":
        return Figure(
            "heatmap", "weights", x="map", y="layer", value="share", title="What is left of each matrix",
            caption="The share of weights that survives in each linear map, bias vectors included.",
            labels={"share": "kept", "map": ""},
        )  # fmt: skip
    return Figure(
        "heatmap", "survivors", x="head", y="layer", value="survives", where={"kind": "head"},
        title="Heads that survive", caption="1: the head is in the last mask that passed; 0: it was pruned.",
        labels={"survives": "survives"},
    )  # fmt: skip
