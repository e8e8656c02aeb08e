"""The answer of `redundancy`: what was found of each checkpoint's heads, and of those switched off together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.redundancy.off_together import (
    interaction_columns,
    null_findings,
    pairs_figure,
    reliability_notes,
    switched_numbers,
    together_table,
)
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.analyses.side_by_side import figure_key
from bertscope.analyses.tables import tidy
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.null_panel import TABLE, panel
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.units import every
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.redundancy.clusters import Clusters
    from bertscope.analyses.redundancy.compared import Compared
    from bertscope.data.task import Task
    from bertscope.models.observe import Passed

_LABELS = {"divergence": "divergence (bits)", "cka": "CKA", "other": "layer", "low": "from", "high": "to"}
_COLOURS = {
    "cluster": "Colours are clusters, found on the full distances by average linkage.",
    "layer": "Dots of one colour are the heads of one layer: do they lie together?",
}


def redundancy_result(
    compared: Sequence[Compared],
    task: Task | None,
    passed: Passed,
    config: RedundancyConfig,
    *,
    subject: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Result:
    """`task` is what pairs were scored on, `notes` are the data's."""
    tell = {"heads": _heads_table, "layers": _layers_table, "pairs": _pairs_table, "together": together_table}
    tables = {name: [table(one).assign(checkpoint=one.key) for one in compared] for name, table in tell.items()}
    models = {one.key: one.model for one in compared}
    names = model_names(models)
    headline: list[Number] = []
    notes = list(notes)
    for one in compared:
        numbers = [*_apart(one, passed.examples), *_alike(one), *_grouped(one.groups), *switched_numbers(one, task)]
        headline += [replace(number, of={**number.of, "model": one.key}) for number in numbers]
        which = f", {names[one.key]}" if len(compared) > 1 else ""
        notes += [f"{note}{which}" for note in [*one.notes, *_caution(one), *reliability_notes(one, task)]]
    shown = {name: pd.concat(each, ignore_index=True) for name, each in tables.items() if any(map(len, each))}
    if config.null and (nothing := null_findings(compared, config.seed)):
        shown[TABLE] = panel(nothing, ["checkpoint", "tests"])
    return redundancy.result(
        tables=shown,
        arrays={
            f"{measure}.{one.key}": matrix
            for one in compared
            for measure, matrix in (("divergence", one.divergence), ("cka", one.alike))
        },
        headline=headline,
        figures=_figures(compared, names),
        models=models,
        subject=dict(subject),
        notes=[*notes, *read_notes(passed)],
    )


def _layers_table(one: Compared) -> pd.DataFrame:
    """A row for each two layers: the mean divergence and CKA between a head of the one and a head of the other."""
    counts = one.pair_counts
    draws = np.divide(one.draws, counts, out=np.full_like(one.draws, np.nan), where=counts > 0)
    low, high = interval(draws)
    numbers = [unit.layer for unit in every("layer", one.head_counts)]
    return tidy(
        {"layer": numbers, "other": numbers},
        divergence=draws[0], low=low, high=high, cka=one.by_layer(one.alike),
    )  # fmt: skip


def _heads_table(one: Compared) -> pd.DataFrame:
    apart = one.divergence + np.diag(np.full(len(one.units), np.inf))
    nearest = apart.argmin(1)
    return pd.DataFrame(
        {
            "unit": [str(unit) for unit in one.units],
            "layer": [unit.layer for unit in one.units],
            "head": [unit.number for unit in one.units],
            "cluster": one.groups.number,
            "x": one.places[:, 0],
            "y": one.places[:, 1],
            "divergence": one.divergence.sum(1) / (len(one.units) - 1),
            "nearest": [str(one.units[at]) for at in nearest],
            "nearest_divergence": apart.min(1),
            "nearest_cka": one.alike[np.arange(len(nearest)), nearest],
        }
    )


def _pairs_table(one: Compared) -> pd.DataFrame:
    """The most similar pairs and their random partners; what they do together, where that was scored."""
    pairs = [*one.similar, *one.random]
    place = {unit: at for at, unit in enumerate(one.units)}
    at = tuple(np.array([[place[unit] for unit in pair] for pair in pairs], dtype=int).reshape(-1, 2).T)
    table = pd.DataFrame(
        {
            "kind": one.kinds,
            "pair": [f"{pair[0]} + {pair[1]}" for pair in pairs],
            "divergence": one.divergence[at],
            "divergence_error": one.error[at],
            "cka": one.alike[at],
        }
    )
    return table.assign(**(interaction_columns(one.interactions) if one.interactions else {}))


def _apart(one: Compared, n: int) -> list[Number]:
    draws, counts = one.draws, one.pair_counts
    same = np.eye(len(counts), dtype=bool)
    numbers = [drawn_number("divergence", draws.sum((1, 2)) / counts.sum(), n, "bits")]
    if counts[same].sum() and counts[~same].sum():
        within, between = (draws[:, where].sum(1) / counts[where].sum() for where in (same, ~same))
        numbers += [
            drawn_number("divergence_within_layers", within, n, "bits"),
            drawn_number("divergence_between_layers", between, n, "bits"),
            drawn_number("divergence_difference", between - within, n, "bits"),
        ]
    return numbers


def _alike(one: Compared) -> list[Number]:
    rows, columns = np.tril_indices(len(one.alike), -1)
    alike = one.alike[rows, columns]
    layer = one.heads.argmax(1)
    same = layer[rows] == layer[columns]
    return [
        Number(key, float(np.nanmean(alike[which])), n=one.tokens, unit="CKA")
        for key, which in (("cka_within_layers", same), ("cka_between_layers", ~same))
        if not np.isnan(alike[which]).all()
    ]


def _grouped(groups: Clusters) -> list[Number]:
    return [
        Number("clusters", float(groups.count), n=len(groups.number)),
        Number("silhouette", groups.silhouette, n=len(groups.number), unit="silhouette"),
    ]


def _caution(one: Compared) -> list[str]:
    chance = min(1.0, one.head_size / max(1, one.tokens))
    return [f"outputs of unrelated heads have a CKA of up to {chance:.3f} on {one.tokens} tokens"]


def _figures(compared: Sequence[Compared], names: Mapping[str, str]) -> list[Figure]:
    several = len(compared) > 1
    figures = []
    for one in compared:
        of = f" of {names[one.key]}" if several else ""
        figures += [
            _plane(one, figure_key(f"heads_by_{color}", one.key, names), of, color, meaning)
            for color, meaning in _COLOURS.items()
        ]
        if one.interactions is not None and not np.isnan(one.interactions.draws[0]).all():
            figures.append(pairs_figure(one, one.interactions, figure_key("pairs", one.key, names), of))
    return [*figures, *_grids("checkpoint" if several else None)]


def _plane(one: Compared, key: str, of: str, color: str, meaning: str) -> Figure:
    return Figure(
        "points", "heads", x="x", y="y", color=color, where={"checkpoint": one.key}, key=key,
        title=f"A map of the heads{of}, by {color}",
        caption="Each dot is a head; heads that attend to the same tokens lie together (classical scaling of "
        f"the root of the Jensen-Shannon divergence). The plane distorts the distances by {one.stress:.0%} "
        f"(Kruskal's stress). {meaning}",
        labels=_LABELS | {"x": "", "y": ""},
    )  # fmt: skip


def _grids(facet: str | None) -> list[Figure]:
    captions = {
        "divergence": "The mean Jensen-Shannon divergence between the attention of a head of one layer and a head of "
        "the other: 0 bits for heads that attend alike, 1 for heads that attend to entirely different tokens.",
        "cka": "The mean linear CKA between the outputs of a head of one layer and a head of the other: 1 for "
        "outputs that are rotations of each other.",
    }
    return [
        Figure(
            "heatmap", "layers", x="other", y="layer", value=measure, facet=facet,
            low="low" if measure == "divergence" else None, high="high" if measure == "divergence" else None,
            title=title, caption=captions[measure], labels=_LABELS, key=measure,
        )
        for measure, title in (("divergence", "Divergence between layers' heads"), ("cka", "CKA of heads' outputs"))
    ]  # fmt: skip
