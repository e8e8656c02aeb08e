"""What `redundancy` draws: a map of the heads, pairs that were switched off, and layers beside layers."""

from __future__ import annotations

import pandas as pd

from bertscope.core.figure import Figure

_LABELS = {"divergence": "divergence (bits)", "cka": "CKA", "other": "layer", "low": "from", "high": "to"}
_COLOURS = {
    "cluster": "Colours are clusters, found on the full distances by average linkage.",
    "layer": "Dots of one colour are the heads of one layer: do they lie together?",
}


def redundancy_figures(tables: dict[str, pd.DataFrame], captions: dict[str, str]) -> list[Figure]:
    """`captions` says by checkpoint how far its map can be trusted."""
    pairs = tables.get("pairs", pd.DataFrame())
    switched = set(pairs.dropna(subset="interaction")["checkpoint"]) if "interaction" in pairs else set()
    several = len(captions) > 1
    figures = []
    for name, stress in captions.items():
        of = f" of {name}" if several else ""
        figures += [_map(name, of, stress, color, meaning) for color, meaning in _COLOURS.items()]
        if name in switched:
            figures.append(_switched_off(name, of))
    return [*figures, *_grids("checkpoint" if several else None)]


def _map(checkpoint: str, of: str, stress: str, color: str, meaning: str) -> Figure:
    return Figure(
        "points", "heads", x="x", y="y", color=color, where={"checkpoint": checkpoint},
        title=f"A map of the heads{of}, by {color}",
        caption="Each dot is a head; heads that attend to the same tokens lie together (classical scaling of "
        f"the root of the Jensen-Shannon divergence). {stress} {meaning}",
        labels=_LABELS | {"x": "", "y": ""},
    )  # fmt: skip


def _switched_off(checkpoint: str, of: str) -> Figure:
    return Figure(
        "intervals", "pairs", x="interaction", y="pair", color="kind", low="low", high="high",
        where={"checkpoint": checkpoint}, title=f"Pairs of heads switched off{of}", middle=0.0,
        caption="What switching off both costs beyond what each costs alone, for the most similar pairs "
        "and for random pairs of the same layers, with 95% paired bootstrap intervals. Below 0, one head "
        "does what the other could.",
        labels=_LABELS | {"interaction": "change of the score beyond the sum"},
    )  # fmt: skip


def _grids(facet: str | None) -> list[Figure]:
    said = {
        "divergence": "The mean Jensen-Shannon divergence between the attention of a head of one layer and a head of "
        "the other: 0 bits for heads that attend alike, 1 for heads that attend to entirely different tokens.",
        "cka": "The mean linear CKA between the outputs of a head of one layer and a head of the other: 1 for "
        "outputs that are rotations of each other.",
    }
    return [
        Figure(
            "heatmap", "layers", x="other", y="layer", value=measure, facet=facet,
            low="low" if measure == "divergence" else None, high="high" if measure == "divergence" else None,
            title=title, caption=said[measure], labels=_LABELS,
        )
        for measure, title in (("divergence", "Divergence between layers' heads"), ("cka", "CKA of heads' outputs"))
    ]  # fmt: skip
