"""`lottery`: what all its trainings come to, with intervals over seeds and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from bertscope.analyses.shapes import CLASSES
from bertscope.core.agreement import chance_jaccard, cochran_q, fleiss_kappa, jaccard
from bertscope.core.intervals import percentile_interval_over_runs
from bertscope.core.resampling import seed_draws
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.lottery.question import LotteryConfig
from bertscope.experiments.lottery.result import lottery_result
from bertscope.experiments.lottery.ticket import HANS
from bertscope.experiments.subnetworks import ARMS, Subnetwork

_FULL = ("", "full", "fine_tuned")
"""The full model among the arms: method, arm and stage."""
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
    arms = _Arms({int(one.subject["seed"]): one for one in tuned}, drawn, task, config.seeds)
    tables = {"arms": arms.table(), "comparisons": arms.comparisons(), "scores": arms.scores()}
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
        tables["classes"] = _classes(prunings["s"], shapes)
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


class _Arms:
    """Every arm at every stage, and what each of its trainings says about the test set."""

    def __init__(
        self, tuned: Mapping[int, Result], tickets: Mapping[Who, Result], task: Task, seeds: tuple[int, ...]
    ) -> None:
        self._task, self._seeds = task, seeds
        found: dict[tuple[str, str, str], dict[int, np.ndarray]] = {
            _FULL: {seed: task.moments(result.arrays["outputs"]) for seed, result in tuned.items()}
        }
        self._sizes: dict[tuple[str, str], list[list[float]]] = {}
        for who, ticket in tickets.items():
            for stage in ("pruned", "retrained"):
                if stage in ticket.arrays:
                    of_arm = found.setdefault((who.method, who.arm, stage), {})
                    of_arm[who.seed] = task.moments(ticket.arrays[stage])
            size = [ticket[key].value for key in ("left", "shared")]
            self._sizes.setdefault((who.method, who.arm), []).append(size)
        self.keys = list(found)
        self._place = {key: at for at, key in enumerate(found)}
        self._runs = np.stack([[found[key][seed] for seed in seeds] for key in self.keys])  # [arm, seed, n, k]
        self._draws = seed_draws(task.value, self._runs)  # [1 + repeats, arm]; of one seed, over examples alone

    def table(self) -> pd.DataFrame:
        """One row per arm and stage: the mean over seeds, and how far it is from the full model."""
        each = self._task.value(self._runs.mean(2))  # [arm, seed]
        low, high = percentile_interval_over_runs(self._draws, len(self._seeds))
        apart = self._draws - self._draws[:, [self._place[_FULL]]]
        apart_low, apart_high = percentile_interval_over_runs(apart, len(self._seeds))
        sd = each.std(1, ddof=1) if len(self._seeds) > 1 else np.full(len(each), np.nan)
        method, arm, stage = (np.array(column) for column in zip(*self.keys, strict=True))
        left, shared = np.array([np.mean(self._sizes.get(key[:2], [[1.0, 1.0]]), 0) for key in self.keys]).T
        table = pd.DataFrame(
            {
                "method": method, "arm": arm, "stage": stage, "score": self._draws[0], "sd": sd, "low": low,
                "high": high, "minus_full": apart[0], "minus_full_low": apart_low, "minus_full_high": apart_high,
                "left": left, "shared": shared, "runs": len(self._seeds),
            }
        )  # fmt: skip
        majority = {"method": "", "arm": "majority", "stage": "", "score": self._task.chance()}
        return pd.concat([table[:1], pd.DataFrame([majority]), table[1:]], ignore_index=True)

    def comparisons(self) -> pd.DataFrame:
        """Pairs of subnetworks of equal size, on the same seeds and examples."""
        place = self._place
        pairs = [
            (method, one, other, stage)
            for method in dict.fromkeys(key[0] for key in self.keys if key[0])
            for stage in ("pruned", "retrained")
            for one, other in _PAIRS
            if (method, one, stage) in place and (method, other, stage) in place
        ]
        apart = np.stack(
            [
                self._draws[:, place[method, one, stage]] - self._draws[:, place[method, other, stage]]
                for method, one, other, stage in pairs
            ],
            axis=1,
        )
        low, high = percentile_interval_over_runs(apart, len(self._seeds))
        table = pd.DataFrame(pairs, columns=["method", "arm", "against", "stage"])
        return table.assign(difference=apart[0], low=low, high=high, runs=len(self._seeds))

    def scores(self) -> pd.DataFrame:
        """Every single training."""
        each = self._task.value(self._runs.mean(2))
        return pd.DataFrame(
            {"method": method, "arm": arm, "stage": stage, "seed": seed, "score": float(each[at, run])}
            for at, (method, arm, stage) in enumerate(self.keys)
            for run, seed in enumerate(self._seeds)
        )


def _hans(tickets: Mapping[Who, Result], seeds: tuple[int, ...]) -> pd.DataFrame:
    """Accuracy on each half of HANS: the mean over seeds, with an interval where there are enough of them."""
    found: dict[tuple[str, str, str], dict[int, np.ndarray]] = {}
    for who, ticket in tickets.items():
        for stage in ("full", "pruned", "retrained"):
            if f"hans_{stage}" in ticket.arrays:
                key = (who.method, "full" if stage == "full" else who.arm, stage)
                found.setdefault(key, {})[who.seed] = ticket.arrays[f"hans_{stage}"]
    runs = np.stack([[of_seed[seed] for seed in seeds] for of_seed in found.values()])  # [arm, seed, n]: right or not
    gold = next(iter(tickets.values())).arrays["hans_labels"]  # the same of each
    rows = []
    for place, label in enumerate(HANS):
        draws = seed_draws(lambda means: means[..., 0], runs[:, :, gold == place, None].astype(float))
        low, high = percentile_interval_over_runs(draws, len(seeds))
        for at, (method, arm, stage) in enumerate(found):
            name = "full" if arm == "full" else f"{arm}_{stage}"
            rows.append(
                {"method": method, "subnetwork": name, "label": label, "accuracy": draws[0, at], "low": low[at],
                 "high": high[at], "runs": len(seeds)}
            )  # fmt: skip
    return pd.DataFrame(rows)


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
            rows.append(
                {"method": method, "parts": name, "of": of_kind.shape[1], "survive": of_kind.sum(1).mean(),
                 "survive_sd": of_kind.sum(1).std(ddof=1) if len(votes) > 1 else np.nan,
                 "in_every_seed": int(of_kind.all(0).sum()), "in_no_seed": int((~of_kind.any(0)).sum()),
                 "kappa": fleiss_kappa(of_kind), "cochran_q": q, "cochran_p": p, "jaccard": overlap,
                 "jaccard_by_chance": by_chance}
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


def _classes(pruned: Mapping[int, Result], shapes: Sequence[Result]) -> pd.DataFrame:
    """The commonest pattern of each head, among all heads and among the survivors; heads of all seeds together."""
    rows = []
    for shape in shapes:
        parts = pruned[_seed(shape)].tables["survivors"]
        survive = parts[parts["kind"] == "head"][["layer", "head", "survives"]]
        heads = shape.tables["heads"][["layer", "head", "class"]]
        attention = "norm_weighted" if "attention" in shape.subject else "raw"
        rows.append(heads.merge(survive, on=["layer", "head"]).assign(attention=attention))
    everyone = pd.concat(rows)
    groups = {"all_heads": everyone, "survivors": everyone[everyone["survives"]]}
    counted = pd.concat([table.assign(of=name) for name, table in groups.items()])
    counted["class"] = pd.Categorical(counted["class"], CLASSES)  # every one, in the order and colours of `patterns`
    sizes = counted.groupby(["attention", "of", "class"], observed=False).size().rename("heads").reset_index()
    sizes = sizes.sort_values("attention", ascending=False, kind="stable").astype({"class": str})  # raw first
    return sizes.assign(share=sizes["heads"] / sizes.groupby(["attention", "of"])["heads"].transform("sum"))
