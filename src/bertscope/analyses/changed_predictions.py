"""Two models' answers to the same rows: what the second mends, what it breaks, and whether that is more than luck.

`versus` asks it of any two models, `shrink` and `prune` of a model and of what is left of it. All of it is computed
of predictions that are there: no model is asked again.

Under the null that all tests share, the two models' answers to a row are exchangeable. Rows are exchanged whole,
whatever they hold: the words of a sentence, several labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.core.agreement import cohen_kappa, cohen_moments
from bertscope.core.intervals import interval, share_interval
from bertscope.core.resampling import metric_draws
from bertscope.core.statistics import mcnemar_p, paired_effects
from bertscope.data.metrics import metric
from bertscope.data.outputs.spans import OnlyTheModelSays

if TYPE_CHECKING:
    from bertscope.core.decisions import Decisions
    from bertscope.core.output import Output
    from bertscope.core.predictions import Predictions
    from bertscope.data.task import Task

LEVEL = 0.05
_ROUNDING = 1e-12  # two sums of the same numbers may differ by so much
ALL = "all_rows"
"""The group of rows that holds all."""
OUTCOMES = ("fixed", "broken", "both_right", "both_wrong")
BY_LOSS = ("nearer", "further", "same")
"""What can become of a row that is right or wrong, and of one that is neither: then by its loss."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What one model says of some rows, in the task's order."""

    output: Output
    gold: np.ndarray
    predicted: np.ndarray
    outputs: np.ndarray | None = None
    """None where only what is predicted was kept."""
    losses: np.ndarray | None = None
    """None where nothing says them."""

    @classmethod
    def of(cls, task: Task, said: Predictions) -> Answers:
        """Of a model's outputs for the test set."""
        outputs, output = task.outputs(said), task.output
        gold = task.gold(None, outputs)
        predicted = task.outputs_to_predictions(outputs)
        try:
            losses = output.losses(outputs, gold)
        except OnlyTheModelSays:
            losses = None
        return cls(output, gold, predicted, outputs, losses)

    @cached_property
    def decisions(self) -> Decisions | None:
        return None if self.outputs is None else self.output.decisions(self.outputs, self.gold)


@dataclass(frozen=True)
class How:
    """How often rows are drawn and exchanged."""

    repeats: int = 2000
    permutations: int = 9999
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models' answers to the same rows."""

    a: Answers
    b: Answers
    how: How = How()

    def __len__(self) -> int:
        return len(self.a.gold)

    @cached_property
    def moments(self) -> np.ndarray:
        """[2, n, k]"""
        return np.stack([one.output.moments(one.predicted, one.gold) for one in (self.a, self.b)])

    @cached_property
    def correct(self) -> np.ndarray:
        """[2, n]: 1 or 0; NaN where nothing is right or wrong."""
        return np.stack([one.output.correct(one.predicted, one.gold) for one in (self.a, self.b)])

    @cached_property
    def losses(self) -> np.ndarray | None:
        """[2, n], where both say them."""
        found = [one.losses for one in (self.a, self.b)]
        return None if any(one is None for one in found) else np.stack(found)  # type: ignore[arg-type]

    @property
    def right_or_wrong(self) -> bool:
        """Whether rows are that; scores are nearer or further."""
        return not np.isnan(self.correct).all()

    @cached_property
    def better(self) -> np.ndarray:
        """[n]: 1 where the second answer is better, -1 where the first is, 0 where neither; NaN of rows that say
        nothing."""
        if self.right_or_wrong:
            return self.correct[1] - self.correct[0]
        return np.full(len(self), np.nan) if self.losses is None else np.sign(self.losses[0] - self.losses[1])

    @cached_property
    def outcomes(self) -> np.ndarray:
        """[n]: what becomes of each row; empty where it says nothing."""
        if not self.right_or_wrong:
            found = np.select([self.better > 0, self.better < 0, self.better == 0], BY_LOSS, "")
        else:
            before, after = self.correct
            cases = [(before < after), (before > after), (before + after == 2), (before + after == 0)]
            found = np.select(cases, OUTCOMES, "")
        return found.astype(object)

    @property
    def cases(self) -> tuple[str, ...]:
        return OUTCOMES if self.right_or_wrong else BY_LOSS


def outcome_table(pair: Pair, groups: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """How many rows have which outcome, of all and of each group [n] of rows; shares with their intervals."""
    rows = []
    for name, member in groups.items():
        found = pair.outcomes[member & (pair.outcomes != "")]
        counts = np.array([(found == case).sum() for case in pair.cases])
        shares = counts / max(len(found), 1)
        low, high = share_interval(shares, max(len(found), 1))
        rows += [
            {"rows_of": name, "outcome": case, "rows": int(count), "share": share, "low": least, "high": most}
            for case, count, share, least, most in zip(pair.cases, counts, shares, low, high, strict=True)
        ]
    return pd.DataFrame(rows)


def mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def difference_table(pair: Pair) -> pd.DataFrame:
    """What differs between the two models: rows, the score, the loss. Each is one test, and told as such.

    measure   rows: the share of rows that are better, less that of those that are worse; score; loss
    a, b      the models' own (of rows: the share that is right)
    """
    found = []
    better = pair.better[~np.isnan(pair.better)]
    if len(better):
        # An exact test needs no permutations.
        effect = _effect(pair, mean, np.stack([np.zeros(len(better)), better])[..., None], permutations=0)
        own = np.nanmean(pair.correct, 1) if pair.right_or_wrong else (np.nan, np.nan)
        p = mcnemar_p(better.sum(), np.abs(better).sum())
        found.append({"measure": "rows", "a": own[0], "b": own[1], **effect, "p": float(p)})
    value, output = pair.a.output.value, pair.a.output
    own = value(pair.moments.mean(1))
    effect = _effect(pair, value, pair.moments, permutations=0 if output.counts_hits else pair.how.permutations)
    exact = {"p": found[0]["p"]} if output.counts_hits else {}
    found.append({"measure": "score", "a": own[0], "b": own[1], **effect, **exact})
    if pair.losses is not None:
        effect = _effect(pair, mean, pair.losses[..., None])
        found.append({"measure": "loss", "a": pair.losses[0].mean(), "b": pair.losses[1].mean(), **effect})
    table = pd.DataFrame(found)
    return table.assign(certain=table["p"] < LEVEL)


def _effect(pair: Pair, value: Any, moments: np.ndarray, *, permutations: int | None = None) -> dict[str, float]:
    how = pair.how
    one = paired_effects(
        value, moments[0], moments[1:], repeats=how.repeats, seed=how.seed,
        permutations=how.permutations if permutations is None else permutations,
    )  # fmt: skip
    ends = {"change": one.effect, "low": one.low, "high": one.high}
    told = {name: float(np.where(np.abs(each) < _ROUNDING, 0.0, each).item()) for name, each in ends.items()}
    return {**told, "p": one.p.item()}


def agreement(pair: Pair) -> dict[str, tuple[float, float, float]]:
    """How far the two say the same beyond chance: of what they predict, and of whether they are wrong. Cohen's kappa;
    of scores, correlations. What can't be said isn't there: of answers without names, of models without errors."""
    found: dict[str, tuple[Any, np.ndarray]] = {}
    n, (a, b) = len(pair), (pair.a, pair.b)
    before, after = a.decisions, b.decisions
    aligned = before is not None and after is not None and np.array_equal(before.example, after.example)
    if not pair.right_or_wrong:
        r = metric("pearson", 0)
        found["agreement"] = r.value, r.moments(b.predicted, a.predicted)
        found["error_agreement"] = r.value, r.moments(b.predicted - b.gold, a.predicted - a.gold)
    elif aligned and before is not None and after is not None:
        if before.names:
            found["agreement"] = cohen_kappa, cohen_moments(before.predicted, after.predicted, before.example, n)
        one, other = ((~each.right).astype(int) for each in (before, after))
        found["error_agreement"] = cohen_kappa, cohen_moments(one, other, before.example, n)
    else:
        rows = np.flatnonzero(~np.isnan(pair.better))
        one, other = ((each[rows] == 0).astype(int) for each in pair.correct)
        found["error_agreement"] = cohen_kappa, cohen_moments(one, other, rows, n)
    told = {}
    for key, (value, moments) in found.items():
        draws = metric_draws(value, moments[None], repeats=pair.how.repeats, seed=pair.how.seed)[:, 0]
        if not np.isnan(draws[0]):
            low, high = interval(draws)
            told[key] = (float(draws[0]), float(low), float(high))
    return told


def distance(pair: Pair) -> dict[str, tuple[float, float, float]]:
    """How far the second says something else than the first, whatever is right: effect sizes, never tested against
    0. Nothing where outputs don't tell."""
    told = {}
    flips = pair.a.output.flips(pair.a.predicted, pair.b.predicted)
    if not np.isnan(flips).any():
        told["flips"] = _told(flips.mean(), *share_interval(flips.mean(), len(flips)))
    a, b = pair.a, pair.b
    if a.outputs is None or b.outputs is None or a.output.kind != b.output.kind:
        return told
    if a.outputs.shape == b.outputs.shape:
        try:
            apart = a.output.divergence(a.outputs, b.outputs)
        except OnlyTheModelSays:
            return told
        draws = metric_draws(mean, apart[None, :, None], repeats=pair.how.repeats, seed=pair.how.seed)[:, 0]
        told["divergence"] = _told(draws[0], *interval(draws))
    return told


def _told(*values: Any) -> tuple[float, float, float]:
    value, low, high = map(float, values)
    return value, low, high


def gold_groups(pair: Pair) -> dict[str, np.ndarray]:
    """All rows, and those of each right label [n], where a row has one."""
    groups = {ALL: np.ones(len(pair), bool)}
    decisions: Sequence[Decisions | None] = (pair.a.decisions, pair.b.decisions)
    for one in decisions:
        if one is not None and one.names and np.array_equal(one.example, np.arange(len(pair))):
            present = [(name, one.gold == at) for at, name in enumerate(one.names)]
            return groups | {name: member for name, member in present if member.any()}
    return groups
