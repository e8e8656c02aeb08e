"""The answer of `prune`: what survived and how the score fell, as tables, numbers and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.ranking import told as told_by
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure, too_long
from bertscope.core.units import Unit, columns
from bertscope.experiments.changed_answers import changed_lines, changed_numbers, fixed_and_broken
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.experiments.prune.stopping import LEVEL

if TYPE_CHECKING:
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

STOPS = {
    "paper": "the last mask before the first that fails",
    "smallest": "the smallest mask that passes",
    "tested": f"the last mask before the first that isn't above it for certain (one-sided, {LEVEL:g} in all)",
}
"""Which mask each rule keeps, in words."""
_ROUNDS = (
    "Heads and MLPs go together first; then, from what is kept, heads alone, and then MLPs alone: so a point may lie "
    "left of one that is tried later. "
)
_SIZES = {"left": "share of the blocks' weights", "heads": "", "mlps": ""}
"""What says how much is left, and in which unit."""


@dataclass(frozen=True)
class Tested:
    """The test set's scores."""

    whole: Scores
    pruned: Scores
    above: np.ndarray
    """How far the pruned model is above what must be reached there, in each resample too, [1 + repeats]."""
    truncated: int
    """How many of its texts the model read in part."""
    changed: Mapping[str, pd.DataFrame]
    """What the pruned model answers otherwise."""


def prune_result(
    encoder: Encoder,
    task: Task,
    steps: pd.DataFrame,
    stops: np.ndarray,
    kept: np.ndarray,
    survivors: Mapping[str, pd.DataFrame],
    tested: Tested,
    *,
    bar: float,
    truncated: int,
    config: PruneConfig,
    order: str,
    seen: bool,
) -> Result:
    """`stops` [1 + repeats] are the rows of `steps` that the validation set and its resamples keep, `kept` is the
    mask that it keeps, `bar` the score that it had to reach, and so many of its texts are `truncated`. Parts went by
    `order`, which may have `seen` the test set."""
    whole = tested.whole
    sizes = {key: unit for key, unit in _SIZES.items() if key in steps}
    above = drawn_number("above_bar", tested.above, whole.n, whole.metric)
    return prune.result(
        tables={**survivors, "steps": steps, **tested.changed},
        arrays={"kept": np.packbits(kept), "count": np.array([kept.size])},
        headline=[
            *(drawn_number(key, steps[key].to_numpy(float)[stops], len(task.validation), unit)
              for key, unit in sizes.items()),
            whole.keyed("score", arm="full"),
            tested.pruned.keyed("score", arm="pruned"),
            above,
            Number("chance", whole.chance, n=whole.n, unit=whole.metric),
            *changed_numbers(tested.changed, ("fixed", "broken")),
        ],
        figures=[_trajectory(task, bar, config), _survivors(config)],
        models=records([encoder]),
        subject={"task": task.name, "method": config.method} | ({} if order == "recomputed" else {"order": order}),
        notes=[
            *task.notes,
            *whole.notes,
            f"masks are chosen on the validation set ({_rule(config)}; {STOPS[config.stop]} is kept); the test set "
            "is only scored",
            *_by_order(order, seen),
            *_misses(above),
            *(f"answers that change: {line}" for line in changed_lines(tested.changed, {})),
            *_again(steps, stops[0]),
            *cautions(encoder, task, whole, tested.truncated),
            *_warnings(encoder, task, truncated, bar, config),
        ],
    )  # fmt: skip


def _by_order(order: str, seen: bool) -> list[str]:
    """What is to be known of an order that isn't the paper's."""
    if order == "recomputed":
        return []
    told = "in random order" if order == "random" else f"by {told_by(order)}, which is measured once"
    flattered = "; it was measured on the test set, whose score is flattered" if seen else ""
    return [f"parts go {told}{flattered}"]


def _misses(above: Number) -> list[str]:
    """What must be said of a mask that passes on validation and misses the same bar on test."""
    if above.value >= 0:
        return []
    return [f"the mask passes on the validation set and misses the same share on the test set: its {above.unit} "
            f"minus what must be reached there is {above}, {_how_surely(above)}"]  # fmt: skip


def _how_surely(above: Number) -> str:
    """Whether the interval of a difference says which side it is on."""
    ends = [end for end in (above.low, above.high) if end is not None]
    return "for certain" if ends and min(ends) * max(ends) > 0 else "not for certain"


def _again(steps: pd.DataFrame, kept: int) -> list[str]:
    """That masks pass which are smaller than the one that is kept."""
    smaller = steps[steps["passes"] & (steps["left"] < steps["left"][kept])]
    if smaller.empty:
        return []
    count = f"{len(smaller)} smaller mask{'s pass' if len(smaller) > 1 else ' passes'} again"
    return [f"{count}, down to {percent(smaller['left'].min())} of the blocks' weights: --stop smallest keeps the "
            "smallest of them"]  # fmt: skip


def sentence(result: Result) -> Statement | None:
    left, above = result["left"], result["above_bar"]
    (full,), (pruned,) = (result.numbers(key="score", arm=arm) for arm in ("full", "pruned"))
    share = sure(Estimate.of_number(left), percent)
    order = f", order: {told_by(result.subject['order'])}" if "order" in result.subject else ""
    score, whole = (sure(Estimate.of_number(one)) for one in (pruned, full))
    told = (
        f"By the validation set, {share} of the blocks' weights still do the task; on test they score {score} and "
        f"the full model {whole}: {'more' if above.value >= 0 else 'less'} than must be reached there, "
        f"{_how_surely(above)} ({result.subject['method']}-pruning{order}){fixed_and_broken(result, 'pruned')}."
    )
    return Statement(told, left.value, percent)


def _rule(config: PruneConfig) -> str:
    what = "score above chance" if config.rule == "chance" else "score"
    return f"{config.threshold:.0%} of the full model's {what}"


def _warnings(encoder: Encoder, task: Task, truncated: int, bar: float, config: PruneConfig) -> list[str]:
    notes = []
    if truncated:
        notes.append(too_long(truncated, "validation text", f"{encoder.max_length} tokens"))
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
        "points", "steps", x="left", y="score", color="outcome", title="The score while parts go",
        caption=f"The validation set's {task.metric} after each step, against the share of the blocks' weights that "
        f"is left. {_ROUNDS if config.method == 's' else ''}The upper rule is {_rule(config)}; {STOPS[config.stop]} "
        "is kept. Later steps were scored to tell where other rows of the validation set would have stopped. "
        "Nothing is trained in between.",
        labels={"left": "share of weights left", "score": task.metric, "outcome": ""},
        rules={"must be reached": bar, "constant answer": task.chance(task.validation)}, key="trajectory",
    )  # fmt: skip


def _survivors(config: PruneConfig) -> Figure:
    if config.method == "m":
        return Figure(
            "heatmap", "weights", x="map", y="layer", value="share", title="What is left of each matrix",
            caption="The share of weights that survives in each linear map, bias vectors included.",
            labels={"share": "kept", "map": ""}, key="weights",
        )  # fmt: skip
    return Figure(
        "heatmap", "survivors", x="head", y="layer", value="survives", where={"kind": "head"},
        title="Heads that survive", caption="1: the head is in the mask that is kept; 0: it was pruned.",
        labels={"survives": "survives"}, key="survivors",
    )  # fmt: skip
