"""Maps made to be of a class: to train on beside real ones, and to test that a classifier knows every length.

Each class is a family of pictures, varied in what the definition leaves open: which columns, which diagonals, how
strong, how noisy. Real maps are what a classifier is judged by.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bertscope.analyses.shapes import CLASSES

Layout = tuple[int, int]
"""How many tokens there are, and where the second text begins (or the same number if there is none)."""
_LENGTHS, _SHORT = (8, 128), (7, 12)
"""In few tokens scattered cells look like columns, and a band reaches everywhere: short maps need examples of their
own, of which an even draw of lengths has few."""


def make(name: str, layout: Layout, random: np.random.Generator) -> np.ndarray:
    """A map [n, n] of that class, float32; its rows sum to 1."""
    n, _ = layout
    shape = _MAKERS[name](layout, random)
    noise = random.gamma(random.uniform(0.3, 3.0), size=(n, n))
    noise /= noise.sum(1, keepdims=True)
    strength = random.uniform(0.65, 0.98) if name != "heterogeneous" else 1.0
    noisy = strength * shape / shape.sum(1, keepdims=True) + (1 - strength) * noise
    return (noisy / noisy.sum(1, keepdims=True)).astype(np.float32)


def some(count: int, random: np.random.Generator) -> tuple[list[np.ndarray], list[Layout], list[int]]:
    """Maps, their layouts and their class numbers: the classes in turn, of `_LENGTHS` tokens on a logarithmic scale,
    each third map of `_SHORT`."""
    maps, layouts, labels = [], [], []
    for place in range(count):
        n = round(np.exp(random.uniform(*np.log(_LENGTHS if place % 3 else _SHORT))))
        second = random.integers(3, n - 2) if random.random() < 0.5 and n > 7 else n
        layouts.append((n, int(second)))
        labels.append(place % len(CLASSES))
        maps.append(make(CLASSES[labels[-1]], layouts[-1], random))
    return maps, layouts, labels


def _vertical(layout: Layout, random: np.random.Generator) -> np.ndarray:
    """A few columns that nearly every query looks at, [CLS] and [SEP] more often than others."""
    n, second = layout
    likely = np.full(n, 1.0)
    likely[[0, n - 1, min(second, n) - 1]] += n
    count = random.choice([1, 1, 2, 2, 3])
    columns = random.choice(n, size=min(count, n), replace=False, p=likely / likely.sum())
    shape = np.full((n, n), 1e-6)
    shape[:, columns] = random.dirichlet(np.full(len(columns), 2.0)) * random.uniform(0.6, 1.0, size=(n, 1))
    return shape


def _diagonal(layout: Layout, random: np.random.Generator) -> np.ndarray:
    """The token before, itself or the one after, or a band around one of them."""
    n, _ = layout
    centre, width = random.choice([-1, -1, 0, 1, 1, -2, 2]), random.choice([0.25, 0.25, 0.6, 1.0])
    place = np.arange(n)
    shape = np.exp(-((place[None] - place[:, None] - centre) ** 2) / (2 * width**2)) + 1e-9
    return shape / shape.sum(1, keepdims=True)


def _both(layout: Layout, random: np.random.Generator) -> np.ndarray:
    share = random.uniform(0.3, 0.7)
    one, other = _vertical(layout, random), _diagonal(layout, random)
    return share * one / one.sum(1, keepdims=True) + (1 - share) * other


def _block(layout: Layout, random: np.random.Generator) -> np.ndarray:
    """Uniform over the query's own text, or over the other one; over everything where there is one text."""
    n, second = layout
    side = np.arange(n) >= second
    same = side[:, None] == side[None] if random.random() < 0.8 else side[:, None] != side[None]
    shape = np.where(same | (second == n), 1.0, random.uniform(0.0, 0.1))
    return shape * random.gamma(random.uniform(4, 40), size=(n, n))


def _heterogeneous(layout: Layout, random: np.random.Generator) -> np.ndarray:
    """Every query looks at a few tokens of its own; some tokens draw a little more."""
    n, _ = layout
    drawing = random.gamma(2.0, size=n)
    return random.gamma(random.uniform(0.05, 0.4), size=(n, n)) * drawing + 1e-6


_MAKERS: dict[str, Callable[[Layout, np.random.Generator], np.ndarray]] = dict(
    zip(CLASSES, (_vertical, _diagonal, _both, _block, _heterogeneous), strict=True)
)
