"""Many made-up examples of the outputs that aren't one label a text, each scored by its own `moments`: two models'
for the same examples, the second somewhat worse.

Examples are drawn from a pool, so that the metric of the whole pool is the truth, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from bertscope.core.examples import NOTHING
from bertscope.core.intervals import interval
from bertscope.core.output import Output
from bertscope.core.resampling import metric_draws
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.outputs.spans import Spans
from bertscope.data.outputs.tags import Tags
from bertscope.data.outputs.vectors import Vectors

Random = np.random.Generator
SIZE = 20_000
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@dataclass(frozen=True)
class Pool:
    value: Callable[[np.ndarray], np.ndarray]
    moments: np.ndarray
    """[model, example, k]"""

    @property
    def truth(self) -> np.ndarray:
        """[model]"""
        return self.value(self.moments.mean(1))


@cache
def pool(name: str) -> Pool:
    output, answers, gold = _POOLS[name](np.random.default_rng([ord(letter) for letter in name]))
    return Pool(output.value, output.moments(answers, gold))


def bootstrap_of(name: str, n: int, draw: Random, samples: int) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """A case for `coverage_cases`: the first model's metric."""
    found = pool(name)
    taken = found.moments[0][draw.integers(SIZE, size=(samples, n))]
    return interval(metric_draws(found.value, taken, repeats=1000)), float(found.truth[0])


def change_of(name: str, n: int, draw: Random, samples: int) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """By how much the second model's differs, on the same examples."""
    found = pool(name)
    rows = draw.integers(SIZE, size=(samples, n))
    draws = metric_draws(found.value, np.concatenate([found.moments[0][rows], found.moments[1][rows]]), repeats=1000)
    return interval(draws[:, samples:] - draws[:, :samples]), float(found.truth[1] - found.truth[0])


def _entities(draw: Random, metric: str) -> tuple[Output, np.ndarray, np.ndarray]:
    """Sentences of 1 to 40 words, an entity in every eighth, of one or two words; what is hard is so for both."""
    lengths = draw.integers(1, 41, size=SIZE)
    there = np.arange(40) < lengths[:, None]
    begins = draw.random(there.shape) < 0.125
    kind = 1 + 2 * draw.integers(2, size=there.shape)
    gold = np.where(begins, kind, 0)
    goes_on = begins[:, :-1] & (draw.random((SIZE, 39)) < 0.5) & (gold[:, 1:] == 0)
    gold[:, 1:] = np.where(goes_on, gold[:, :-1] + 1, gold[:, 1:])
    hard = draw.beta(1, 4, size=(SIZE, 1))
    other = np.where(draw.random(there.shape) < 0.5, 0, draw.integers(len(TAGS), size=there.shape))
    answers = [np.where(draw.random(there.shape) < hard * worse, other, gold) for worse in (1.0, 1.2)]
    mark = np.where(there, 0, NOTHING)
    return (
        Tags.of("made", TAGS, metric),
        np.where(mark, NOTHING, np.stack(answers)).astype(np.int16),
        np.where(mark, NOTHING, gold),
    )


def _several(draw: Random, metric: str) -> tuple[Output, np.ndarray, np.ndarray]:
    """Ten labels, from common ones to rare ones, that depend on each other."""
    mood = draw.normal(size=(SIZE, 1))
    gold = (0.8 * mood + draw.normal(size=(SIZE, 10)) > np.linspace(0.5, 2.5, 10)).astype(np.int8)
    score = 2.0 * gold - 1 + 0.5 * mood
    answers = [(score + noise * draw.normal(size=gold.shape) > 0.3).astype(np.int8) for noise in (1.0, 1.1)]
    return SeveralLabels.of("made", tuple("abcdefghij"), metric), np.stack(answers), gold


def _masked(draw: Random, metric: str) -> tuple[Output, np.ndarray, np.ndarray]:
    """Texts with one piece to guess, mostly, and with up to 30; easy texts and hard ones."""
    pieces = np.minimum(draw.geometric(0.3, size=SIZE), 30)
    there = np.arange(30) < pieces[:, None]
    gold = np.where(there, draw.integers(50, size=there.shape), NOTHING)
    easy = draw.beta(2, 3, size=(SIZE, 1))
    answers = [np.where(draw.random(there.shape) < easy * share, gold, 50) for share in (1.0, 0.95)]
    guesses = np.stack(answers).astype(np.float64)
    return MaskedWords.of("made", (), metric), np.stack([guesses, np.ones_like(guesses)], -1), gold


def _cosines(draw: Random, metric: str) -> tuple[Output, np.ndarray, np.ndarray]:
    """Cosines, which are squeezed at 1, of two encoders that err alike, and a score of six steps."""
    near, shared = draw.normal(size=(2, SIZE))
    gold = np.clip(np.round(2.5 + 1.5 * near), 0, 5) / 5
    answers = [np.tanh(0.8 + 0.5 * (near + 0.6 * shared + own * draw.normal(size=SIZE))) for own in (0.5, 0.7)]
    output = Vectors.of("made", (), metric)
    return output, output.predictions(np.stack(answers)[..., None]), gold


def _spans(draw: Random, metric: str) -> tuple[Output, np.ndarray, np.ndarray]:
    """An answer of one to four words in a text of twelve; what is said is right, shifted or elsewhere."""
    text = " ".join(f"w{at:02}" for at in range(12))
    first = draw.integers(9, size=SIZE)
    last = first + draw.integers(4, size=SIZE)
    gold = np.empty(SIZE, dtype=object)
    gold[:] = [(text, ((4 * a, 4 * b + 3),)) for a, b in zip(first, last, strict=True)]
    hard = draw.beta(1, 2, size=SIZE)
    answers = []
    for worse in (1.0, 1.15):
        shift = np.where(draw.random((2, SIZE)) < hard * worse, draw.integers(-2, 3, size=(2, SIZE)), 0)
        begin = np.clip(first + shift[0], 0, 11)
        end = np.clip(last + shift[1], begin, 11)
        answers.append(np.stack([4 * begin, 4 * end + 3], -1))
    return Spans.of("made", (), metric), np.stack(answers), gold


_POOLS: dict[str, Callable[[Random], tuple[Output, np.ndarray, np.ndarray]]] = {
    "entity F1": lambda draw: _entities(draw, "entity_f1"),
    "micro F1 of ten labels": lambda draw: _several(draw, "micro_f1"),
    "macro F1 of ten labels": lambda draw: _several(draw, "macro_f1"),
    "masked pieces": lambda draw: _masked(draw, "accuracy"),
    "Pearson of cosines": lambda draw: _cosines(draw, "pearson"),
    "token F1 of spans": lambda draw: _spans(draw, "token_f1"),
}
NAMES = tuple(_POOLS)
