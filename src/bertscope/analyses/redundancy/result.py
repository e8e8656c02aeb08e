"""The answer of `redundancy`, made of what its reader found of each checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.redundancy.clusters import Clusters, clusters, plane
from bertscope.analyses.redundancy.figures import redundancy_figures
from bertscope.analyses.redundancy.interactions import Pair, interactions, random_partners, together
from bertscope.analyses.redundancy.reader import MapsApart
from bertscope.analyses.tables import tidy
from bertscope.core.errors import UserError
from bertscope.core.resampling import drawn_number, interval
from bertscope.core.result import Number, Result
from bertscope.core.units import Unit, every

if TYPE_CHECKING:
    from bertscope.analyses.redundancy.question import RedundancyConfig
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.observe import Passed


@dataclass(frozen=True)
class Compared:
    """One checkpoint and what was found of its heads."""

    name: str
    encoder: Encoder
    maps: MapsApart
    alike: np.ndarray
    """CKA of the heads' outputs [head, head]."""
    tokens: int
    """How many tokens that rests on."""

    @cached_property
    def divergence(self) -> np.ndarray:
        return self.maps.divergence

    @cached_property
    def units(self) -> list[Unit]:
        return every("head", self.encoder.head_counts)

    @cached_property
    def heads(self) -> np.ndarray:
        """[head, layer]: 1 where the head is the layer's."""
        return np.repeat(np.eye(self.encoder.n_layers), self.encoder.head_counts, axis=0)

    def by_layer(self, values: np.ndarray) -> np.ndarray:
        """[layer, layer]: the mean of values [head, head] over pairs of different heads; NaN where there are none."""
        known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
        sums = self.heads.T @ np.where(known, values, 0.0) @ self.heads
        counts = self.heads.T @ known.astype(float) @ self.heads
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    @cached_property
    def pair_counts(self) -> np.ndarray:
        """[layer, layer]: pairs of different heads, the order counting."""
        counts = np.array(self.encoder.head_counts, dtype=float)
        return np.outer(counts, counts) - np.diag(counts)


def redundancy_result(
    compared: list[Compared], task: Task | None, config: RedundancyConfig, passed: Passed
) -> Result:
    tables: dict[str, list[pd.DataFrame]] = {"heads": [], "layers": [], "pairs": [], "together": []}
    headline: list[Number] = []
    notes: list[str] = []
    captions: dict[str, str] = {}
    for one in compared:
        which = f", {one.name}" if len(compared) > 1 else ""
        distances = np.sqrt(one.divergence)
        groups = clusters(distances, config.clusters)
        places, stress = plane(distances)
        captions[one.name] = f"The plane distorts the distances by {stress:.0%} (Kruskal's stress)."
        found, more, said = _pairs(one, task, config)
        sets, of_sets = _together(one, task, config)
        made = {
            "heads": _heads_table(one, groups, places), "layers": _layers_table(one), "pairs": found,
            "together": sets,
        }  # fmt: skip
        for table, rows in made.items():
            tables[table].append(rows.assign(checkpoint=one.name))
        numbers = [*_apart(one, passed.examples), *_alike(one), *_grouped(groups), *more, *of_sets]
        headline += [Number(f"{n.name}{which}", n.value, n.low, n.high, n.n, n.unit) for n in numbers]
        notes += [f"{note}{which}" for note in [*said, *_caution(one)]]
    notes += read_notes(passed)
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items() if any(map(len, parts))}
    return Result(
        "redundancy",
        1,
        tables=whole,
        arrays={
            f"{measure} of {one.name}": matrix
            for one in compared
            for measure, matrix in (("divergence", one.divergence), ("cka", one.alike))
        },
        headline=headline,
        figures=redundancy_figures(whole, captions),
        subject={"model": " and ".join(one.name for one in compared)}
        | ({"attention": "norm-weighted"} if config.weighted else {}),
        notes=notes,
    )


def _layers_table(one: Compared) -> pd.DataFrame:
    """A row for each two layers: the mean divergence and CKA between a head of the one and a head of the other."""
    counts = one.pair_counts
    draws = np.divide(one.maps.draws, counts, out=np.full_like(one.maps.draws, np.nan), where=counts > 0)
    low, high = interval(draws)
    numbers = [unit.layer for unit in every("layer", one.encoder.head_counts)]
    return tidy(
        {"layer": numbers, "other": numbers},
        divergence=draws[0], low=low, high=high, cka=one.by_layer(one.alike),
    )  # fmt: skip


def _heads_table(one: Compared, groups: Clusters, places: np.ndarray) -> pd.DataFrame:
    apart = one.divergence + np.diag(np.full(len(one.units), np.inf))
    nearest = apart.argmin(1)
    return pd.DataFrame(
        {
            "unit": [str(unit) for unit in one.units],
            "layer": [unit.layer for unit in one.units],
            "head": [unit.number for unit in one.units],
            "cluster": groups.number,
            "x": places[:, 0],
            "y": places[:, 1],
            "divergence": one.divergence.sum(1) / (len(one.units) - 1),
            "nearest": [str(one.units[at]) for at in nearest],
            "nearest_divergence": apart.min(1),
            "nearest_cka": one.alike[np.arange(len(nearest)), nearest],
        }
    )


def _pairs(
    one: Compared, task: Task | None, config: RedundancyConfig
) -> tuple[pd.DataFrame, list[Number], list[str]]:
    """The most similar pairs and their random partners; what they do together, where that can be scored."""
    rows, columns = np.triu_indices(len(one.units), 1)
    nearest = np.argsort(one.divergence[rows, columns], kind="stable")[: config.pairs]
    similar: list[Pair] = [(one.units[rows[at]], one.units[columns[at]]) for at in nearest]
    chosen = [*similar, *random_partners(similar, one.encoder.head_counts, config.seed)]
    place = {unit: at for at, unit in enumerate(one.units)}
    at = tuple(np.array([[place[unit] for unit in pair] for pair in chosen], dtype=int).reshape(-1, 2).T)
    table = pd.DataFrame(
        {
            "kind": ["similar"] * len(similar) + ["random"] * (len(chosen) - len(similar)),
            "pair": [f"{pair[0]} + {pair[1]}" for pair in chosen],
            "divergence": one.divergence[at],
            "divergence_error": one.maps.error[at],
            "cka": one.alike[at],
        }
    )
    if task is None or not chosen:
        return table, [], []
    try:
        found = interactions(
            one.encoder, task, chosen, mode=config.mode, repeats=config.repeats, seed=config.seed
        )  # fmt: skip
    except UserError as reason:  # heads can be compared on any texts; only this part needs a classifier for the task
        return table, [], [f"no pairs were switched off: {reason}"]
    low, high = interval(found.draws)
    table = table.assign(
        without_one=found.one, without_other=found.other, without_both=found.both,
        interaction=found.draws[0], low=low, high=high,
    )  # fmt: skip
    means = {kind: found.draws[:, table["kind"] == kind].mean(1) for kind in table["kind"].unique()}
    n = len(task.test)
    numbers = [drawn_number(f"interaction of {kind} pairs", draws, n, task.metric) for kind, draws in means.items()]
    if len(means) == 2:
        apart = means["similar"] - means["random"]
        numbers.append(drawn_number("interaction, similar minus random", apart, n, task.metric))
    return table, numbers, []


def _together(one: Compared, task: Task | None, config: RedundancyConfig) -> tuple[pd.DataFrame, list[Number]]:
    """The named heads off together, beside random sets of the same layers."""
    if not config.together or task is None:
        return pd.DataFrame(), []
    found = together(one.encoder, task, config.together, seed=config.seed, mode=config.mode, repeats=config.repeats)
    kinds = ["named", *["random"] * len(found.random)]
    table = pd.DataFrame({"set": kinds, "effect": [found.effect, *found.random]})
    n, sets = len(task.test), len(found.random)
    return table, [
        Number("named heads off together", found.effect, found.low, found.high, n, f"change of {task.metric}"),
        Number(
            "random heads off together, mean", float(found.random.mean()), n=sets, unit=f"change of {task.metric}"
        ),
        Number("p that random heads cost as much", found.p, n=sets, unit="p"),
    ]


def _apart(one: Compared, n: int) -> list[Number]:
    draws, counts = one.maps.draws, one.pair_counts
    same = np.eye(len(counts), dtype=bool)
    numbers = [drawn_number("divergence", draws.sum((1, 2)) / counts.sum(), n, "bits")]
    if counts[same].sum() and counts[~same].sum():
        within, between = (draws[:, where].sum(1) / counts[where].sum() for where in (same, ~same))
        numbers += [
            drawn_number("divergence within a layer", within, n, "bits"),
            drawn_number("divergence between layers", between, n, "bits"),
            drawn_number("between minus within", between - within, n, "bits"),
        ]
    return numbers


def _alike(one: Compared) -> list[Number]:
    rows, columns = np.tril_indices(len(one.alike), -1)
    alike = one.alike[rows, columns]
    layer = one.heads.argmax(1)
    same = layer[rows] == layer[columns]
    return [
        Number(f"CKA {where}", float(np.nanmean(alike[which])), n=one.tokens, unit="CKA")
        for where, which in (("within a layer", same), ("between layers", ~same))
        if not np.isnan(alike[which]).all()
    ]


def _grouped(groups: Clusters) -> list[Number]:
    return [
        Number("clusters of heads", float(groups.count), n=len(groups.number)),
        Number("silhouette", groups.silhouette, n=len(groups.number), unit="silhouette"),
    ]


def _caution(one: Compared) -> list[str]:
    chance = min(1.0, one.encoder.head_size / max(1, one.tokens))
    return [f"outputs of unrelated heads have a CKA of up to {chance:.3f} on {one.tokens} tokens"]
