"""Heads switched off together: does a pair cost more than its heads one by one, does a set more than a random one?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.resampling import metric_draws
from bertscope.core.units import Mode, Unit, every

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

Pair = tuple[Unit, Unit]


@dataclass(frozen=True)
class Interactions:
    """What pairs of heads do together. Draws are [1 + repeats, pair], the first the sample itself."""

    one: np.ndarray
    other: np.ndarray
    both: np.ndarray
    """The change of the score without the one, without the other, and without both."""
    draws: np.ndarray
    """What both cost beyond what each costs: below 0, each does what the other could."""


def interactions(
    encoder: Encoder, task: Task, pairs: Sequence[Pair], *, mode: Mode = "uniform", repeats: int = 2000, seed: int = 0
) -> Interactions:
    """d_ij - d_i - d_j for each pair of heads, d being the change of the test set's score."""
    singles = sorted({unit for pair in pairs for unit in pair})
    sets: list[Sequence[Unit]] = [[], *([unit] for unit in singles), *pairs]
    scores = _scores(encoder, task, sets, mode, repeats, seed)
    change = scores[:, 1:] - scores[:, :1]
    place = {unit: at for at, unit in enumerate(singles)}
    one, other = (change[:, [place[pair[side]] for pair in pairs]] for side in (0, 1))
    both = change[:, len(singles) :]
    return Interactions(one[0], other[0], both[0], both - one - other)


@dataclass(frozen=True)
class Together:
    """A set of heads that is off together, against random sets of the same number of heads in the same layers."""

    effect: float
    """The change of the score without the set, with its paired bootstrap interval."""
    low: float
    high: float
    random: np.ndarray
    """The same for each random set."""
    rank: int
    """1 if no random set costs more."""
    p: float
    """The chance that a random set costs as much: (1 + random sets that do) / (1 + random sets)."""


def together(
    encoder: Encoder,
    task: Task,
    units: Sequence[Unit | str],
    random_sets: int = 20,
    seed: int = 0,
    *,
    mode: Mode = "uniform",
    repeats: int = 2000,
) -> Together:
    """Switch these heads off together, and as many random heads of the same layers, on the test set."""
    named = check_together(encoder, task, units)
    if random_sets < 1:
        raise UserError(f"random_sets is {random_sets}; without a random set there is nothing to compare with")
    others = _random_sets(named, encoder.head_counts, random_sets, seed)
    draws = _scores(encoder, task, [[], named, *others], mode, repeats, seed)
    effects = draws[0, 1:] - draws[0, 0]
    low, high = interval(draws[:, 1] - draws[:, 0])
    worse, as_bad = (int((effects[1:] < effects[0] + slack).sum()) for slack in (-1e-12, 1e-12))
    return Together(
        float(effects[0]), float(low), float(high), effects[1:], worse + 1, (1 + as_bad) / (1 + len(others))
    )


def check_together(encoder: Encoder, task: Task, units: Sequence[Unit | str]) -> list[Unit]:
    """The heads to switch off together; refused where that can't be scored or set beside other heads."""
    encoder.need_classifier(task.output)
    named = sorted({Unit.parse(unit).check(encoder.head_counts) for unit in units})
    if not named or any(unit.kind != "head" for unit in named):
        raise UserError("name one or more single heads to switch off together, such as head:3.7")
    if len(named) == sum(encoder.head_counts[layer] for layer in {unit.layer_index for unit in named}):
        raise UserError(f"no other heads in the layers of {', '.join(map(str, named))}: nothing to compare them with")
    return named


def random_partners(pairs: Sequence[Pair], head_counts: Sequence[int], seed: int) -> list[Pair]:
    """For each pair another pair of the same two layers, drawn at random; none that was there already."""
    generator = np.random.default_rng(seed)
    heads = _by_layer(head_counts)
    used = {frozenset(pair) for pair in pairs}
    partners: list[Pair] = []
    for one, other in pairs:
        both = product(heads[one.layer], heads[other.layer])
        rest = [pair for pair in both if pair[0] < pair[1] and frozenset(pair) not in used]
        if rest:
            partners.append(rest[generator.integers(len(rest))])
            used.add(frozenset(partners[-1]))
    return partners


def _random_sets(named: list[Unit], head_counts: Sequence[int], wanted: int, seed: int) -> list[list[Unit]]:
    """Different sets with as many heads of each layer as `named` has; fewer than wanted where there are no more."""
    generator = np.random.default_rng(seed)
    heads, per_layer = _by_layer(head_counts), Counter(unit.layer for unit in named)
    found: dict[tuple[Unit, ...], None] = {}
    for _ in range(50 * wanted):
        drawn = [
            heads[layer][at]
            for layer, count in sorted(per_layer.items())
            for at in sorted(generator.choice(len(heads[layer]), count, replace=False))
        ]
        if drawn != named:
            found[tuple(drawn)] = None
        if len(found) == wanted:
            break
    return [list(drawn) for drawn in found]


def _by_layer(head_counts: Sequence[int]) -> dict[int, list[Unit]]:
    return {layer: list(heads) for layer, heads in groupby(every("head", head_counts), lambda unit: unit.layer)}


def _scores(
    encoder: Encoder, task: Task, sets: Sequence[Sequence[Unit]], mode: Mode, repeats: int, seed: int
) -> np.ndarray:
    """The score without each set, in the test set and in its resamples: [1 + repeats, sets]."""
    from bertscope.models.replay import predict_without

    encoder.need_classifier(task.output)
    reference = encoder.means(task.validation) if mode == "mean" else None
    switched = predict_without(encoder, task.test, sets, mode=mode, reference=reference)
    return metric_draws(task.value, task.moments(switched), repeats=repeats, seed=seed)
