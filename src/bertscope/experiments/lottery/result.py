"""The answer of `lottery`: its numbers and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bertscope.core.equivalence import margin
from bertscope.core.estimate import Estimate, cell
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, counted, percent, runs, sure
from bertscope.data.task import Task
from bertscope.experiments.arms import effect_in_points, few_seeds, how_sure
from bertscope.experiments.lottery.question import LotteryConfig, lottery
from bertscope.experiments.prune.question import METHODS
from bertscope.experiments.subnetworks import ARMS

_TOLD = (("good", "retrained"), ("good", "pruned"), ("random", "retrained"), ("bad", "retrained"))
"""The subnetworks whose scores are headline numbers; the first is the main one."""


def lottery_result(
    tables: dict[str, pd.DataFrame],
    survivors: np.ndarray | None,
    models: Mapping[str, ModelRecord],
    task: Task,
    config: LotteryConfig,
) -> Result:
    """`survivors` [seed, part] says which heads and MLPs survived, where they were pruned."""
    return lottery.result(
        tables=tables,
        arrays={} if survivors is None else {"survivors": survivors},
        headline=_headline(tables, task, config),
        figures=_figures(tables, task, config),
        models=dict(models),
        subject={"task": task.name},
        notes=[*task.notes, *_notes(tables, task, config)],
    )


def _headline(tables: dict[str, pd.DataFrame], task: Task, config: LotteryConfig) -> list[Number]:
    n, metric = len(task.test), task.metric
    rows = {(row["method"], row["arm"], row["stage"]): row for _, row in tables["arms"].iterrows()}

    def score(method: str, arm: str, stage: str) -> Number:
        row = rows[method, arm, stage]
        low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
        of = {"arm": arm} | ({"stage": stage, "method": method} if method else {})
        return Number("score", float(row["score"]), low, high, n, metric, of=of)

    main, *others = (score(method, arm, stage) for method in config.methods for arm, stage in _TOLD)
    chance = Number("chance", task.chance(), n=n, unit=metric)
    numbers = [main, score("", "full", "fine_tuned"), chance, *others]
    for method in config.methods:
        left = float(rows[method, "good", "retrained"]["left"])
        numbers.append(Number("left", left, unit="share of the blocks' weights", of={"method": method}))
        numbers.append(Number("misses", _misses(tables, method), n=len(config.seeds), of={"method": method}))
    for _, row in tables["agreement"].iterrows():
        of = {"parts": row["parts"]}
        numbers.append(Number("survive", float(row["survive"]), n=int(row["of"]), of=of))
        for key in ("kappa", "kept_by_four"):
            if not pd.isna(row[key]):
                seen = cell(row, key)
                numbers.append(Number(key, seen.value, seen.low, seen.high, n=int(row["of"]), of=of))
    return numbers


def _misses(tables: dict[str, pd.DataFrame], method: str) -> int:
    """With how many seeds the mask passed on the validation set and misses the same share on the test set."""
    rows = tables["prunings"]
    return int(((rows["method"] == method) & (rows["above_bar"] < 0)).sum())


def sentence(result: Result) -> Statement | None:
    arms = result.tables["arms"]
    method = next(name for name in arms["method"] if name)
    retrained = arms[(arms["method"] == method) & (arms["stage"] == "retrained")]
    rows = {row["arm"]: row for _, row in retrained.iterrows()}
    good, random, bad = (sure(cell(rows[arm], "score", "low", "high")) for arm in ("good", "random", "bad"))
    (full,) = result.numbers(key="score", arm="full")
    left = float(rows["good"]["left"])
    misses = counted(_misses(result.tables, method), "of the masks misses", "of the masks miss")
    whole = sure(Estimate.of_number(full))
    told = (
        f"By the validation set, {percent(left)} of the blocks' weights still do the task; trained again, they score "
        f"{good}, as many at random {random}, the least important {bad} and the full model {whole} "
        f"({runs(rows['good'])}, {method}-pruning). Not trained again, {misses} the score that must be reached on "
        "the test set."
    )
    return Statement(told, left, percent)


def _notes(tables: dict[str, pd.DataFrame], task: Task, config: LotteryConfig) -> list[str]:
    return [
        "masks are chosen on the validation set and scored on the test set; the paper does both on dev",
        *few_seeds(len(config.seeds)),
        *(_verdict(tables, method, task) for method in config.methods),
    ]


def _verdict(tables: dict[str, pd.DataFrame], method: str, task: Task) -> str:
    """What subnetworks come to beside the full model and beside random and bad ones: the paper's conclusion."""
    arms, pairs = (tables[name][tables[name]["stage"] != "pruned"] for name in ("arms", "comparisons"))
    within, n = margin(float(arms.set_index("arm")["score"]["full"]), task.chance()), len(task.test)
    good = arms[(arms["method"] == method) & (arms["arm"] == "good")].iloc[0]
    told = [f"minus the full model {effect_in_points(good, within, n, 'minus_full', 'minus_full_')}"]
    for _, row in pairs[(pairs["method"] == method) & (pairs["arm"] == "good")].iterrows():
        told.append(f"minus {row['against']} ones {effect_in_points(row, within, n)}")
    return f"good subnetworks, trained again ({method}-pruning), in points of {task.metric}: {'; '.join(told)}"


def _figures(tables: dict[str, pd.DataFrame], task: Task, config: LotteryConfig) -> list[Figure]:
    """One for each table that the lottery has."""
    by_method = "method" if len(config.methods) > 1 else None
    arms = tables["arms"].groupby("method", sort=False)["arm"].unique()
    full = float(tables["arms"].set_index("arm")["score"]["full"])
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
        rules={"full model": full, "majority": task.chance()}, key=f"arms_{method}",
    )  # fmt: skip


def _steps(task: Task, facet: str | None) -> Figure:
    return Figure(
        "lines", "steps", x="left", y="score", color="run", facet=facet, title="The score while parts go",
        caption=f"The validation set's {task.metric} after each step of pruning, against the share of the blocks' "
        f"weights that is left; read it from right to left. Nothing is trained in between.{_methods(facet)}",
        labels={"left": "share of weights left", "score": task.metric, "run": "seed"},
        rules={"constant answer": task.chance(task.validation)}, key="steps",
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
        key="surviving_heads",
    )  # fmt: skip
    mlps = Figure(
        "heatmap", "survivors", x="layer", y="kind", value="share", where={"kind": "mlp"},
        title="MLPs that survive", caption=caption.format("the MLP"), labels={"share": "survives", "kind": ""},
        key="surviving_mlps",
    )  # fmt: skip
    return [heads, mlps]


def _weights() -> Figure:
    return Figure(
        "heatmap", "weights", x="map", y="layer", value="share", title="What is left of each matrix",
        caption="The share of weights that magnitude pruning leaves in each linear map, mean over seeds.",
        labels={"share": "kept", "map": ""}, key="weights",
    )  # fmt: skip


def _overlaps(facet: str | None) -> Figure:
    return Figure(
        "heatmap", "overlaps", x="other", y="seed", value="jaccard", facet=facet,
        title="Do seeds find the same subnetwork?",
        caption="What the survivors of two seeds share, of what either has (Jaccard); the table `agreement` has what "
        f"random sets of these sizes would share.{_methods(facet)}",
        labels={"jaccard": "overlap", "other": "seed"}, key="overlaps",
    )  # fmt: skip


def _classes() -> Figure:
    return Figure(
        "bars", "classes", x="share", y="of", color="class", facet="attention", title="Which patterns survive",
        caption="The attention patterns of all heads and of those that survive, mean over seeds. A "
        "head's pattern is its commonest one on the test set, by raw attention and by attention weighted by what "
        "it moves.",
        labels={"share": "share of heads", "of": "", "class": "pattern"}, key="classes",
    )  # fmt: skip


def _hans(facet: str | None) -> Figure:
    return Figure(
        "intervals", "hans", x="accuracy", y="subnetwork", color="label", low="low", high="high", facet=facet,
        title="HANS: sentences where heuristics mislead",
        caption="Accuracy on the two halves of HANS, mean over seeds: a model that follows the overlap of words is "
        "right on entailment and wrong on the rest. Neutral and contradiction count as non-entailment.",
        labels={"subnetwork": "", "label": "gold"}, key="hans",
    )  # fmt: skip
