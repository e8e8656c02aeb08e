"""The shape of an attention map as one would write it with NumPy, for one map of a single text: the shares of its
parts, and the numbers by which the classifiers tell its class. What they mean: `bertscope.analyses.shapes`."""

from __future__ import annotations

from functools import cache

import numpy as np

from bertscope.analyses.shapes.features import NAMES

BRIGHT, SOME = 8, 1e-6


def level(values: np.ndarray) -> np.ndarray:
    """What two thirds of the values along the first dimension reach."""
    return np.sort(values, 0)[(len(values) - 1) // 3]


def shares(a: np.ndarray) -> np.ndarray:
    """Of the map's mass: in columns, in the band, in the block, in the rest."""
    n, common = len(a), level(a)
    over = np.maximum(a - level(common), 0)
    left = np.maximum(over - np.maximum(common - level(common), 0), 0)
    found = np.array([over.sum() - left.sum(), band(left), a.sum() - over.sum()]) / n
    return np.append(found, 1 - found.sum()).clip(0, 1)


def band(left: np.ndarray) -> float:
    """The mass along the diagonals."""
    n, (after, keys, inside) = len(left), diagonals(len(left))
    along = np.take_along_axis(left, keys, 1) * inside  # [query, diagonal]
    in_order = np.sort(np.where(inside, along, np.inf), 0)
    levels = in_order[(n - np.abs(after) - 1) // 3, np.arange(len(after))]
    levels = np.maximum(levels - level(levels), 0)
    whole = levels.sum()
    if whole <= SOME:
        return 0.0
    used = levels > SOME / 10
    # In a row that the edge cuts, what is left within the band's reach, or in the nearest cell.
    cut, outside = ~inside[:, used].all(1), ~inside[:, used].any(1)
    nearest = left[:, -1 if (levels * after).sum() > 0 else 0]
    reached = np.where(outside, nearest, along[:, used].sum(1))
    return np.where(cut, np.minimum(reached, whole), np.minimum(along, levels).sum(1)).sum()


@cache
def diagonals(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each diagonal is after the query, up to half the tokens; [query, diagonal]: its key there, and whether
    it has one."""
    after = np.arange(-(n // 2), n // 2 + 1)
    keys = np.arange(n)[:, None] + after
    return after, keys.clip(0, n - 1), (keys >= 0) & (keys < n)


def numbers(a: np.ndarray, received: np.ndarray, special: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """What the classifiers are told of a map, in the order of `NAMES`.

    received   the map's mean over queries
    special    whether each token is [CLS] or [SEP]
    shape      the parts' shares; the attention to special tokens, the entropy and the distance
    """
    n, squares = len(a), (a * a).sum()
    bits, (to_special, entropy, distance) = np.log2(n), shape[4:]
    diagonals = [np.trace(a, offset) / max(1, n - abs(offset)) for offset in range(-2, 3)]
    top = np.sort(received)[-3:]
    of_words = ~special / max(1, (~special).sum())
    found = dict(zip(("two_before", "previous", "same", "next", "two_after"), diagonals, strict=True))
    found |= {
        "offset": max(diagonals),
        "band": sum(diagonals[1:4]) / max(1 - to_special, 0.05),
        "band_energy": sum((np.diagonal(a, offset) ** 2).sum() for offset in (-1, 0, 1)) / squares,
        "distance": distance / n,
        "top": top[-1],
        "top_three": top.sum(),
        "columns": n * (received * received).sum() / squares,
        "column_spread": -(received * np.log2(np.maximum(received, 1e-30))).sum() / bits,
        "special": to_special,
        "spread": entropy / bits,
        "block": a.sum() / n / np.sqrt(squares),
        "block_of_words": (a @ of_words).sum() / np.sqrt(squares * n * (of_words**2).sum()),
        "length": (bits - 3) / 4,
    }
    found |= dict(zip(("columns_share", "band_share", "block_share", "rest_share"), shape[:4], strict=True)) | seen(a)
    return np.array([found.get(name, 0.0) for name in NAMES])  # what compares the texts of a pair is 0


def seen(a: np.ndarray) -> dict[str, float]:
    """How much of the variance of the cells, bright ones cut off, is between columns, rows or diagonals."""
    n = len(a)
    bright = np.minimum(a * n, BRIGHT)
    columns, mean, deviation = bright.mean(0), bright.mean(), bright.std()
    variance, of_columns = deviation**2, columns.var()
    left = bright - columns
    after, keys, inside = diagonals(n)
    sums = (np.take_along_axis(left, keys, 1) * inside).sum(0)
    count = n - np.abs(after)
    near = dict(zip(after.tolist(), sums / count / deviation, strict=True))
    brightest = (np.sort(columns)[::-1][:3] - level(columns)) / deviation
    names = ("seen_two_before", "seen_previous", "seen_same", "seen_next", "seen_two_after")
    return {
        "seen_columns": of_columns / variance,
        "seen_columns_of_sides": of_columns / variance,
        "seen_rows": bright.mean(1).var() / variance,
        "seen_diagonals": (sums**2 / count).sum() / n**2 / variance,
        **{name: near.get(offset, 0.0) for offset, name in enumerate(names, -2)},
        "seen_band": sums[np.abs(after) <= max(1, n // 8)].sum() / n**2 / deviation,
        **dict(zip(("seen_first_column", "seen_second_column", "seen_third_column"), brightest, strict=True)),
        "contrast": deviation / mean,
        "noise": np.sqrt((left**2).mean()) / mean,
    }
