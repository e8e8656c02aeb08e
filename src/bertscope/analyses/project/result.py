"""The answer of `project`: where each token is in each layer, and how much of the layer the plane shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.analyses.project.question import ProjectConfig, project
from bertscope.analyses.tables import tidy
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result

_LABELS = {"x": "first axis of the plane", "y": "second axis", "kind": "token", "explained": "share of the variance"}
_HOW = {
    "pca": "Each layer's first two principal components, made equally large and turned onto the layer below, so that "
    "the picture moves no more than it must: directions mean nothing, distances within a layer do.",
    "joint": "The first two principal components of the tokens of all layers together: one plane for all.",
    "umap": "UMAP of the tokens of all layers together: neighbours mean something, distances little.",
}


@dataclass(frozen=True, eq=False)
class Sentence:
    tokens: list[str]
    kinds: list[str]
    """Of each token: a special one, of the text or, of a pair, of which text, or of an answer."""
    states: list[np.ndarray]
    """Of each encoder [layer, token, dim]."""


@dataclass(frozen=True, eq=False)
class Projected:
    """One checkpoint's picture."""

    points: np.ndarray
    """[layer, token, 2]"""
    explained: np.ndarray | None
    """[layer, 2]: the share of the layer's variance that lies along the two axes of the plane; None where a picture
    has none to speak of."""


def project_result(
    sentence: Sentence, pictures: Mapping[str, Projected], config: ProjectConfig, models: dict[str, ModelRecord],
    subject: dict[str, str], notes: list[str],
) -> Result:  # fmt: skip
    """`pictures` are by checkpoint."""
    last = list(pictures)[-1]
    points = [_points(sentence, picture).assign(checkpoint=name) for name, picture in pictures.items()]
    tables = {"points": pd.concat(points, ignore_index=True)}
    count = len(sentence.tokens)
    headline = [Number("tokens", float(count))]
    shares = [
        pd.DataFrame({"checkpoint": name, "layer": range(len(shares)), "first": shares[:, 0], "second": shares[:, 1]})
        for name, shares in ((name, picture.explained) for name, picture in pictures.items())
        if shares is not None
    ]
    if shares:
        layers = pd.concat(shares, ignore_index=True)
        tables["layers"] = layers.assign(explained=layers["first"] + layers["second"])
        of_last = tables["layers"].query("checkpoint == @last")["explained"].to_numpy()
        top, least = ({"model": last, "layer": str(layer)} for layer in (len(of_last) - 1, int(of_last.argmin())))
        headline = [
            Number("explained_variance", float(of_last[-1]), n=count, unit="share in the last layer", of=top),
            Number("least_explained", float(of_last.min()), unit="share", of=least),
            *headline,
        ]
    return project.result(
        tables=tables, headline=headline, figures=_figures(tables, len(pictures) > 1, config), models=models,
        subject=subject, notes=notes,
    )  # fmt: skip


def _points(sentence: Sentence, picture: Projected) -> pd.DataFrame:
    layers, tokens = picture.points.shape[:2]
    points = tidy(
        {"layer": range(layers), "position": range(1, tokens + 1)}, x=picture.points[..., 0], y=picture.points[..., 1]
    )
    return points.assign(token=sentence.tokens * layers, kind=sentence.kinds * layers)


def _figures(tables: dict[str, pd.DataFrame], several: bool, config: ProjectConfig) -> list[Figure]:
    figures = [
        Figure(
            "points", "points", key="points", x="x", y="y", color="kind", token="token", step="layer",
            path="position", facet="checkpoint" if several else None, title="Tokens, layer by layer",
            caption=f"{_HOW[config.method]} Layer 0 is the output of the embeddings. The slider under the picture "
            "goes from layer to layer; a faint line leads to each token from where it was one layer below.",
            labels=_LABELS,
        )
    ]  # fmt: skip
    if "layers" in tables:
        figures.append(
            Figure(
                "lines", "layers", key="layers", x="layer", y="explained", color="checkpoint",
                title="How much the plane shows",
                caption="The share of the variance of a layer's tokens that lies in the plane. Where it is low, "
                "tokens that look close may be far apart.",
                labels=_LABELS,
            )
        )  # fmt: skip
    return figures
