"""A layer's vectors as `geometry` takes them: in parts, as they are or mended, with their mean and covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.geometry.words import Words
from bertscope.core.resampling import left_out
from bertscope.models.evaluating import best_device

AS_IT_IS, TOP_REMOVED, STANDARDISED = "as it is", "top directions removed", "standardised"


class LayerVectors:
    """One layer's vectors, brought to where they are measured in parts."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._device = best_device()

    def __getitem__(self, rows: slice | np.ndarray) -> Tensor:
        part = self._vectors[rows]
        return torch.from_numpy(part if part.flags.writeable else part.copy()).to(self._device)


@dataclass(frozen=True)
class Form:
    """What is done to vectors before they are measured."""

    mean: Tensor | None = None
    """Taken off."""
    removed: Tensor | None = None
    """[dimension, direction]: taken off too."""
    scale: Tensor | None = None

    def __call__(self, vectors: Tensor) -> Tensor:
        if self.mean is not None:
            vectors = vectors - self.mean
        if self.removed is not None:
            vectors = vectors - (vectors @ self.removed) @ self.removed.T
        return vectors if self.scale is None else vectors * self.scale


@dataclass(frozen=True)
class Moments:
    """The mean of a layer's vectors, and the spectrum of their covariance."""

    mean: Tensor
    deviation: Tensor
    directions: Tensor
    """[dimension, direction]: the covariance's eigenvectors, that of the largest eigenvalue first."""
    spectrum: np.ndarray
    """[1 + groups, direction]: the variance along them. Leaving a group out, the directions are kept: right to first
    order, as an eigenvalue doesn't feel a small turn of its direction."""

    def forms(self, top: int) -> dict[str, Form]:
        scale = torch.where(self.deviation > 0, 1 / self.deviation, 1.0)
        return {
            AS_IT_IS: Form(),
            TOP_REMOVED: Form(self.mean, removed=self.directions[:, :top]),
            STANDARDISED: Form(self.mean, scale=scale),
        }

    def effective_rank(self) -> np.ndarray:
        """The exponential of the entropy of the covariance's eigenvalues, as shares of their sum."""
        shares = self.spectrum.clip(0) / self.spectrum.clip(0).sum(1, keepdims=True)
        return np.exp(-(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(1))


def moments(vectors: LayerVectors, words: Words) -> Moments:
    n, groups = len(words.group), len(words.edges) - 1
    mean = torch.stack([vectors[begin:end].sum(0).double() for begin, end in words.blocks()]).sum(0) / n
    centre, dim = mean.float(), len(mean)
    sums, products = mean.new_zeros(groups, dim), mean.new_zeros(groups, dim, dim)
    for begin, end in words.blocks():
        centred, group = vectors[begin:end] - centre, words.group[begin]
        sums[group] += centred.sum(0).double()
        products[group] += (centred.T @ centred).double()
    _, directions = torch.linalg.eigh(products.sum(0) / n)
    directions = directions.flip(1)
    squares = left_out(((products @ directions) * directions).sum(1).cpu().numpy())
    along = left_out((sums @ directions).cpu().numpy())
    sizes = sizes_left(words)[:, None]
    deviation = (products.sum(0) / n).diagonal().sqrt()
    return Moments(centre, deviation.float(), directions.float(), squares / sizes - (along / sizes) ** 2)


def sizes_left(words: Words) -> np.ndarray:
    """How many words there are in all, and without each group."""
    return left_out(np.diff(words.edges).astype(np.float64))
