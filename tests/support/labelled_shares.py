"""A made-up model whose maps have known classes, a classifier that is wrong about them, and labels of a few: 24 heads
with mixtures of five classes of their own, which move from text to text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertscope.core.prediction_powered import Labelled, corrected_shares

MISTAKES = np.array([
    [0.80, 0.05, 0.05, 0.05, 0.05],
    [0.05, 0.85, 0.05, 0.02, 0.03],
    [0.30, 0.10, 0.50, 0.05, 0.05],
    [0.10, 0.00, 0.00, 0.60, 0.30],
    [0.20, 0.02, 0.03, 0.30, 0.45],
])  # fmt: skip
"""By true class, how often the classifier says which: it says the first too often, the last too seldom."""
RARE, SELDOM = 2, 4
_HEADS, _KINDS, _OF_HEADS = 24, len(MISTAKES), 0.7
_SHARES = np.array([0.2, 0.25, 0.05, 0.2, 0.3])


@dataclass(frozen=True)
class Held:
    """What the intervals of many samples of texts are, [sample, class], and the true shares [class]."""

    truth: np.ndarray
    low: np.ndarray
    high: np.ndarray
    own: np.ndarray
    """Whether the interval of what the classifier says, over texts, holds the truth."""

    @property
    def holds(self) -> np.ndarray:
        return (self.low <= self.truth) & (self.truth <= self.high)


def labelled_shares(
    draw: np.random.Generator, samples: int, *, texts: int = 200, labelled: int = 100, apart: float = 0.5
) -> Held:
    """`apart` is by how much texts differ: the standard deviation of a class's log odds."""
    of_head = np.log(_SHARES) + draw.normal(0, _OF_HEADS, (_HEADS, _KINDS))

    def mixtures(n: int) -> np.ndarray:
        chance = np.exp(of_head + draw.normal(0, apart, (n, 1, _KINDS)))
        return chance / chance.sum(-1, keepdims=True)

    def drawn(chances: np.ndarray) -> np.ndarray:
        return (draw.random((texts, _HEADS, 1)) > chances.cumsum(-1)).sum(-1).clip(max=_KINDS - 1)

    truth, ends, own = mixtures(20_000).mean((0, 1)), [], []
    for _ in range(samples):
        true = drawn(mixtures(texts))
        told = drawn(MISTAKES[true])
        of_text = (told[..., None] == np.arange(_KINDS)).mean(1)
        called, error = of_text.mean(0), of_text.std(0, ddof=1) / texts**0.5
        at = draw.choice(true.size, labelled, replace=False)
        text = at // _HEADS
        things = Labelled(true.ravel()[at], told.ravel()[at], text, of_text[text])
        ends.append(corrected_shares(called, error, texts, things)[1:])
        own.append(np.abs(called - truth) <= 1.96 * error)
    low, high = np.array(ends).swapaxes(0, 1)
    return Held(truth, low, high, np.array(own))
