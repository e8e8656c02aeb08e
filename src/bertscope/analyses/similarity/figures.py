"""The pictures of `similarity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.analyses.similarity.sample import CKA, PLAIN, RSA
from bertscope.core.figure import Figure

if TYPE_CHECKING:
    import pandas as pd

_LABELS = {
    "value": "similarity", "other_layer": "layer", "n": "words", "series": "", "measure": "", "low": "from",
    "high": "to",
}  # fmt: skip
_SAID = {
    RSA: "RSA correlates the cosines between all sampled words in one with those in the other; 1 is no change.",
    CKA: "CKA compares the vectors themselves, up to rotation and scale; 1 is no change.",
    PLAIN: "The plain cosine of a word's two vectors falls with any rotation of the space, which loses nothing.",
}
_BAND = "Bands are 95% intervals by leaving groups of texts out."


def similarity_figures(tables: dict[str, pd.DataFrame], checkpoints: list[str], pairs: str) -> list[Figure]:
    figures = [_by_layer(tables["layers"], checkpoints, pairs)]
    if "grid" in tables:
        figures += [_grid(tables["grid"], measure) for measure in (RSA, CKA)]
    return [*figures, _settling()]


def _by_layer(table: pd.DataFrame, checkpoints: list[str], pairs: str) -> Figure:
    alone = table["series"].nunique() == 1
    said = [_SAID[measure] for measure in table["measure"].unique()]
    if len(checkpoints) > 2 and pairs == "first":
        said.insert(0, f"Each checkpoint beside {checkpoints[0]}.")
    return Figure(
        "lines", "layers", x="layer", y="value", low="low", high="high",
        color="measure" if alone else "series", facet=None if alone else "measure",
        title="Similarity by layer" if len(checkpoints) > 1 else "Similarity of each layer with the one below",
        caption=" ".join([*said, _BAND]), labels=_LABELS,
    )  # fmt: skip


def _grid(table: pd.DataFrame, measure: str) -> Figure:
    several = table["pair"].nunique() > 1
    order = " Rows are layers of the checkpoint named first, columns of the second." if several else ""
    return Figure(
        "heatmap", "grid", x="other_layer", y="layer", value="value", low="low", high="high",
        facet="pair" if several else None, where={"measure": measure}, title=f"{measure} of every two layers",
        caption=f"{_SAID[measure]} Layer 0 is the embedding output.{order}", labels=_LABELS | {"value": measure},
    )  # fmt: skip


def _settling() -> Figure:
    return Figure(
        "lines", "by_words", x="n", y="value", low="low", high="high", color="layer", facet="panel", log_x=True,
        title="As more words are taken",
        caption="The same measure from parts of the sample, each holding the one before. Where a line is flat, more "
        "words would change nothing. CKA of few words is too high: with as few as dimensions, any two spaces look "
        f"alike. {_BAND}",
        labels=_LABELS,
    )  # fmt: skip
