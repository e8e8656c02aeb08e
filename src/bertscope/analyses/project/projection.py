"""A sentence's tokens in two dimensions, layer after layer, so that the picture moves no more than it must."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertscope.core.errors import UserError

_NEIGHBOURS = 15  # UMAP's own default


@dataclass(frozen=True, eq=False)
class Projected:
    """One checkpoint's picture."""

    points: np.ndarray
    """[layer, token, 2]"""
    explained: np.ndarray | None
    """[layer, 2]: the share of the layer's variance that lies along the two axes of the plane; None where a picture
    has none to speak of."""


def pca(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components of vectors [n, dim]: their axes [2, dim] and their shares of the variance.

    An axis points to where its farthest vector is.
    """
    centred = vectors - vectors.mean(0)
    _, strength, axes = np.linalg.svd(centred, full_matrices=False)
    axes, shares = axes[:2], strength[:2] ** 2 / max((strength**2).sum(), np.finfo(float).tiny)
    along = centred @ axes.T
    farthest = along[np.abs(along).argmax(0), np.arange(len(axes))]
    return axes * np.where(farthest < 0, -1, 1)[:, None], shares


def turn(points: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """The turn about the origin [2, 2], mirrored or not, after which points [n, 2] lie nearest to others
    (Procrustes)."""
    left, _, right = np.linalg.svd(points.T @ onto)
    return left @ right


def layer_by_layer(states: np.ndarray, like: np.ndarray | None = None) -> Projected:
    """PCA of each layer of states [layer, token, dim] by itself.

    Every layer's plane is made as large as the others (root mean square distance from the middle 1), and turned onto
    the layer below; the first onto `like` [token, 2], if that is given. So a component's share is of an axis as PCA
    finds it, before the turn.
    """
    points, explained, below = [], [], like
    for layer in states.astype(np.float64):
        axes, shares = pca(layer)
        found = (layer - layer.mean(0)) @ axes.T
        found = np.pad(found, [(0, 0), (0, 2 - len(axes))])  # a single vector has one axis
        size = np.sqrt((found**2).sum(1).mean())
        found /= size if size > 0 else 1.0
        below = found if below is None else found @ turn(found, below)
        points.append(below)
        explained.append(np.pad(shares, (0, 2 - len(shares))))
    return Projected(np.stack(points), np.stack(explained))


def jointly(states: np.ndarray, like: np.ndarray | None = None) -> Projected:
    """PCA of the tokens of all layers together: one plane, in which tokens also move with the middle of a layer.

    The shares are those of each layer's own variance that lies in the plane.
    """
    states = states.astype(np.float64)
    every = states.reshape(-1, states.shape[-1])
    axes, _ = pca(every)
    points = (states - every.mean(0)) @ axes.T
    inside = ((points - points.mean(1, keepdims=True)) ** 2).sum(1)
    whole = ((states - states.mean(1, keepdims=True)) ** 2).sum((1, 2))
    explained = np.divide(inside, whole[:, None], out=np.zeros_like(inside), where=whole[:, None] > 0)
    if like is not None:
        points = points @ turn(points[0], like)
    return Projected(points, explained)


def by_umap(states: np.ndarray, seed: int) -> Projected:
    """UMAP of the tokens of all layers together; distances in it mean little, neighbours more."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise UserError("UMAP isn't installed; pip install umap-learn, or choose --method pca") from error
    every = states.reshape(-1, states.shape[-1])
    found = UMAP(n_neighbors=min(_NEIGHBOURS, len(every) - 1), random_state=seed).fit_transform(every)
    return Projected(np.asarray(found, dtype=np.float64).reshape(*states.shape[:2], 2), None)
