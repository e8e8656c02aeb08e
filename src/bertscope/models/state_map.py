"""An affine map from one model's last states to another's, fitted by ridge regression on other texts.

Texts are divided into groups, and each group's states are mapped by what the other groups give: sums over groups are
all that is kept of the states. The penalty is chosen, for each group anew, by how well the map that three of the
others give serves the fourth. So every group needs states that differ: two at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

GROUPS = 5
_PENALTIES = 10.0 ** np.arange(-8, 2)
"""As a share of the mean variance of the states."""
_LEAST = 2  # states of a group; fewer have no variance to explain
_ROUNDING = 1e-12  # of the mean square: a variance that is smaller is none


@dataclass(frozen=True)
class AffineMap:
    weight: np.ndarray
    """[from, to]"""
    bias: np.ndarray
    penalty: float
    explained: float
    """The share of the variance that it explains in states it wasn't fitted on; NaN where these are all alike."""

    def __call__(self, states: Tensor) -> Tensor:
        weight, bias = (torch.from_numpy(each).to(states) for each in (self.weight, self.bias))
        return states @ weight + bias


class StateSums:
    """Sums over states of both models, for each group of texts."""

    def __init__(self, width: int) -> None:
        self._n = np.zeros(GROUPS)
        self._sum = np.zeros((GROUPS, 2 * width))
        self._products = np.zeros((GROUPS, 2 * width, 2 * width))
        self._width = width

    def add(self, one: Tensor, other: Tensor, groups: np.ndarray) -> None:
        """Take in states [row, d] of both, each row of one group."""
        both = torch.cat([one, other], 1).double()
        for group in np.unique(groups):
            some = both[torch.from_numpy(np.flatnonzero(groups == group)).to(both.device)]
            self._n[group] += len(some)
            self._sum[group] += some.sum(0).cpu().numpy()
            self._products[group] += (some.T @ some).cpu().numpy()

    def maps(self) -> list[AffineMap] | None:
        """For each group the map that the others give; None where a group has too few states."""
        return None if (self._n < _LEAST).any() else [self._map(group) for group in range(GROUPS)]

    def _map(self, group: int) -> AffineMap:
        others = [one for one in range(GROUPS) if one != group]
        held = others[group % len(others)]
        errors = [self._error(*self._ridge([one for one in others if one != held], penalty), held)
                  for penalty in _PENALTIES]  # fmt: skip
        penalty = float(_PENALTIES[int(np.argmin(errors))])
        weight, bias = self._ridge(others, penalty)
        return AffineMap(weight, bias, penalty, self._explained(weight, bias, group))

    def _moments(self, groups: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The mean of both [2 d] and their covariance [2 d, 2 d]."""
        n = max(self._n[groups].sum(), 1.0)
        mean = self._sum[groups].sum(0) / n
        return mean, self._products[groups].sum(0) / n - np.outer(mean, mean)

    def _ridge(self, groups: list[int], penalty: float) -> tuple[np.ndarray, np.ndarray]:
        d = self._width
        mean, covariance = self._moments(groups)
        least = penalty * max(np.trace(covariance[:d, :d]) / d, np.finfo(float).tiny)
        weight = np.linalg.solve(covariance[:d, :d] + least * np.eye(d), covariance[:d, d:])
        return weight, mean[d:] - mean[:d] @ weight

    def _error(self, weight: np.ndarray, bias: np.ndarray, group: int) -> float:
        """The mean squared error there."""
        d = self._width
        mean, covariance = self._moments([group])
        off = mean[d:] - mean[:d] @ weight - bias
        both = np.concatenate([-weight, np.eye(d)])
        return float(np.einsum("ij,ik,kj->", both, covariance, both, optimize=True) + off @ off)

    def _explained(self, weight: np.ndarray, bias: np.ndarray, group: int) -> float:
        mean, covariance = self._moments([group])
        to, variance = mean[self._width :], np.trace(covariance[self._width :, self._width :])
        if variance <= _ROUNDING * (variance + to @ to):
            return math.nan
        return 1 - self._error(weight, bias, group) / float(variance)
