"""The numbers that tell shapes apart, against naive loops over single maps, and synthetic maps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.decomposition import PARTS, decompose
from bertscope.analyses.shapes.features import NAMES, features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.analyses.shapes.learn import class_f1, macro_f1
from bertscope.analyses.shapes.synthetic import make, some

RANDOM = np.random.default_rng(0)
MAPS, LAYOUTS, LABELS = some(25, RANDOM)
SPECIAL = [(0, n - 1) if second == n else (0, second - 1, n - 1) for n, second in LAYOUTS]


def by_hand(a: np.ndarray, special: tuple[int, ...]) -> dict[str, float]:
    """Each number as its name says, one cell at a time."""
    n = len(a)
    a = a.astype(np.float64) / a.sum(1, keepdims=True)
    side = [sum(place > close for close in special[1:]) > 0 for place in range(n)]

    def diagonal(offset):
        cells = [a[i, i + offset] for i in range(n) if 0 <= i + offset < n]
        return sum(cells) / len(cells)

    received = [sum(a[i, j] for i in range(n)) / n for j in range(n)]
    squares = sum(a[i, j] ** 2 for i in range(n) for j in range(n))
    to_special = sum(received[j] for j in special)
    three = [diagonal(offset) for offset in (-1, 0, 1)]

    def likeness(keys):
        uniform = np.zeros((n, n))
        for i in range(n):
            mine = [j for j in keys if side[j] == side[i]]
            for j in mine:
                uniform[i, j] = 1 / len(mine)
        return (uniform * a).sum() / np.sqrt((uniform**2).sum() * squares)

    return {
        "two_before": diagonal(-2), "previous": three[0], "same": three[1], "next": three[2],
        "two_after": diagonal(2), "offset": max(diagonal(offset) for offset in range(-2, 3)),
        "band": sum(three) / max(1 - to_special, 0.05),
        "band_energy": sum(a[i, j] ** 2 for i in range(n) for j in range(n) if abs(i - j) <= 1) / squares,
        "distance": sum(a[i, j] * abs(i - j) for i in range(n) for j in range(n)) / n / n,
        "top": max(received), "top_three": sum(sorted(received)[-3:]),
        "columns": n * sum(r**2 for r in received) / squares,
        "column_spread": -sum(r * np.log2(r) for r in received if r > 0) / np.log2(n),
        "special": to_special,
        "spread": -sum(x * np.log2(x) for x in a.ravel() if x > 0) / n / np.log2(n),
        "own_side": sum(a[i, j] for i in range(n) for j in range(n) if side[i] == side[j]) / n
        - sum((side.count(which) / n) ** 2 for which in (False, True)),
        "block": likeness(range(n)), "block_of_words": likeness([j for j in range(n) if j not in special]),
        "pair": float(any(side)), "length": (np.log2(n) - 3) / 4,
    }  # fmt: skip


def seen_by_hand(a: np.ndarray, special: tuple[int, ...]) -> dict[str, float]:
    """What the eye sees: cells over uniform attention, bright ones cut off; shares of their variance."""
    n = len(a)
    cells = np.minimum(a.astype(np.float64) / a.sum(1, keepdims=True) * n, 8)
    side = np.array([any(place > close for close in special[1:]) for place in range(n)])
    mean, deviation, variance = cells.mean(), cells.std(), cells.var()
    column = np.stack([cells[side == side[i]].mean(0) for i in range(n)])  # of each query's side, at its keys
    rectangle = np.stack([[column[i, side == side[j]].mean() for j in range(n)] for i in range(n)])
    left = cells - column
    diagonals = {k: left.diagonal(k) for k in range(-(n // 2), n // 2 + 1)}
    ordered = sorted(cells.mean(0))
    same_side = (side[:, None] == side).astype(float)
    near = ("seen_two_before", "seen_previous", "seen_same", "seen_next", "seen_two_after")
    return {
        "seen_columns": cells.mean(0).var() / variance, "seen_columns_of_sides": column.var() / variance,
        "seen_sides": rectangle.var() / variance, "seen_rows": cells.mean(1).var() / variance,
        "seen_diagonals": sum(len(d) * d.mean() ** 2 for d in diagonals.values()) / n**2 / variance,
        **{name: diagonals[k].mean() / deviation for name, k in zip(near, range(-2, 3), strict=True)},
        "seen_band": sum(d.sum() for k, d in diagonals.items() if abs(k) <= max(n // 8, 1)) / n**2 / deviation,
        **{f"seen_{name}_column": (ordered[-k] - ordered[(n - 1) // 3]) / deviation
           for k, name in enumerate(("first", "second", "third"), 1)},
        "seen_own_side": np.corrcoef(cells.ravel(), same_side.ravel())[0, 1] if side.any() else 0,
        "contrast": deviation / mean, "noise": left.std() / mean,
    }  # fmt: skip


def test_features_are_what_their_names_say():
    layer = as_layer(MAPS, SPECIAL)  # padded to the longest
    together, shares = features(layer)[:, 0].numpy(), decompose(layer).shares[:, 0].tolist()
    for row, (one, special) in enumerate(zip(MAPS, SPECIAL, strict=True)):
        parts = {f"{part}_share": share for part, share in zip(PARTS, shares[row], strict=True)}
        wanted = by_hand(one, special) | parts | seen_by_hand(one, special)
        np.testing.assert_allclose(together[row], [wanted[name] for name in NAMES], atol=2e-5, err_msg=str(row))


def test_mean_distance_of_known_maps():
    n = 12
    previous = np.eye(n, k=-1, dtype=np.float32)
    previous[0, 0] = 1
    first = np.zeros((n, n), dtype=np.float32)
    first[:, 0] = 1
    found = as_layer([previous, first], [(0, n - 1)] * 2).distance[:, 0]
    np.testing.assert_allclose(found, [(n - 1) / n, sum(range(n)) / n], rtol=1e-6)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("layout", [(8, 8), (8, 4), (128, 128), (128, 60)])
def test_made_maps_are_attention(name, layout):
    one = make(name, layout, np.random.default_rng(3))
    assert one.shape == (layout[0], layout[0]) and (one >= 0).all()
    np.testing.assert_allclose(one.sum(1), 1, rtol=1e-5)


def test_macro_f1_is_scikit_learns():
    label, predicted = RANDOM.integers(0, 5, 200), RANDOM.integers(0, 5, 200)
    confusion = np.zeros((5, 5))
    np.add.at(confusion, (label, predicted), 1)
    np.testing.assert_allclose(class_f1(confusion), f1_score(label, predicted, average=None))
    assert macro_f1(confusion) == pytest.approx(f1_score(label, predicted, average="macro"))
