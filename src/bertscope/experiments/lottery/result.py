"""The answer of `lottery`: its numbers and figures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import few_seeds, how_sure
from bertscope.experiments.lottery.question import LotteryConfig, lottery
from bertscope.experiments.prune.question import METHODS
from bertscope.experiments.subnetworks import ARMS


def lottery_result(
    tables: dict[str, pd.DataFrame], survivors: np.ndarray | None, model: str, task: Task, config: LotteryConfig
) -> Result:
    """`survivors` [seed, part] says which heads and MLPs survived, where they were pruned."""
    return lottery.result(
        tables=tables,
        arrays={} if survivors is None else {"survivors": survivors},
        headline=_headline(tables, task, config),
        figures=_figures(tables, task, config),
        subject={"model": model, "task": task.name},
        notes=[*task.notes, *_notes(config)],
    )


def _headline(tables: dict[str, pd.DataFrame], task: Task, config: LotteryConfig) -> list[Number]:
    n, metric = len(task.test), task.metric
    rows = {(row["method"], row["arm"], row["stage"]): row for _, row in tables["arms"].iterrows()}

    def number(name: str, key: tuple[str, str, str]) -> Number:
        row = rows[key]
        low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
        return Number(name, float(row["score"]), low, high, n, metric)

    numbers = [number("full", ("", "full", "fine-tuned")), number("majority", ("", "majority", ""))]
    for method in config.methods:
        before = "" if method == config.methods[0] else f"{method}: "
        numbers.append(number(f"{before}good, pruned", (method, "good", "pruned")))
        for arm in ("good", "random", "bad"):
            numbers.append(number(f"{before}{arm}, retrained", (method, arm, "retrained")))
        left = float(rows[method, "good", "retrained"]["left"])
        numbers.append(Number(f"{before}left", left, unit="share of the blocks' weights"))
    for _, row in tables["agreement"].iterrows():
        numbers.append(Number(f"{row['parts']} that survive", float(row["survive"]), n=int(row["of"])))
        if not pd.isna(row["kappa"]):
            numbers.append(Number(f"kappa of {row['parts']} over seeds", float(row["kappa"]), n=int(row["of"])))
    return numbers


def _notes(config: LotteryConfig) -> list[str]:
    return [
        "masks are chosen on the validation set and scored on the test set; the paper does both on dev",
        *few_seeds(len(config.seeds)),
    ]


def _figures(tables: dict[str, pd.DataFrame], task: Task, config: LotteryConfig) -> list[Figure]:
    """One for each table that the lottery has."""
    full = float(tables["arms"]["score"].iloc[0])
    by_method = "method" if len(config.methods) > 1 else None
    arms = tables["arms"].groupby("method", sort=False)["arm"].unique()
    drawn = [_arms(method, arms[method], full, task, len(config.seeds)) for method in config.methods]
    drawn.append(_steps(task, by_method))
    if "survivors" in tables:
        drawn += _survivors(len(config.seeds))
    if "weights" in tables:
        drawn.append(_weights())
    if "overlaps" in tables:
        drawn.append(_overlaps(by_method))
    if "classes" in tables:
        drawn.append(_classes())
    if "hans" in tables:
        drawn.append(_hans(by_method))
    return drawn


def _arms(method: str, arms: Iterable[str], full: float, task: Task, runs: int) -> Figure:
    each = "; ".join(f"{arm}: {ARMS[arm]}" for arm in arms)
    return Figure(
        "intervals", "arms", x="score", y="arm", color="stage", low="low", high="high", where={"method": method},
        title=f"Subnetworks ({METHODS[method]} pruning)",
        caption=f"The test set's {task.metric} of each subnetwork as it is in the fine-tuned model (pruned) and "
        f"after training it from the pretrained weights (retrained), mean over seeds. {each}. {how_sure(runs)}",
        labels={"score": task.metric, "arm": "", "stage": ""},
        rules={"full model": full, "majority": task.chance()},
    )  # fmt: skip


def _steps(task: Task, facet: str | None) -> Figure:
    return Figure(
        "lines", "steps", x="left", y="score", color="run", facet=facet, title="The score while parts go",
        caption=f"The validation set's {task.metric} after each step of pruning, against the share of the blocks' "
        f"weights that is left; read it from right to left. Nothing is trained in between.{_methods(facet)}",
        labels={"left": "share of weights left", "score": task.metric, "run": ""},
        rules={"constant answer": task.chance(task.validation)},
    )  # fmt: skip


def _methods(facet: str | None) -> str:
    """What the headings of the panels stand for."""
    return " s: structured pruning, of heads and MLPs; m: magnitude pruning, of single weights." if facet else ""


def _survivors(seeds: int) -> list[Figure]:
    caption = "1: {} is in the last mask that passed; 0: it was pruned."
    if seeds > 1:
        caption = "The share of seeds with which {} survives; 1: it is a super-survivor."
    heads = Figure(
        "heatmap", "survivors", x="head", y="layer", value="share", where={"kind": "head"},
        title="Heads that survive", caption=caption.format("the head"), labels={"share": "survives"},
    )  # fmt: skip
    mlps = Figure(
        "heatmap", "survivors", x="layer", y="kind", value="share", where={"kind": "mlp"},
        title="MLPs that survive", caption=caption.format("the MLP"), labels={"share": "survives", "kind": ""},
    )  # fmt: skip
    return [heads, mlps]


def _weights() -> Figure:
    return Figure(
        "heatmap", "weights", x="map", y="layer", value="share", title="What is left of each matrix",
        caption="The share of weights that magnitude pruning leaves in each linear map, mean over seeds.",
        labels={"share": "kept", "map": ""},
    )  # fmt: skip


def _overlaps(facet: str | None) -> Figure:
    return Figure(
        "heatmap", "overlaps", x="other", y="seed", value="jaccard", facet=facet,
        title="Do seeds find the same subnetwork?",
        caption="What the survivors of two seeds share, of what either has (Jaccard); the table `agreement` has what "
        f"random sets of these sizes would share.{_methods(facet)}",
        labels={"jaccard": "overlap", "other": "seed"},
    )  # fmt: skip


def _classes() -> Figure:
    return Figure(
        "bars", "classes", x="share", y="of", color="class", facet="attention", title="Which patterns survive",
        caption="The attention patterns of all heads and of those that survive, heads of all seeds together. A "
        "head's pattern is its commonest one on the test set, by raw attention and by attention weighted by what "
        "it moves.",
        labels={"share": "share of heads", "of": "", "class": "pattern"},
    )  # fmt: skip


def _hans(facet: str | None) -> Figure:
    return Figure(
        "intervals", "hans", x="accuracy", y="subnetwork", color="label", low="low", high="high", facet=facet,
        title="HANS: sentences where heuristics mislead",
        caption="Accuracy on the two halves of HANS, mean over seeds: a model that follows the overlap of words is "
        "right on entailment and wrong on the rest. Neutral and contradiction count as non-entailment.",
        labels={"subnetwork": "", "label": "gold"},
    )  # fmt: skip
