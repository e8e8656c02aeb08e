"""Heads switched off together: does a pair cost more than its heads one by one, does a set more than a random one?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertscope.analyses.redundancy.switched import from_nothing, mean_of, random_twin, switched_off
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.null_panel import DRAWS, LEVEL
from bertscope.core.reliability import Reliability, split_half, split_half_of_means
from bertscope.core.resampling import Value, metric_draws
from bertscope.core.statistics import Effects, holm, paired_effects, paired_p_of_nothing
from bertscope.core.units import PlainMode, Unit, every

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

Pair = tuple[Unit, Unit]


@dataclass(frozen=True)
class Interactions:
    """What pairs of heads do together: the similar ones, then their random partners. Draws are [1 + repeats, pair],
    the first the sample itself."""

    one: np.ndarray
    other: np.ndarray
    both: np.ndarray
    """The change of the score without the one, without the other, and without both."""
    draws: np.ndarray
    """What both cost beyond what each costs: below 0, each does what the other could."""
    rises: np.ndarray
    """[3, pair]: the rise of the loss without the one, without the other, and without both."""
    losses: np.ndarray
    """[pair, example]: by how much both raise the loss beyond what each does; above 0, each does what the other
    could."""
    by_loss: Effects
    """Its means, tested: would they be as large if {both, neither} and {one, other} were exchanged?"""
    loss_draws: np.ndarray
    kl: np.ndarray
    flips: np.ndarray
    """Draws of how far both take predictions from the whole model's, and of the share that they flip."""
    reliability: Mapping[str, Reliability]
    """Of the ranking of pairs by `score` and by `loss`."""
    matched: np.ndarray
    """[2, random pair]: where each similar pair that has a random partner stands, and where its partner."""
    random_weights: np.ndarray | None = None
    """[pair]: the loss's interaction in the same model with random weights, where that was asked for."""

    @property
    def against_random(self) -> Effects:
        """Similar pairs minus their random partners, by the loss: would that be as large if they were exchanged?"""
        return paired_effects(mean_of, *self._partners_apart())

    def found_in_nothing(self, seed: int) -> dict[str, np.ndarray]:
        """By test, how many were found in each draw of data in which there is nothing to find."""
        pairs = paired_p_of_nothing(mean_of, *from_nothing(self.losses), draws=DRAWS, seed=seed)
        found = {"pair": (holm(pairs) < LEVEL).sum(1)}
        if self.matched.size:
            apart = paired_p_of_nothing(mean_of, *self._partners_apart(), draws=DRAWS, seed=seed)
            found["similar_against_random"] = (apart < LEVEL).sum(1)
        return found

    def _partners_apart(self) -> tuple[np.ndarray, np.ndarray]:
        similar, random = self.losses.mean(1)[self.matched]
        return from_nothing((similar - random)[None])


def interactions(
    encoder: Encoder,
    task: Task,
    similar: Sequence[Pair],
    partners: Sequence[Pair | None] = (),
    *,
    mode: PlainMode = "uniform",
    repeats: int = 2000,
    seed: int = 0,
    null: bool = False,
) -> Interactions:
    """d_ij - d_i - d_j for each pair of heads, d being the change of the test set's score, and the rise of its loss;
    `partners` are the similar pairs' random ones, None where there is none."""
    task = task.asked_of(encoder)
    random = [pair for pair in partners if pair]
    pairs = [*similar, *random]
    singles = sorted({unit for pair in pairs for unit in pair})
    sets: list[Sequence[Unit]] = [[], *([unit] for unit in singles), *pairs]
    place = {unit: 1 + at for at, unit in enumerate(singles)}
    # The whole model, each alone, and both: four places for each pair.
    alone = np.array([[place[unit] for unit in pair] for pair in pairs]).T
    both = 1 + len(singles) + np.arange(len(pairs))
    off = switched_off(encoder, task, sets, mode)
    resample: dict[str, int] = {"repeats": repeats, "seed": seed}
    scores = metric_draws(task.value, off.moments, **resample)
    one, other, together = (scores[:, at] - scores[:, :1] for at in (*alone, both))
    rises = off.losses.mean(1)[np.stack([*alone, both])] - off.losses[0].mean()
    losses = _beyond(off.losses, alone, both)
    by_loss = paired_effects(mean_of, *from_nothing(losses), repeats=repeats, seed=seed)
    four = np.concatenate([off.moments[at] for at in (both, *alone)] + [off.moments[[0] * len(pairs)]], 2)
    return Interactions(
        one[0], other[0], together[0], together - one - other, rises, losses, by_loss,
        metric_draws(mean_of, losses[..., None], **resample),
        metric_draws(mean_of, off.kl[both][..., None], **resample),
        metric_draws(mean_of, off.flips[both][..., None], **resample),
        {"score": split_half(_interaction_of(task.value), four, seed=seed),
         "loss": split_half_of_means(losses, seed=seed)},
        np.array([[at for at, pair in enumerate(partners) if pair], range(len(similar), len(pairs))]),
        _beyond(random_twin(encoder, task, sets, mode, seed).losses, alone, both).mean(1) if null else None,
    )  # fmt: skip


def _beyond(losses: np.ndarray, alone: np.ndarray, both: np.ndarray) -> np.ndarray:
    """[pair, example]: what both raise the loss [set, example] beyond what each does."""
    return losses[both] - losses[alone[0]] - losses[alone[1]] + losses[0]


def _interaction_of(value: Value) -> Value:
    """From the moments' means of both, one, other and neither [..., 4 k] to the score's interaction [...]."""

    def interaction(means: np.ndarray) -> np.ndarray:
        both, one, other, neither = (value(each) for each in np.split(means, 4, axis=-1))
        return both - one - other + neither

    return interaction


@dataclass(frozen=True)
class Together:
    """A set of heads that is off together, against random sets of the same number of heads in the same layers. Draws
    are [1 + repeats, set], the named set the first."""

    effects: np.ndarray
    """Draws of the change of the score."""
    rises: np.ndarray
    """Draws of the rise of the loss."""
    kl: np.ndarray
    flips: np.ndarray
    losses: np.ndarray
    """[2, example]: each example's loss as the model is, and without the named set."""
    random_weights: np.ndarray | None = None
    """[set]: the rise of the loss in the same model with random weights, where that was asked for."""

    @property
    def by_loss(self) -> Effects:
        """The rise without the named set: would it be as large if whole and ablated were exchanged?"""
        return paired_effects(mean_of, self.losses[0][:, None], self.losses[1:, :, None])

    @property
    def effect(self) -> float:
        """The change of the score without the named set, with its paired bootstrap interval `low` to `high`."""
        return float(self.effects[0, 0])

    @property
    def low(self) -> float:
        return float(interval(self.effects[:, 0])[0])

    @property
    def high(self) -> float:
        return float(interval(self.effects[:, 0])[1])

    @property
    def random(self) -> np.ndarray:
        """The change of the score without each random set."""
        return self.effects[0, 1:]

    @property
    def p(self) -> float:
        """The chance that a random set costs the score as much."""
        return self.as_much("score")

    @property
    def p_by_loss(self) -> float:
        """The chance that a random set raises the loss as much."""
        return self.as_much("loss")

    @property
    def rank(self) -> int:
        """1 if no random set costs the score more."""
        return 1 + self._at_least("score", 0, -1e-12)

    def as_much(self, by: Literal["score", "loss"], named: int = 0) -> float:
        """(1 + random sets that cost as much) / (1 + random sets). Any set can be taken for the named one."""
        return (1 + self._at_least(by, named, 1e-12)) / self.effects.shape[1]

    def _at_least(self, by: Literal["score", "loss"], named: int, slack: float) -> int:
        """How many other sets cost as much as this, give or take."""
        cost = -self.effects[0] if by == "score" else self.rises[0]
        return int((np.delete(cost, named) > cost[named] - slack).sum())

    def found_in_nothing(self, seed: int) -> dict[str, np.ndarray]:
        """By test, whether something was found in each draw of data in which there is nothing to find."""
        sides = self.losses[0][:, None], self.losses[1:, :, None]
        exchanged = paired_p_of_nothing(mean_of, *sides, draws=DRAWS, seed=seed)
        chosen = np.random.default_rng(seed).integers(self.effects.shape[1], size=DRAWS)
        against = np.array([self.as_much("loss", named) for named in range(self.effects.shape[1])])
        return {"together": (exchanged < LEVEL).sum(1), "together_against_random": against[chosen] < LEVEL}


def together(
    encoder: Encoder,
    task: Task,
    units: Sequence[Unit | str],
    random_sets: int = 20,
    seed: int = 0,
    *,
    mode: PlainMode = "uniform",
    repeats: int = 2000,
    null: bool = False,
) -> Together:
    """Switch these heads off together, and as many random heads of the same layers, on the test set."""
    named = check_together(encoder, task, units)
    task = task.asked_of(encoder)
    if random_sets < 1:
        raise UserError(f"random_sets is {random_sets}; without a random set there is nothing to compare with")
    sets = [[], named, *_random_sets(named, encoder.head_counts, random_sets, seed)]
    off = switched_off(encoder, task, sets, mode)
    resample: dict[str, int] = {"repeats": repeats, "seed": seed}
    scores = metric_draws(task.value, off.moments, **resample)
    losses, kl, flips = (
        metric_draws(mean_of, each[..., None], **resample) for each in (off.losses, off.kl[1:], off.flips[1:])
    )
    random = random_twin(encoder, task, sets, mode, seed).losses.mean(1) if null else None
    return Together(
        scores[:, 1:] - scores[:, :1], losses[:, 1:] - losses[:, :1], kl, flips, off.losses[:2],
        None if random is None else random[1:] - random[0],
    )  # fmt: skip


def check_together(encoder: Encoder, task: Task, units: Sequence[Unit | str]) -> list[Unit]:
    """The heads to switch off together; refused where that can't be scored or set beside other heads."""
    task.asked_of(encoder)
    named = sorted({Unit.parse(unit).check(encoder.head_counts) for unit in units})
    if not named or any(unit.kind != "head" for unit in named):
        raise UserError("name one or more single heads to switch off together, such as head:3.7")
    if len(named) == sum(encoder.head_counts[layer] for layer in {unit.layer_index for unit in named}):
        raise UserError(f"no other heads in the layers of {', '.join(map(str, named))}: nothing to compare them with")
    return named


def random_partners(pairs: Sequence[Pair], head_counts: Sequence[int], seed: int) -> list[Pair | None]:
    """For each pair another pair of the same two layers, drawn at random; none that was there already."""
    generator = np.random.default_rng(seed)
    heads = _by_layer(head_counts)
    used = {frozenset(pair) for pair in pairs}
    partners: list[Pair | None] = []
    for one, other in pairs:
        both = product(heads[one.layer], heads[other.layer])
        rest = [pair for pair in both if pair[0] < pair[1] and frozenset(pair) not in used]
        partners.append(rest[generator.integers(len(rest))] if rest else None)
        used.add(frozenset(partners[-1] or ()))
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
