"""Random trees, and vectors in which they are planted: the answer a structural probe must find."""

from __future__ import annotations

import numpy as np

from bertscope.core.examples import ROOT, Examples
from bertscope.models.states_store import StatesStore
from made_states import made_store


def random_trees(count: int, *, shortest: int = 5, longest: int = 12, seed: int = 0) -> Examples:
    """Sentences of made-up words with random trees; the last word is punctuation, and hangs on the root."""
    random = np.random.default_rng(seed)
    heads, pos = [], []
    for _ in range(count):
        size = int(random.integers(shortest, longest + 1))
        order = random.permutation(size - 1)
        mine = np.full(size, order[0])
        mine[order[0]] = ROOT
        for place in range(1, size - 1):
            mine[order[place]] = order[random.integers(place)]
        heads.append(tuple(mine.tolist()))
        pos.append(("NOUN",) * (size - 1) + ("PUNCT",))
    words = tuple(tuple(f"w{place}" for place in range(len(mine))) for mine in heads)
    ids = tuple(f"s{number}" for number in range(count))
    text = tuple(f"{name} {' '.join(row)}" for name, row in zip(ids, words, strict=True))
    return Examples(
        ids=ids, text=text, words=words, governors=tuple(heads), marks={"pos": tuple(pos)}, name="planted"
    )


def path_vectors(examples: Examples, dim: int) -> np.ndarray:
    """A direction for each edge, and each word the sum of those on its way to the root: squared distances between
    words are their distances in the tree, squared lengths their depths. [row, dim]."""
    rows = []
    for heads in examples.governors or ():
        above = np.zeros((len(heads), dim))
        for word in range(len(heads)):
            at = word
            while heads[at] != ROOT:
                above[word, at] = 1
                at = heads[at]
        rows.append(above)
    return np.concatenate(rows)


def planted(count: int = 300, *, dim: int = 16, seed: int = 0) -> tuple[Examples, StatesStore]:
    """Layer 0: noise. Layer 1: the trees, turned and scaled at random. Layer 2: the trees in noise."""
    examples = random_trees(count, seed=seed)
    random = np.random.default_rng(seed + 1)
    turned = path_vectors(examples, dim) @ np.linalg.qr(random.normal(size=(dim, dim)))[0] * 4
    noise = random.normal(size=(2, *turned.shape))
    return examples, made_store(examples, [noise[0] * 4, turned, turned + noise[1]])
