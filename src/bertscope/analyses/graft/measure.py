"""`graft`: what models say that have some of their weights from the base and some from the tuned model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.analyses.graft.question import PERMUTED, GraftConfig
from bertscope.analyses.graft.result import LEVEL, graft_result
from bertscope.analyses.graft.sets import Grafts, Part, parts_of
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import interval, part_of_whole
from bertscope.core.predictions import Judged
from bertscope.core.reliability import split_half_of_means
from bertscope.core.resampling import Value, metric_draws
from bertscope.core.result import Result
from bertscope.core.statistics import holm, holm_within, one_more_p, paired_effects
from bertscope.core.variance_components import example_values
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.sentence_vectors import WITHOUT_SCORES

_SUMS = ("bottom_up", "top_down")
"""Kinds of sets of which the reverse is one of the others: what is needed from above is enough from below."""
_FURTHEST = 1.5


def measure(base: Encoder, model: Encoder, task: Task, config: GraftConfig) -> Result:
    if model.task_head in WITHOUT_SCORES and base.task_head not in WITHOUT_SCORES:
        raise UserError(f"{model.name} has no task head, and {base.name} has one; name the base first, then it")
    task = task.asked_of(model)
    grafts = Grafts(model, base)
    parts = [part for kind in dict.fromkeys(config.units) for part in parts_of(grafts.weights, kind)]
    single = [part for part in parts if part.kind not in _SUMS]
    way = np.linspace(0, _FURTHEST, config.steps + 1)
    into_base = _Sides(grafts.judged(task, "base", [*grafts.from_tuned(parts), *grafts.along(way)]))
    into_tuned = _Sides(grafts.judged(task, "tuned", grafts.from_base(single)))
    ends = _Ends(into_base.first, into_tuned.first)
    enough, line = into_base.others(len(parts))
    needed, _ = into_tuned.others(len(single))
    found = pd.concat(
        [
            _effects(task, ends, parts, enough, "enough", config),
            _effects(task, ends, single, needed, "needed", config),
        ],
        ignore_index=True,
    )
    moved = {part.name: grafts.moved(part.places) for part in parts}
    found["moved"] = found["unit"].map(moved)
    line_table, barrier = _line(task, ends, way, line, config)
    tables = {"grafts": found, "line": line_table, "reliability": _reliability(
        {"enough": (parts, enough), "needed": (single, needed)})}  # fmt: skip
    if config.null:
        layers = [part for part in parts if part.kind == "layer"]
        gained = (ends.base.losses - _of_kind(parts, enough, "layer").losses).mean(1)
        tables |= _permuted(grafts, task, layers, gained, found, config)
    from_above = _of_kind(parts, enough, "top_down").moments
    shares = (
        example_shares(task.value, ends.base.moments, ends.tuned.moments, from_above) if len(from_above) else None
    )
    return graft_result(base, model, task, into_tuned.judged, into_base.judged, tables, barrier, shares)


@dataclass(frozen=True)
class _Scored:
    """Moments [..., n, k] and losses [..., n]."""

    moments: np.ndarray
    losses: np.ndarray


@dataclass(frozen=True)
class _Sides:
    """What came of a model and of changed forms of it."""

    judged: Judged

    @property
    def first(self) -> _Scored:
        return _Scored(self.judged.moments[0], self.judged.losses[0])

    def others(self, count: int) -> tuple[_Scored, _Scored]:
        """Those of the first so many changes, and of the rest."""
        parts = slice(1, 1 + count), slice(1 + count, None)
        one, other = (_Scored(self.judged.moments[part], self.judged.losses[part]) for part in parts)
        return one, other


@dataclass(frozen=True)
class _Ends:
    """The base under the tuned task head, and the tuned model."""

    base: _Scored
    tuned: _Scored


def _mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _effects(
    task: Task, ends: _Ends, parts: Sequence[Part], found: _Scored, direction: str, config: GraftConfig
) -> pd.DataFrame:
    """What each graft changes, beside the model that it is made into."""
    into, sign = (ends.base, -1.0) if direction == "enough" else (ends.tuned, 1.0)
    how = {"repeats": config.repeats, "seed": config.seed}
    by_loss = paired_effects(
        _mean, into.losses[:, None], found.losses[..., None], permutations=config.permutations, **how
    )
    by_score = metric_draws(task.value, np.concatenate([into.moments[None], found.moments]), **how)
    score_low, score_high = interval(by_score[:, 1:] - by_score[:, :1])
    share, score_share = (
        _shares(task, ends, found, direction, how, by) for by in ("losses", "moments")
    )  # each [3, parts]
    kinds = np.array([part.kind for part in parts])
    columns = {
        "unit": [part.name for part in parts],
        "kind": kinds,
        "layer": pd.array([part.layer for part in parts], dtype="Int64"),
        "head": pd.array([part.head for part in parts], dtype="Int64"),
        "direction": direction,
        "loss": found.losses.mean(1),
        "loss_change": by_loss.effect,
        "loss_low": by_loss.low,
        "loss_high": by_loss.high,
        "p": by_loss.p,
        "p_holm": holm_within(by_loss.p, kinds),
        "share": share[0],
        "share_low": share[1],
        "share_high": share[2],
        "score": by_score[0, 1:],
        "score_change": by_score[0, 1:] - by_score[0, 0],
        "score_low": score_low,
        "score_high": score_high,
        "score_share": score_share[0],
        "score_share_low": score_share[1],
        "score_share_high": score_share[2],
    }
    table = pd.DataFrame(columns)
    table["certain"] = (table["p_holm"] < LEVEL) & (np.sign(table["loss_change"]) == sign)
    return table


def _shares(
    task: Task, ends: _Ends, found: _Scored, direction: str, how: Mapping[str, int], by: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a graft gives, or takes, of what lies between base and tuned. NaN where the two can't be told apart."""
    arms = np.concatenate([[getattr(ends.base, by), getattr(ends.tuned, by)], getattr(found, by)])
    value = _mean if by == "losses" else task.value
    draws = metric_draws(value, arms[..., None] if by == "losses" else arms, **how)
    base, tuned, grafts = draws[:, :1], draws[:, 1:2], draws[:, 2:]
    return part_of_whole(grafts - base if direction == "enough" else tuned - grafts, tuned - base)


def example_shares(value: Value, base: np.ndarray, tuned: np.ndarray, grafts: np.ndarray) -> np.ndarray:
    """What each example has to do with the share of the score that each graft gives, [part, n], of moments [n, k] and
    [part, n, k]: what several trainings are compared by."""
    k = base.shape[-1]
    arms = np.concatenate([*np.broadcast_arrays(base, tuned, grafts)], -1)

    def share(means: np.ndarray) -> np.ndarray:
        before, after, found = (value(means[..., at * k : (at + 1) * k]) for at in range(3))
        return np.divide(found - before, after - before, out=np.full_like(found, np.nan), where=after != before)

    return example_values(share, arms)


def _line(
    task: Task, ends: _Ends, way: np.ndarray, found: _Scored, config: GraftConfig
) -> tuple[pd.DataFrame, Estimate]:
    """Loss and score on the way from base to tuned and beyond, and how far the loss is above their chord; and the
    barrier, the most that it is above it between the two: of each resample its own, wherever that is."""
    arms = np.concatenate([[ends.base.losses, ends.tuned.losses], found.losses])[..., None]
    draws = metric_draws(_mean, arms, repeats=config.repeats, seed=config.seed)
    losses = draws[:, 2:]
    above = losses - ((1 - way) * draws[:, :1] + way * draws[:, 1:2])
    (low, high), (above_low, above_high) = interval(losses), interval(above)
    inside = way <= 1
    barrier = above[:, inside].max(1).clip(0)  # at its ends the line is on the chord
    table = pd.DataFrame(
        {
            "way": way, "loss": losses[0], "low": low, "high": high, "score": task.value(found.moments.mean(1)),
            "above_chord": np.where(inside, above[0], np.nan), "above_low": np.where(inside, above_low, np.nan),
            "above_high": np.where(inside, above_high, np.nan),
        }
    )  # fmt: skip
    return table, Estimate.of(barrier[0], *interval(barrier))


def _of_kind(parts: Sequence[Part], found: _Scored, kind: str) -> _Scored:
    at = [place for place, part in enumerate(parts) if part.kind == kind]
    return _Scored(found.moments[at], found.losses[at])


def _reliability(sides: Mapping[str, tuple[Sequence[Part], _Scored]]) -> pd.DataFrame:
    """Of the ranking of the parts of each kind by the loss, in each direction; kinds of fewer than 3 have none."""
    rows = []
    for direction, (parts, found) in sides.items():
        for kind in dict.fromkeys(part.kind for part in parts if part.kind not in (*_SUMS, "kind")):
            of = split_half_of_means(losses := _of_kind(parts, found, kind).losses)
            if not np.isnan(of.pearson):
                rows.append((kind, direction, of.pearson, of.spearman, len(losses)))
    return pd.DataFrame(rows, columns=["kind", "direction", "pearson", "spearman", "parts"])


def _permuted(
    grafts: Grafts, task: Task, layers: Sequence[Part], gained: np.ndarray, found: pd.DataFrame, config: GraftConfig
) -> dict[str, pd.DataFrame]:
    """What a permuted change gives in each layer, whether the real one gives more, and the null panel: each draw held
    against the others as the real one is held against all. Adds its columns to `found`."""
    changes = [change for part in layers for change in grafts.permuted(part, PERMUTED, config.seed * PERMUTED)]
    judged = grafts.judged(task, "base", changes)
    drawn = (judged.losses[0] - judged.losses[1:]).mean(1).reshape(len(layers), PERMUTED)
    # A layer that didn't move has nothing to permute: what differs there is rounding.
    moved = np.array([grafts.moved(part.places) > 0 for part in layers])
    p = holm(np.where(moved, one_more_p(gained, drawn), 1.0))
    rows = found.index[(found["kind"] == "layer") & (found["direction"] == "enough")]
    found.loc[rows, "permuted"] = -drawn.mean(1)
    found.loc[rows, "permuted_p_holm"] = p
    found["above_permuted"] = pd.array([pd.NA] * len(found), dtype="boolean")
    found.loc[rows, "above_permuted"] = (p < LEVEL) & (gained > drawn.mean(1))
    others = ~np.eye(PERMUTED, dtype=bool)
    against = np.stack([drawn[:, others[draw]] for draw in range(PERMUTED)], 1)  # [layer, draw, other]
    of_nothing = holm(np.where(moved, one_more_p(drawn, against).T, 1.0))  # [draw, layer]
    counts = ((of_nothing < LEVEL) & (drawn > against.mean(-1)).T).sum(1)
    return {null_panel.TABLE: null_panel.panel({"layer": counts}, ["kind"])}
