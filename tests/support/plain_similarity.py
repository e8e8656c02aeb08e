"""RSA, CKA and Procrustes as they are defined, by whole matrices; and spaces to compare."""

from __future__ import annotations

import numpy as np
from scipy.linalg import orthogonal_procrustes


def upper_correlation(x, y):
    """RSA as it is defined: both matrices whole, in double precision."""
    x, y = (z.astype(float) / np.linalg.norm(z.astype(float), axis=1, keepdims=True) for z in (x, y))
    pairs = np.triu_indices(len(x), 1)
    return np.corrcoef((x @ x.T)[pairs], (y @ y.T)[pairs])[0, 1]


def gram_alignment(x, y):
    """CKA by n x n kernels and the centring matrix."""
    centring = np.eye(len(x)) - 1 / len(x)
    k, m = (centring @ (z.astype(float) @ z.astype(float).T) @ centring for z in (x, y))
    return (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())


def unbiased_alignment(x, y):
    """Debiased CKA by n x n kernels without their diagonals, as Song et al. (2012) write their estimate."""

    def hsic(k, m):
        n = len(k)
        middle = k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k @ m).sum()
        return (np.trace(k @ m) + middle) / (n * (n - 3))

    kernels = [z.astype(float) @ z.astype(float).T for z in (x, y)]
    k, m = (kernel - np.diag(np.diag(kernel)) for kernel in kernels)
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


def rotated_distance(x, y):
    """Procrustes' distance: both centred and of length 1, one turned by scipy onto the other."""
    x, y = (z.astype(float) - z.astype(float).mean(0) for z in (x, y))
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z / np.linalg.norm(z), ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    rotation, _ = orthogonal_procrustes(x, y)
    return np.square(x @ rotation - y).sum()


def two_spaces(mean=0.0, n=200, seed=0):
    """Related spaces of different width; with a large mean, both are narrow cones."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, 15)) + mean
    y = x @ generator.normal(size=(15, 9)) + generator.normal(size=(n, 9)) + mean
    return x.astype(np.float32), y.astype(np.float32)


def turned(space, seed=3):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(space.shape[1], space.shape[1])))
    return (space @ rotation).astype(np.float32)
