"""The answer of `project`: where each token is in each layer, and how much of the layer the plane shows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bertscope.analyses.project.projection import Projected, by_umap, jointly, layer_by_layer
from bertscope.analyses.project.question import ProjectConfig
from bertscope.analyses.project.reader import Sentence
from bertscope.analyses.tables import tidy
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result

_LABELS = {"x": "first axis of the plane", "y": "second axis", "kind": "token", "explained": "share of the variance"}
_HOW = {
    "pca": "Each layer's first two principal components, made equally large and turned onto the layer below, so that "
    "the picture moves no more than it must: directions mean nothing, distances within a layer do.",
    "joint": "The first two principal components of the tokens of all layers together: one plane for all.",
    "umap": "UMAP of the tokens of all layers together: neighbours mean something, distances little.",
}


def make_result(sentence: Sentence, names: Sequence[str], config: ProjectConfig) -> Result:
    pictures = dict(zip(names, _pictures(sentence, config), strict=True))
    points = [_points(sentence, picture).assign(checkpoint=name) for name, picture in pictures.items()]
    tables = {"points": pd.concat(points, ignore_index=True)}
    headline = [Number("tokens", float(len(sentence.tokens)))]
    shares = [
        pd.DataFrame({"checkpoint": name, "layer": range(len(shares)), "first": shares[:, 0], "second": shares[:, 1]})
        for name, shares in ((name, picture.explained) for name, picture in pictures.items())
        if shares is not None
    ]
    if shares:
        layers = pd.concat(shares, ignore_index=True)
        tables["layers"] = layers.assign(explained=layers["first"] + layers["second"])
        of_last = tables["layers"].query("checkpoint == @names[-1]")["explained"].to_numpy()
        least = int(of_last.argmin())
        headline = [
            Number("explained variance", float(of_last[-1]), n=len(sentence.tokens), unit="share in the last layer"),
            Number(f"least explained, layer {least}", float(of_last[least]), unit="share"),
            *headline,
        ]
    return Result("project", 1, tables=tables, headline=headline, figures=_figures(tables, names, config))


def _pictures(sentence: Sentence, config: ProjectConfig) -> list[Projected]:
    """Each checkpoint's picture; later ones are turned onto the first."""
    if config.method == "umap":
        return [by_umap(states, config.seed) for states in sentence.states]
    lay = layer_by_layer if config.method == "pca" else jointly
    pictures: list[Projected] = []
    for states in sentence.states:
        pictures.append(lay(states, pictures[0].points[0] if pictures else None))
    return pictures


def _points(sentence: Sentence, picture: Projected) -> pd.DataFrame:
    layers, tokens = picture.points.shape[:2]
    points = tidy(
        {"layer": range(layers), "position": range(1, tokens + 1)}, x=picture.points[..., 0], y=picture.points[..., 1]
    )
    return points.assign(token=sentence.tokens * layers, kind=sentence.kinds * layers)


def _figures(tables: dict[str, pd.DataFrame], names: Sequence[str], config: ProjectConfig) -> list[Figure]:
    figures = [
        Figure(
            "points", "points", x="x", y="y", color="kind", token="token", step="layer", path="position",
            facet="checkpoint" if len(names) > 1 else None, title="Tokens, layer by layer",
            caption=f"{_HOW[config.method]} Layer 0 is the output of the embeddings. The slider under the picture "
            "goes from layer to layer; a faint line leads to each token from where it was one layer below.",
            labels=_LABELS,
        )
    ]  # fmt: skip
    if "layers" in tables:
        figures.append(
            Figure(
                "lines", "layers", x="layer", y="explained", color="checkpoint", title="How much the plane shows",
                caption="The share of the variance of a layer's tokens that lies in the plane. Where it is low, "
                "tokens that look close may be far apart.",
                labels=_LABELS,
            )
        )  # fmt: skip
    return figures
