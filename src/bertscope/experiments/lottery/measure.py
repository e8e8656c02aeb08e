"""`lottery`: what all its trainings come to, with intervals over seeds and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertscope.core.agreement import (
    chance_jaccard,
    chance_kept_by_four,
    cochran_q,
    fleiss_kappa,
    jaccard,
    kappa_interval,
    kept_by_four,
    kept_by_four_interval,
)
from bertscope.core.result import Result
from bertscope.data.metrics import between
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.lottery.classes import classes
from bertscope.experiments.lottery.question import LotteryConfig
from bertscope.experiments.lottery.result import lottery_result
from bertscope.experiments.lottery.ticket import HANS
from bertscope.experiments.subnetworks import ARMS, Subnetwork
from bertscope.training.told import as_told, moments_of

_COLUMNS, _STAGES = ("method", "arm", "stage"), ("pruned", "retrained")
Key = tuple[str, str, str]
"""What an arm is known by: method, arm and stage."""
Seeds = tuple[int, ...]
_FULL: Key = ("", "full", "fine_tuned")
"""The full model among the arms."""
_PAIRS = (
    ("good", "random"),
    ("good", "bad"),
    ("random", "bad"),
    ("good", "reinit"),
    ("super", "never"),
    ("super", "any"),
)
"""Subnetworks of the same size whose scores are compared."""
_ENDS = {"": "value", "_low": "low", "_high": "high"}
"""What a number is called in a table, and its ends."""
Prunings = Mapping[str, Mapping[int, Result]]
"""By method and seed."""
Masks = Mapping[str, Mapping[int, np.ndarray]]
"""What survived, by method and seed."""


def measure(
    tuned: Sequence[Result],
    pruned: Sequence[Result],
    tickets: Sequence[Result],
    task: Task,
    config: LotteryConfig,
    shapes: Sequence[Result] = (),
) -> Result:
    """What is given may come in any order: each result says which it is."""
    by_who = {Who.of(ticket): ticket for ticket in tickets}
    every = [Who(method, arm, seed) for method in config.methods for arm in ARMS for seed in config.seeds]
    drawn = {who: by_who[who] for who in every if who in by_who}
    by_method = {(one.subject["method"], _seed(one)): one for one in pruned}
    prunings: Prunings = {
        method: {seed: by_method[method, seed] for seed in config.seeds} for method in config.methods
    }
    survivors: Masks = {
        method: {seed: Subnetwork.of(one).kept for seed, one in of_seed.items()}
        for method, of_seed in prunings.items()
    }
    task = as_told(task, tuned[0])
    arms = _arms({int(one.subject["seed"]): one for one in tuned}, drawn, task, config.seeds)
    tables = {"arms": _table(arms, drawn, task), "comparisons": _comparisons(arms), "gains": _gains(arms)}
    tables["scores"] = arms.trainings()
    tables["steps"] = _steps(prunings)
    tables["prunings"] = _prunings(prunings)
    tables["agreement"] = _agreement(survivors, prunings)
    if len(config.seeds) > 1:
        tables["overlaps"] = _overlaps(survivors)
    if "s" in prunings:
        tables["survivors"] = _survivors(prunings["s"])
    if "m" in prunings:
        tables["weights"] = _weights(prunings["m"])
    if shapes:
        tables["classes"] = classes(_heads(prunings["s"], shapes))
    if any("hans_labels" in ticket.arrays for ticket in tickets):
        tables["hans"] = _hans(drawn, config.seeds)
    masks = np.stack(list(survivors["s"].values())).astype(np.uint8) if "s" in survivors else None
    return lottery_result(tables, masks, tickets[0].models, task, config)


class Who(NamedTuple):
    """Which ticket it is."""

    method: str
    arm: str
    seed: int

    @classmethod
    def of(cls, ticket: Result) -> Who:
        return cls(ticket.subject["method"], ticket.subject["arm"], int(ticket.subject["seed"]))


def _seed(result: Result) -> int:
    """The seed with which the model that a result is about was fine-tuned, as that model's record has it."""
    (model,) = result.models.values()
    if model.origin is None or model.origin.seed is None:
        raise ValueError(f"{result.question} of {model.name}: with which seed it was trained isn't recorded")
    return model.origin.seed


def _arms(tuned: Mapping[int, Result], tickets: Mapping[Who, Result], task: Task, seeds: Seeds) -> Arms[Key]:
    """Every arm at every stage, and what each of its trainings says about the test set."""
    found: dict[Key, dict[int, np.ndarray]] = {_FULL: {seed: moments_of(task, tuned[seed]) for seed in seeds}}
    for who, ticket in tickets.items():
        for stage in _STAGES:
            if stage in ticket.arrays:
                of_arm = found.setdefault((who.method, who.arm, stage), {})
                of_arm[who.seed] = moments_of(task, ticket, stage)
    return Arms(found, task.value, _COLUMNS, between(task.metric))


def _table(arms: Arms[Key], tickets: Mapping[Who, Result], task: Task) -> pd.DataFrame:
    """One row per arm and stage: the mean over seeds, and how far it is from the full model."""
    sizes: dict[tuple[str, str], list[list[float]]] = {}
    for who, ticket in tickets.items():
        sizes.setdefault((who.method, who.arm), []).append([ticket[key].value for key in ("left", "shared")])
    left, shared = np.array([np.mean(sizes.get(key[:2], [[1.0, 1.0]]), 0) for key in arms.keys]).T
    table = arms.against(dict.fromkeys(arms.keys, _FULL)).drop(columns="n")
    table.columns = table.columns.str.replace("effect", "minus_full")
    table = table.assign(left=left, shared=shared)
    majority = {"method": "", "arm": "majority", "stage": "", "score": task.chance()}
    return pd.concat([table[:1], pd.DataFrame([majority]), table[1:]], ignore_index=True)


def _comparisons(arms: Arms[Key]) -> pd.DataFrame:
    """Pairs of subnetworks of equal size, on the same seeds and examples."""
    pairs = [
        (method, one, other, stage)
        for method in _methods(arms)
        for stage in _STAGES
        for one, other in _PAIRS
        if {(method, one, stage), (method, other, stage)} <= set(arms.keys)
    ]
    apart, low, high = arms.apart(
        [((method, one, stage), (method, other, stage)) for method, one, other, stage in pairs]
    )
    table = pd.DataFrame(pairs, columns=["method", "arm", "against", "stage"])
    return table.assign(difference=apart, low=low, high=high, runs=arms.runs)


def _gains(arms: Arms[Key]) -> pd.DataFrame:
    """What each subnetwork gains by being trained again, on the same seeds and examples."""
    pruned, retrained = _STAGES
    both = [key[:2] for key in arms.keys if key[2] == pruned and (*key[:2], retrained) in arms.keys]
    gain, low, high = arms.apart([((*key, retrained), (*key, pruned)) for key in both])
    return pd.DataFrame(both, columns=["method", "arm"]).assign(gain=gain, low=low, high=high, runs=arms.runs)


def _methods(arms: Arms[Key]) -> list[str]:
    return list(dict.fromkeys(method for method, _, _ in arms.keys if method))


def _hans(tickets: Mapping[Who, Result], seeds: Seeds) -> pd.DataFrame:
    """Accuracy on each half of HANS: the mean over seeds, with an interval where there are enough of them."""
    found: dict[Key, dict[int, np.ndarray]] = {}
    for who, ticket in tickets.items():
        for stage in ("full", *_STAGES):
            if f"hans_{stage}" in ticket.arrays:
                key = (who.method, "full" if stage == "full" else who.arm, stage)
                found.setdefault(key, {})[who.seed] = ticket.arrays[f"hans_{stage}"]  # right or not
    gold = next(iter(tickets.values())).arrays["hans_labels"]  # the same of each
    parts = []
    for place, label in enumerate(HANS):
        half = {
            key: {seed: of_seed[seed][gold == place, None].astype(float) for seed in seeds}
            for key, of_seed in found.items()
        }
        table = Arms(half, lambda means: means[..., 0], _COLUMNS, within=(0.0, 1.0)).table()
        whole = table["arm"] == "full"
        names = table["arm"].where(whole, table["arm"] + "_" + table["stage"])
        parts.append(table.assign(subnetwork=names, label=label).rename(columns={"score": "accuracy"}))
    columns = ["method", "subnetwork", "label", "accuracy", "low", "high", "runs"]
    return pd.concat(parts, ignore_index=True)[columns]


def _steps(prunings: Prunings) -> pd.DataFrame:
    return pd.concat(
        [
            one.tables["steps"].assign(method=method, seed=seed, run=str(seed))
            for method, of_seed in prunings.items()
            for seed, one in of_seed.items()
        ],
        ignore_index=True,
    )


def _prunings(prunings: Prunings) -> pd.DataFrame:
    """What each pruning leaves, and how far its mask is above what must be reached, on the test set."""
    return pd.DataFrame(
        {"method": method, "seed": seed}
        | {f"{key}{end}": getattr(one[key], name) for key in ("left", "above_bar") for end, name in _ENDS.items()}
        for method, of_seed in prunings.items()
        for seed, one in of_seed.items()
    )


def _agreement(survivors: Masks, prunings: Prunings) -> pd.DataFrame:
    """How many survive, and how much the seeds agree on which."""
    rows = []
    for method, masks in survivors.items():
        votes = np.stack(list(masks.values()))
        parts = {"weights": np.ones(votes.shape[1], bool)}
        if method == "s":
            kind = next(iter(prunings[method].values())).tables["survivors"]["kind"].to_numpy()  # the same of each
            parts = {"heads": kind == "head", "mlps": kind == "mlp"}
        for name, at in parts.items():
            of_kind = votes[:, at]
            q, p = cochran_q(of_kind)
            both = [(jaccard(*pair), chance_jaccard(*pair)) for pair in combinations(of_kind, 2)]
            overlap, by_chance = np.mean(both, axis=0) if both else (np.nan, np.nan)
            (low, high), (four_low, four_high) = kappa_interval(of_kind), kept_by_four_interval(of_kind)
            rows.append(
                {"method": method, "parts": name, "of": of_kind.shape[1], "runs": len(votes),
                 "survive": of_kind.sum(1).mean(),
                 "survive_sd": of_kind.sum(1).std(ddof=1) if len(votes) > 1 else np.nan,
                 "in_every_seed": int(of_kind.all(0).sum()), "in_no_seed": int((~of_kind.any(0)).sum()),
                 "kappa": fleiss_kappa(of_kind), "kappa_low": low, "kappa_high": high,
                 "kept_by_four": kept_by_four(of_kind), "kept_by_four_low": four_low, "kept_by_four_high": four_high,
                 "kept_by_four_by_chance": chance_kept_by_four(of_kind),
                 "cochran_q": q, "cochran_p": p, "jaccard": overlap, "jaccard_by_chance": by_chance}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _overlaps(survivors: Masks) -> pd.DataFrame:
    return pd.DataFrame(
        {"method": method, "seed": one, "other": other, "jaccard": jaccard(masks[one], masks[other])}
        for method, masks in survivors.items()
        for one in masks
        for other in masks
    )


def _survivors(pruned: Mapping[int, Result]) -> pd.DataFrame:
    """With how many seeds each head and MLP survives, and with which."""
    tables = {str(seed): one.tables["survivors"] for seed, one in pruned.items()}
    survives = pd.DataFrame({seed: table["survives"].astype(bool) for seed, table in tables.items()})
    which = [", ".join(seed for seed in tables if part[seed]) for part in survives.to_dict("records")]
    parts, count = next(iter(tables.values())).drop(columns="survives"), survives.sum(axis=1)
    return parts.assign(survived=count, share=count / len(tables), seeds=which)


def _weights(pruned: Mapping[int, Result]) -> pd.DataFrame:
    tables = [one.tables["weights"] for one in pruned.values()]
    return pd.concat(tables).groupby(["layer", "map"], sort=False)["share"].mean().reset_index()


def _heads(pruned: Mapping[int, Result], shapes: Sequence[Result]) -> dict[str, list[pd.DataFrame]]:
    """What `patterns` says of each seed's heads and whether they survive, by raw and by norm-weighted attention."""
    found: dict[str, list[pd.DataFrame]] = {"raw": [], "norm_weighted": []}
    for shape in shapes:
        parts = pruned[_seed(shape)].tables["survivors"]
        survive = parts[parts["kind"] == "head"][["layer", "head", "survives"]]
        heads = shape.tables["heads"].merge(survive, on=["layer", "head"])
        found["norm_weighted" if "attention" in shape.subject else "raw"].append(heads)
    return found
