"""`lottery`: what all its trainings come to, with intervals over seeds and examples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

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
from bertscope.experiments.subnetworks import Subnetwork

_PAIRS = (
    ("good", "random"),
    ("good", "bad"),
    ("random", "bad"),
    ("good", "reinit"),
    ("super", "never"),
    ("super", "any"),
)
"""Subnetworks of the same size whose scores are compared."""


def measure(
    tuned: Sequence[Result],
    pruned: Sequence[Result],
    tickets: Sequence[Result],
    task: Task,
    config: LotteryConfig,
    shapes: Sequence[Result] = (),
) -> Result:
    arms = _Arms(tuned, tickets, task, config.seeds)
    survivors: dict[str, list[np.ndarray]] = {
        method: [Subnetwork.of(one).kept for one in pruned if one.subject["method"] == method]
        for method in config.methods
    }
    tables = {"arms": arms.table(), "comparisons": arms.comparisons(), "scores": arms.scores()}
    tables["steps"] = _steps(pruned, config)
    tables["agreement"] = _agreement(survivors, pruned)
    if len(config.seeds) > 1:
        tables["overlaps"] = _overlaps(survivors, config.seeds)
    if "s" in config.methods:
        tables["survivors"] = _survivors(pruned, config.seeds)
    if "m" in config.methods:
        tables["weights"] = _weights(pruned)
    if shapes:
        tables["classes"] = _classes(pruned, shapes)
    if any("hans labels" in ticket.arrays for ticket in tickets):
        tables["hans"] = _hans(tickets, config.seeds)
    masks = np.stack(survivors["s"]).astype(np.uint8) if "s" in survivors else None
    return lottery_result(tables, masks, tuned[0].subject["model"], task, config)


def _who(ticket: Result) -> dict[str, Any]:
    return {"method": ticket.subject["method"], "arm": ticket.subject["arm"], "seed": int(ticket.subject["seed"])}


class _Arms:
    """Every arm at every stage, and what each of its trainings says about the test set."""

    def __init__(
        self, tuned: Sequence[Result], tickets: Sequence[Result], task: Task, seeds: tuple[int, ...]
    ) -> None:
        self._task, self._seeds = task, seeds
        found: dict[tuple[str, str, str], dict[int, np.ndarray]] = {("", "full", "fine-tuned"): {}}
        for seed, result in zip(seeds, tuned, strict=True):
            found["", "full", "fine-tuned"][seed] = task.moments(result.arrays["outputs"])
        self._sizes: dict[tuple[str, str], list[list[float]]] = {}
        for ticket in tickets:
            who = _who(ticket)
            for stage in ("pruned", "retrained"):
                if stage in ticket.arrays:
                    of_arm = found.setdefault((who["method"], who["arm"], stage), {})
                    of_arm[who["seed"]] = task.moments(ticket.arrays[stage])
            size = [ticket.number(name).value for name in ("left", "shared")]
            self._sizes.setdefault((who["method"], who["arm"]), []).append(size)
        self.keys = list(found)
        self._runs = np.stack([[found[key][seed] for seed in seeds] for key in self.keys])  # [arm, seed, n, k]
        self._draws = seed_draws(task.value, self._runs)  # [1 + repeats, arm]; of one seed, over examples alone

    def table(self) -> pd.DataFrame:
        """One row per arm and stage: the mean over seeds, and how far it is from the full model."""
        each = self._task.value(self._runs.mean(2))  # [arm, seed]
        low, high = percentile_interval_over_runs(self._draws, len(self._seeds))
        apart = self._draws - self._draws[:, :1]
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
        place = {key: at for at, key in enumerate(self.keys)}
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


def _hans(tickets: Sequence[Result], seeds: tuple[int, ...]) -> pd.DataFrame:
    """Accuracy on each half of HANS: the mean over seeds, with an interval where there are enough of them."""
    found: dict[tuple[str, str, str], dict[int, np.ndarray]] = {}
    for ticket in tickets:
        who = _who(ticket)
        for stage in ("full", "pruned", "retrained"):
            if f"hans {stage}" in ticket.arrays:
                key = (who["method"], "full" if stage == "full" else who["arm"], stage)
                found.setdefault(key, {})[who["seed"]] = ticket.arrays[f"hans {stage}"]
    runs = np.stack([[of_seed[seed] for seed in seeds] for of_seed in found.values()])  # [arm, seed, n]: right or not
    gold = tickets[0].arrays["hans labels"]
    rows = []
    for place, label in enumerate(HANS):
        draws = seed_draws(lambda means: means[..., 0], runs[:, :, gold == place, None].astype(float))
        low, high = percentile_interval_over_runs(draws, len(seeds))
        for at, (method, arm, stage) in enumerate(found):
            name = "full model" if arm == "full" else f"{arm}, {stage}"
            rows.append(
                {"method": method, "subnetwork": name, "label": label, "accuracy": draws[0, at], "low": low[at],
                 "high": high[at], "runs": len(seeds)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _steps(pruned: Sequence[Result], config: LotteryConfig) -> pd.DataFrame:
    seeds = [seed for _ in config.methods for seed in config.seeds]
    return pd.concat(
        [
            one.tables["steps"].assign(method=one.subject["method"], seed=seed, run=f"seed {seed}")
            for seed, one in zip(seeds, pruned, strict=True)
        ],
        ignore_index=True,
    )


def _agreement(survivors: dict[str, list[np.ndarray]], pruned: Sequence[Result]) -> pd.DataFrame:
    """How many survive, and how much the seeds agree on which."""
    rows = []
    for method, masks in survivors.items():
        votes = np.stack(masks)
        parts = {"weights": np.ones(votes.shape[1], bool)}
        if method == "s":
            kind = next(one for one in pruned if "survivors" in one.tables).tables["survivors"]["kind"].to_numpy()
            parts = {"heads": kind == "head", "MLPs": kind == "mlp"}
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


def _overlaps(survivors: dict[str, list[np.ndarray]], seeds: tuple[int, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {"method": method, "seed": one, "other": other, "jaccard": jaccard(masks[i], masks[j])}
        for method, masks in survivors.items()
        for i, one in enumerate(seeds)
        for j, other in enumerate(seeds)
    )


def _survivors(pruned: Sequence[Result], seeds: Sequence[int]) -> pd.DataFrame:
    """With how many seeds each head and MLP survives, and with which."""
    tables = [one.tables["survivors"] for one in pruned if one.subject["method"] == "s"]
    survives = np.stack([table["survives"].to_numpy(bool) for table in tables])  # [seed, part]
    count, names = survives.sum(0), np.array([str(seed) for seed in seeds])
    which = [", ".join(names[at]) for at in survives.T]
    return tables[0].drop(columns="survives").assign(survived=count, share=count / len(tables), seeds=which)


def _weights(pruned: Sequence[Result]) -> pd.DataFrame:
    tables = [one.tables["weights"] for one in pruned if one.subject["method"] == "m"]
    return pd.concat(tables).groupby(["layer", "map"], sort=False)["share"].mean().reset_index()


def _classes(pruned: Sequence[Result], shapes: Sequence[Result]) -> pd.DataFrame:
    """The commonest pattern of each head, among all heads and among the survivors; heads of all seeds together."""
    masks = [one.tables["survivors"].query("kind == 'head'") for one in pruned if one.subject["method"] == "s"]
    rows = []
    for place, shape in enumerate(shapes):
        weighted = shape.subject.get("attention") == "norm-weighted"
        heads = shape.tables["heads"][["layer", "head", "class"]]
        joined = heads.merge(masks[place % len(masks)][["layer", "head", "survives"]], on=["layer", "head"])
        rows.append(joined.assign(attention="norm-weighted" if weighted else "raw"))
    everyone = pd.concat(rows)
    groups = {"all heads": everyone, "survivors": everyone[everyone["survives"]]}
    counted = pd.concat([table.assign(of=name) for name, table in groups.items()])
    counted["class"] = pd.Categorical(counted["class"], CLASSES)  # every one, in the order and colours of `patterns`
    sizes = counted.groupby(["attention", "of", "class"], observed=False).size().rename("heads").reset_index()
    sizes = sizes.sort_values("attention", ascending=False, kind="stable").astype({"class": str})  # raw first
    return sizes.assign(share=sizes["heads"] / sizes.groupby(["attention", "of"])["heads"].transform("sum"))
