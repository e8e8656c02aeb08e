"""Texts that belong together, or don't: what the tests of contrastive training read."""

from __future__ import annotations

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.positives import Sets
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.training.contrastive.question import ContrastiveConfig
from bertscope.training.contrastive_objective import Contrastive

QUICK = ContrastiveConfig(epochs=3, learning_rate=1e-3, batch_size=16)
WORDS = (
    "the", "old", "house", "was", "by", "a", "long", "road", "and", "she", "said", "it", "to", "him", "no", "tree",
)  # fmt: skip


def _made() -> Examples:
    generator = np.random.default_rng(0)
    made = dict.fromkeys(" ".join(generator.choice(WORDS, generator.integers(2, 9))) for _ in range(160))
    return Examples(ids=tuple(map(str, range(len(made)))), text=tuple(made), name="made")


MADE = _made()
"""Some 160 texts."""


def texts_of(columns: int) -> list[tuple[str, ...]]:
    """16 short texts a column, from row to row and from column to column of other lengths; those of a row have their
    ends in common."""
    ends = [(one, other) for one in WORDS[:4] for other in WORDS[4:8]]
    return [
        tuple(f"{one} {f'{WORDS[column]} ' * (1 + column + row % 3)}{other}" for row, (one, other) in enumerate(ends))
        for column in range(columns)
    ]


def objective(encoder: Encoder, columns: int, config: ContrastiveConfig) -> Contrastive:
    sets = Sets(tuple(texts_of(columns)))
    return Contrastive(encoder, sets, sets, config)


def sts(n: int = 40) -> Task:
    """The score is how many of five words two texts share."""
    generator = np.random.default_rng(2)

    def split(name: str) -> Examples:
        shared = np.arange(n) % 6
        ones = [generator.choice(WORDS[:8], 5) for _ in range(n)]
        others = [
            np.where(np.arange(5) < k, one, generator.choice(WORDS[8:], 5))
            for k, one in zip(shared, ones, strict=True)
        ]
        ids = tuple(f"{name} {row}" for row in range(n))
        return Examples(ids, tuple(map(" ".join, ones)), tuple(map(" ".join, others)), shared.astype(float))

    return Task("toy sts", "regression", (), split("train"), split("validation"), split("test"), "pearson")
