"""The pictures of `geometry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.analyses.geometry.layer import ALIGNMENT, INTRINSIC, RANK, UNIFORMITY
from bertscope.analyses.geometry.space import AS_IT_IS
from bertscope.core.figure import Figure

if TYPE_CHECKING:
    import pandas as pd

_LABELS = {"checkpoint": "", "form": "", "kind": "", "word": "", "low": "from", "high": "to"}
_BAND = "Bands are 95% intervals by leaving groups of texts out."
_MEASURES = (
    "Baseline: the mean cosine of two random words; 0 where words point everywhere, 1 where all point one way. The "
    "others are what is left beyond chance. SelfSim*: the mean cosine of two occurrences of a word, less the "
    "baseline; 0 where context decides everything. Intra-sentence*: the mean cosine of a word with its text, less "
    "the baseline. MEV*: how much of a word's occurrences one direction explains, less what it explains of random "
    "ones."
)
_DIMENSIONS = {
    RANK: "The exponential of the entropy of the covariance's eigenvalues: to how many equally strong directions the "
    "spread of the words amounts.",
    INTRINSIC: "TwoNN, from the distances of sampled words to their two nearest neighbours: how many dimensions the "
    "surface has on which they lie.",
}


def geometry_figures(tables: dict[str, pd.DataFrame], checkpoints: list[str], same: str) -> list[Figure]:
    figures = [
        Figure(
            "lines", "layers", x="layer", y="value", low="low", high="high", color="checkpoint", facet="measure",
            where={"form": AS_IT_IS}, title="The cone, and how contextual words are in it",
            caption=f"{_MEASURES} {_BAND}", labels=_LABELS | {"value": "cosine, or share"},
        )
    ]  # fmt: skip
    figures += [_mended(name, len(checkpoints) > 1) for name in checkpoints]
    figures += [_by_layer("dimensions", measure, said) for measure, said in _DIMENSIONS.items()]
    if "pairs" in tables:
        figures += _pairs(same)
    if len(tables.get("words", ())):
        figures += [_words(name, len(checkpoints) > 1) for name in checkpoints]
    return figures


def _mended(name: str, several: bool) -> Figure:
    return Figure(
        "lines", "layers", x="layer", y="value", low="low", high="high", color="form", facet="measure",
        where={"checkpoint": name}, title="After mending" + (f": {name}" if several else ""),
        caption="The same measures of the vectors as they are, without their mean and top directions, and with every "
        f"dimension brought to mean 0 and variance 1. {_BAND}",
        labels=_LABELS | {"value": "cosine, or share"},
    )  # fmt: skip


def _by_layer(table: str, measure: str, said: str) -> Figure:
    return Figure(
        "lines", table, x="layer", y="value", low="low", high="high", color="checkpoint", where={"measure": measure},
        title=measure.capitalize(), caption=f"{said} {_BAND}", labels=_LABELS | {"value": measure},
    )  # fmt: skip


def _pairs(same: str) -> list[Figure]:
    said = (
        "A text is the mean of its words, at length 1. The two texts of a pair are read together and see each other."
    )
    return [
        _by_layer("pairs", ALIGNMENT, f"The mean squared distance of {same}; low is close. {said}"),
        _by_layer(
            "pairs", UNIFORMITY,
            f"The logarithm of the mean of exp(-2 distance²) over all two texts; low is evenly spread. {said}",
        ),
    ]  # fmt: skip


def _words(name: str, several: bool) -> Figure:
    return Figure(
        "intervals", "words", x="value", y="word", low="low", high="high", color="kind", where={"checkpoint": name},
        title="Most and least contextual words" + (f": {name}" if several else ""),
        caption="SelfSim* in the last layer: the mean cosine of two occurrences of the word, less the baseline. The "
        "words with the lowest upper and the highest lower ends: bars are 95% intervals by leaving groups of texts "
        "out.",
        labels=_LABELS | {"value": "SelfSim*"},
    )  # fmt: skip
