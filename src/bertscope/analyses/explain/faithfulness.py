"""Is an explanation faithful? What becomes of a prediction without the words that are said to have made it, and with
nothing but them, against words taken in random orders.

The quantity is the probability of what is explained; of what has none, as a score, how far it changes either way.
The words with the highest attributions, 10, 20, 30 and 50% of them, are masked: what is lost on average is the
comprehensiveness, of which more is better. All but these are masked: what is lost is the sufficiency, of which less
is better. Both are compared with the mean of random orders of the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.core.attributions import Attributions, Targets
from bertscope.core.examples import Examples
from bertscope.core.intervals import bootstrap_interval
from bertscope.core.progress import progress
from bertscope.models.embedding_path import EmbeddingPath, embedding_path
from bertscope.models.explained_window import ExplainedWindow
from bertscope.models.fewer_words import HOW, How, said_of_fewer
from bertscope.models.finite_pass import measuring
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import ModelOutput

PERCENT = np.array([10, 20, 30, 50])
"""Of the words, how many are taken."""
RANDOM = 20
"""Orders that explanations are compared with."""
MEASURES = ("comprehensiveness", "sufficiency")
_WINDOW = 128  # examples whose masks are held at a time
_ENOUGH = 5  # texts from which an interval is given


@dataclass(frozen=True)
class Faithfulness:
    example: np.ndarray
    """[t]: the example of each target that has words to be taken away."""
    lost: dict[How, np.ndarray]
    """[t, order, measure]: what is lost, on average over the shares of words; the methods' orders first, then the
    random ones."""
    methods: tuple[str, ...]
    passes: dict[How, int]
    """Rows that the model has read for it."""

    def rows(self, how: How, place: int) -> np.ndarray:
        """[t, 2, measure]: what is lost by a method's order, and on average by the random ones."""
        lost, first = self.lost[how], len(self.methods)
        return np.stack([lost[:, place], lost[:, first:].mean(1)], 1)


def faithfulness(
    asked: ModelOutput, examples: Examples, found: Sequence[Attributions], *, seed: int = 0, tokens: int | None = None
) -> Faithfulness:
    """What is lost without the words that attributions name, and with them alone. All are of the same targets; all
    are compared with the same random orders."""
    targets, first = found[0].targets, found[0]
    ways: tuple[How, ...] = HOW if asked.words_can_go else ("mask",)
    budget = tokens or default_budget(asked.encoder)
    lost: dict[How, list[np.ndarray]] = {how: [] for how in ways}
    passes, kept = dict.fromkeys(ways, 0), []
    with ExitStack() as block:
        block.enter_context(measuring([asked.encoder]))
        block.enter_context(asked.sparing())
        path = block.enter_context(embedding_path(asked.encoder))
        bar = block.enter_context(progress(f"taking words away: {asked.encoder.name}", len(examples)))
        for window, at in _windows(asked, examples, targets):
            own = targets.take(at).moved(targets.example[at] - window.first)
            values = np.stack([_padded(each, at) for each in found])
            orders = Orders.of(asked, own, np.diff(first.starts)[at], first, at, values, seed + window.first)
            kept.append(at[orders.some])
            for how, each in _lost(asked, window, path, own, orders, ways, budget, passes).items():
                lost[how].append(each)
            bar.advance(len(window.examples))
    return Faithfulness(
        targets.example[np.concatenate(kept)], {how: np.concatenate(each) for how, each in lost.items()},
        tuple(each.method for each in found), passes,
    )  # fmt: skip


@dataclass(frozen=True)
class Orders:
    """In which order the words of some targets are taken: methods' first, then random ones."""

    some: np.ndarray
    """The targets that have words to take, by their places."""
    place: np.ndarray
    """[target, order, word]: its place in the order, from 0."""
    can_go: np.ndarray
    """[target, word]: whether it is a word, and none that the target is about."""

    @classmethod
    def of(
        cls, asked: ModelOutput, targets: Targets, counts: np.ndarray, words: Attributions, at: np.ndarray,
        values: np.ndarray, seed: int,
    ) -> Orders:  # fmt: skip
        """By the values [method, target, word], the highest first; equal ones at random, as all of them are then."""
        width = values.shape[2]
        number = _padded(words, at, words.word)
        can_go = np.arange(width) < counts[:, None]
        about = asked.about(targets)
        can_go &= ~(number[:, :, None] == about[:, None, :]).any(2)
        some = np.flatnonzero(can_go.any(1))
        draw = np.random.default_rng(seed).random((len(targets), 1 + RANDOM, width))
        last = np.where(can_go, 0.0, np.inf)[:, None]
        ties = np.broadcast_to(draw[:, :1], (len(targets), len(values), width))
        by_value = np.lexsort((ties, -values.transpose(1, 0, 2) + last), axis=-1)
        at_random = np.argsort(draw[:, 1:] + last, axis=-1)
        place = np.argsort(np.concatenate([by_value, at_random], 1), axis=-1)
        return cls(some, place[some], can_go[some])

    def taken(self) -> np.ndarray:
        """[target, order, measure, share, word]: whether it is taken away: the first of the order, or all others."""
        many = -(-PERCENT * self.can_go.sum(1)[:, None] // 100)  # rounded up
        top = self.place[:, :, None] < many[:, None, :, None]
        return np.stack([top, ~top], 2) & self.can_go[:, None, None, None]


def _lost(
    asked: ModelOutput, window: ExplainedWindow, path: EmbeddingPath, targets: Targets, orders: Orders,
    ways: Sequence[How], budget: int, passes: dict[How, int],
) -> dict[How, np.ndarray]:  # fmt: skip
    """[target, order, measure] by how words are taken away, averaged over the shares."""
    taken = orders.taken()
    shape, flat = taken.shape[:-1], ~taken.reshape(-1, taken.shape[-1])
    unit = np.repeat(orders.some, int(np.prod(shape[1:])))
    if not len(unit):
        return {how: np.zeros(shape[:-1]) for how in ways}
    all_words = np.ones((len(orders.some), flat.shape[1]), dtype=bool)
    found = {}
    whole = np.zeros(0)
    for how in ways:
        more = all_words if how == "mask" else all_words[:0]
        units = np.concatenate([orders.some[: len(more)], unit])
        said = said_of_fewer(window, path, targets, units, np.concatenate([more, flat]), how, budget)
        passes[how] += said.passes
        whole = said.values[: len(more)] if len(more) else whole
        change = whole.reshape(-1, 1, 1, 1) - said.values[len(more) :].reshape(shape)
        found[how] = (change if asked.has_probability else np.abs(change)).mean(-1)
    return found


def _windows(
    asked: ModelOutput, examples: Examples, targets: Targets
) -> Iterator[tuple[ExplainedWindow, np.ndarray]]:
    """Some examples at a time, and the places of their targets."""
    for first in range(0, len(examples), _WINDOW):
        last = min(first + _WINDOW, len(examples))
        at = np.flatnonzero((targets.example >= first) & (targets.example < last))
        if len(at):
            yield ExplainedWindow.of(asked, examples, first, last), at


def _padded(found: Attributions, at: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """What the words of these targets have, [target, word]; -1 behind the last."""
    counts = np.diff(found.starts)[at]
    padded = np.full((len(at), int(counts.max(initial=0))), -1.0)
    inside = np.arange(padded.shape[1]) < counts[:, None]
    place = (
        np.repeat(found.starts[at], counts) + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    )
    padded[inside] = (found.values if values is None else values)[place]
    return padded


def over_texts(values: np.ndarray, example: np.ndarray, seed: int = 0) -> tuple[float, float, float, int]:
    """The mean of targets' values, its interval over examples, and how many these are: all targets of an example are
    drawn with it."""
    known = ~np.isnan(values)
    _, text = np.unique(example[known], return_inverse=True)
    counts = np.bincount(text)
    if not len(counts):
        return np.nan, np.nan, np.nan, 0
    moments = np.stack([np.bincount(text, values[known]), counts], 1)
    mean = float(values[known].mean())
    if len(counts) < _ENOUGH:
        return mean, np.nan, np.nan, len(counts)
    low, high = bootstrap_interval(lambda means: means[..., 0] / means[..., 1], moments, seed=seed)
    return mean, low, high, len(counts)


def faithfulness_table(found: Faithfulness) -> pd.DataFrame:
    """A row for each method, way of taking words away, and measure."""
    rows = []
    for how in found.lost:
        for place, method in enumerate(found.methods):
            both = found.rows(how, place)
            for which, measure in enumerate(MEASURES):
                mean, low, high, n = over_texts(both[:, 0, which] - both[:, 1, which], found.example)
                raw, random = both[:, :, which].mean(0) if len(both) else (np.nan, np.nan)
                rows.append({"method": method, "how": how, "measure": measure, "value": mean, "low": low,
                             "high": high, "raw": raw, "random": random, "n": n, "targets": len(both)})  # fmt: skip
    return pd.DataFrame(rows)
