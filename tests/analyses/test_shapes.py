"""The numbers that tell shapes apart, against naive loops over single maps; synthetic maps; learning and judging."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.features import NAMES, features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.analyses.shapes.learn import class_f1, macro_f1
from bertscope.analyses.shapes.net import FeatureNet, PictureNet
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


def test_features_are_what_their_names_say():
    together = features(as_layer(MAPS, SPECIAL))[:, 0].numpy()  # padded to the longest
    for row, (one, special) in enumerate(zip(MAPS, SPECIAL, strict=True)):
        wanted = by_hand(one, special)
        np.testing.assert_allclose(together[row], [wanted[name] for name in NAMES], atol=2e-5, err_msg=str(row))


def test_mean_distance_of_known_maps():
    n = 12
    previous = np.eye(n, k=-1, dtype=np.float32)
    previous[0, 0] = 1
    first = np.zeros((n, n), dtype=np.float32)
    first[:, 0] = 1
    found = as_layer([previous, first], [(0, n - 1)] * 2).distance[:, 0]
    np.testing.assert_allclose(found, [(n - 1) / n, sum(range(n)) / n], rtol=1e-6)


@pytest.mark.parametrize("net", [FeatureNet, PictureNet])
def test_padding_does_not_show(net):
    torch.manual_seed(0)
    net = net().eval()
    with torch.inference_mode():
        together = net(as_layer(MAPS, SPECIAL))[:, 0]
        alone = torch.cat([net(as_layer([one], [special]))[:, 0] for one, special in zip(MAPS, SPECIAL, strict=True)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


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
