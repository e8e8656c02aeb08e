"""Hidden states made up on the spot, for tests that know what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.hidden_store import HiddenStore
from made_states import store_of


def made_store(examples: Examples, layers: Sequence[np.ndarray], name: str = "planted") -> HiddenStore:
    """A store whose layers are these vectors [word, dim], words in the examples' order."""
    assert examples.words is not None
    return store_of(examples.ids, [len(words) for words in examples.words], list(layers), name=name)


def made_texts(
    words: np.ndarray, marks: Mapping[str, np.ndarray], per_text: int = 8, label: np.ndarray | None = None
) -> Examples:
    """Texts of so many words each, with marks for every word."""
    n = len(words) // per_text

    def rows(values: np.ndarray) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(str, row)) for row in values[: n * per_text].reshape(n, per_text))

    said = rows(words)
    ids = tuple(f"t{row}" for row in range(n))
    text = tuple(f"{' '.join(row)} {at}" for at, row in enumerate(said))  # no two texts are equal
    return Examples(
        ids, text, words=said, marks={kind: rows(values) for kind, values in marks.items()},
        label=None if label is None else label[:n],
    )  # fmt: skip


def one_hot(numbers: np.ndarray, dim: int) -> np.ndarray:
    return np.eye(dim)[numbers]
