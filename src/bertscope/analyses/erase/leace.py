"""Erasing a concept from vectors, by the closed form of Belrose et al. 2023 (LEACE).

Of all affine maps after which no linear classifier can tell the concept better than a constant, the one that changes
the vectors least: r(x) = x - W^+ P W (x - mean), where W = Sigma_xx^(-1/2) whitens the vectors and P projects
orthogonally on the columns of W Sigma_xz, z being the concept as one-hot vectors.

Where only some vectors have the concept (names have a gender, other words none), Sigma_xz is theirs, and mean and
Sigma_xx are those of all: the concept is then gone from those that had it, and all together are changed least. The
map meets all of them, and one that knew only some would move the others at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

# Of the largest variance. LayerNorm leaves one direction without any: rounding makes it about 1e-14 of the largest,
# while the smallest real ones are some 1e-6 of it.
_NOTHING = 1e-10
_NO_CORRELATION = 1e-6  # of the largest


@dataclass(frozen=True, eq=False)
class Eraser:
    """x - out into (x - mean), float64."""

    mean: np.ndarray
    out: np.ndarray
    """[dim, rank]: W^+ U, U being an orthonormal basis of what is erased of the whitened vectors."""
    into: np.ndarray
    """[rank, dim]: U' W."""
    moved: float
    """The share of the vectors' variance that is taken away: E|r(x) - x|^2 / E|x - mean|^2."""

    @property
    def rank(self) -> int:
        return len(self.into)

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return vectors - ((vectors - self.mean) @ self.into.T) @ self.out.T

    def on(self, device: torch.device | str) -> _Erasing:
        """The same for a model's float32 tensors."""
        arrays = (torch.from_numpy(array).float().to(device) for array in (self.mean, self.out, self.into))
        return _Erasing(*arrays)


@dataclass(frozen=True, eq=False)
class _Erasing:
    mean: Tensor
    out: Tensor
    into: Tensor

    def __call__(self, states: Tensor) -> Tensor:
        return states - ((states - self.mean) @ self.into.T) @ self.out.T


class Whitened:
    """All vectors [n, dim], seen in the directions of their variance; what hasn't any is left out."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._mean = vectors.mean(0, dtype=np.float64)
        centred = vectors - self._mean
        variance, directions = np.linalg.eigh(centred.T @ centred / len(vectors))
        real = variance > _NOTHING * variance[-1]
        self._deviation, self._directions = np.sqrt(variance[real]), directions[:, real]

    def leace(self, vectors: np.ndarray, labels: np.ndarray) -> Eraser:
        """Erase which of the labels [some] these of the vectors [some, dim] have."""
        concept = np.eye(labels.max() + 1)[labels]
        covariance = (vectors - vectors.mean(0, dtype=np.float64)).T @ (concept - concept.mean(0)) / len(labels)
        basis, strength, _ = np.linalg.svd(
            self._directions.T @ covariance / self._deviation[:, None], full_matrices=False
        )
        return self._eraser(basis[:, strength > _NO_CORRELATION * strength.max()])

    def random(self, rank: int, generator: np.random.Generator, *, moved: float = 0.0) -> Eraser:
        """Erase a random subspace of that rank in the same way: LEACE's formula with another P.

        moved   the share of the variance that it should take on average, where more than a random subspace's: it then
                lies in so many of the largest directions as have it
        """
        variance = self._deviation[::-1] ** 2  # the largest first
        taken = rank * np.cumsum(variance) / np.arange(1, len(variance) + 1) / variance.sum()
        width = max(rank, int((taken >= moved).sum()))
        basis = np.zeros((len(variance), rank))
        basis[len(variance) - width :] = np.linalg.qr(generator.normal(size=(width, rank)))[0]
        return self._eraser(basis)

    def _eraser(self, basis: np.ndarray) -> Eraser:
        out = self._directions @ (self._deviation[:, None] * basis)
        into = (basis / self._deviation[:, None]).T @ self._directions.T
        return Eraser(self._mean, out, into, float((out**2).sum() / (self._deviation**2).sum()))
