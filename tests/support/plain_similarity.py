"""RSA and CKA as they are defined, by whole matrices; and spaces to compare."""

from __future__ import annotations

import numpy as np


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


def two_spaces(mean=0.0, n=200, seed=0):
    """Related spaces of different width; with a large mean, both are narrow cones."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, 15)) + mean
    y = x @ generator.normal(size=(15, 9)) + generator.normal(size=(n, 9)) + mean
    return x.astype(np.float32), y.astype(np.float32)


def turned(space, seed=3):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(space.shape[1], space.shape[1])))
    return (space @ rotation).astype(np.float32)
