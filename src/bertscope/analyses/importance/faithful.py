"""Whether importance can be believed: set against what happens when parts are really switched off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.integrate import trapezoid
from scipy.stats import rankdata

from bertscope.core.intervals import interval
from bertscope.core.reliability import Reliability, split_half, split_half_of_means
from bertscope.core.resampling import Resampling, metric_draws, resampled_means
from bertscope.core.units import Unit
from bertscope.models.judge import judge_without
from bertscope.models.references import References, reference_for

if TYPE_CHECKING:
    from bertscope.analyses.importance.measure import Importances
    from bertscope.analyses.importance.question import ImportanceConfig
    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Judged
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

Reliabilities = Mapping[tuple[str, str], Reliability]
"""(kind, by what parts are ranked) to how reliable that is."""
Orders = Mapping[tuple[str, str], Sequence[Sequence[Unit]]]
"""(kind, name) to the order, or the orders, in which the parts of that kind go."""
IMPORTANCE, NORMALISED, ABLATION, RANDOM = "importance", "normalised_importance", "effect_alone", "random"
"""By what parts are put in order."""


@dataclass(frozen=True)
class Faithfulness:
    effects: dict[str, np.ndarray]
    """What switching each part off alone does, [1 + repeats, unit]: `rise` of the mean loss, `size` of the change of
    each example's loss, `drop` of the score."""
    moved: dict[str, np.ndarray]
    """How far that takes predictions from the whole model's, [1 + repeats, unit]: `kl`, and `flips`, the share that
    becomes another; no flips of scores."""
    reliability: Reliabilities
    """Of the ranking of the parts of a kind by each effect."""
    agreement: pd.DataFrame
    curves: pd.DataFrame
    areas: pd.DataFrame
    score: Scores
    """The whole model's on the test set."""
    truncated: int


def faithfulness(
    encoder: Encoder, task: Task, found: Importances, config: ImportanceConfig, resampling: Resampling
) -> Faithfulness:
    """What each part's absence does, on the validation set; and the parts going one after the other, on the test
    set, in orders that the validation set decides."""
    reference = None if config.mode == "optimal" else _reference(encoder, task, [], config)
    effects, moved, reliability = single_effects(encoder, task, found, resampling, config, reference)
    curves = fall(encoder, task, _orders(found, effects["rise"][0], config), config, reference)
    agreement = _agreement(found, effects, {**found.reliability, **reliability})
    return Faithfulness(effects, moved, reliability, agreement, *curves)


def single_effects(
    encoder: Encoder,
    task: Task,
    found: Importances,
    resampling: Resampling,
    config: ImportanceConfig,
    reference: References,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], Reliabilities]:
    """What switching each part off alone does on the validation set, [1 + repeats, unit]; above 0: it is missed. And
    how far it moves predictions, and how reliable rankings by each effect are."""
    validation, off = task.validation, [[], *([unit] for unit in found.units)]
    switched = _without(encoder, task, validation, off, config, reference)
    loss, moments = switched.losses / task.loss_scale, switched.moments
    change = (loss[1:] - loss[0]).T  # [example, unit]
    score = task.value(resampled_means(resampling, moments.swapaxes(0, 1)))
    effects = {
        "rise": resampled_means(resampling, change),
        "size": resampled_means(resampling, np.abs(change)),
        "drop": score[:, :1] - score[:, 1:],
    }
    moved = {"kl": switched.divergence[1:], "flips": switched.flips[1:]}
    reliability: dict[tuple[str, str], Reliability] = {}
    for kind in found.kinds:
        here = found.of_kind(kind)
        values = {"rise": change[:, here], "size": np.abs(change[:, here])}
        reliability |= {(kind, name): split_half_of_means(each.T, seed=config.seed) for name, each in values.items()}
        reliability[kind, "drop"] = split_half(task.value, moments[1:][here], seed=config.seed)
    shown = {name: resampled_means(resampling, each.T) for name, each in moved.items() if not np.isnan(each).any()}
    return effects, shown, reliability


def fall(
    encoder: Encoder, task: Task, orders: Orders, config: ImportanceConfig, reference: References
) -> tuple[pd.DataFrame, pd.DataFrame, Scores, int]:
    """The test set's score and loss as parts go one after the other, in each order; and the area under each such
    curve."""
    places: dict[frozenset[Unit], int] = {frozenset(): 0}  # orders begin and end alike: no set is run twice
    lines = {
        key: [
            [places.setdefault(frozenset(order[:size]), len(places)) for size in sizes(len(order), config.steps)]
            for order in several
        ]
        for key, several in orders.items()
    }
    switched = _without(encoder, task, task.test, [sorted(off) for off in places], config, reference)
    resample: dict[str, int] = {"repeats": config.repeats, "seed": config.seed}
    losses = switched.losses[..., None] / task.loss_scale
    draws = {
        "score": metric_draws(task.value, switched.moments, **resample),
        "loss": metric_draws(lambda means: means[..., 0], losses, **resample),
    }
    counts = {kind: sizes(len(several[0]), config.steps) for (kind, _), several in orders.items()}
    # [1 + repeats, orders, points]
    along = {key: {by: each[:, several] for by, each in draws.items()} for key, several in lines.items()}
    curves = [_curve(kind, name, counts[kind], each) for (kind, name), each in along.items()]
    areas = {
        (kind, name): {by: trapezoid(each.mean(1), counts[kind] / counts[kind][-1], axis=-1)
                       for by, each in measures.items()}
        for (kind, name), measures in along.items()
    }  # fmt: skip
    whole = task.score_answers(switched.predicted[0], notes=task.label_notes(encoder.labels))
    return pd.concat(curves, ignore_index=True), _areas(areas), whole, switched.truncated


def _without(
    encoder: Encoder,
    task: Task,
    examples: Examples,
    off: Sequence[Sequence[Unit]],
    config: ImportanceConfig,
    reference: References,
) -> Judged:
    """These examples without each set of parts; what is optimal for one isn't for another."""
    if config.mode == "optimal":
        reference = _reference(encoder, task, off, config)
    return judge_without(encoder, task.output, examples, off, mode=config.mode, reference=reference)


def _reference(encoder: Encoder, task: Task, off: Sequence[Sequence[Unit]], config: ImportanceConfig) -> References:
    return reference_for(config.mode, encoder, task.output, task.validation, off, seed=config.seed)


def sizes(n: int, steps: int) -> np.ndarray:
    """How many of n parts are off at each point: from none to all, in about equal steps."""
    return np.unique(np.round(np.linspace(0, n, min(n, steps) + 1)).astype(int))


def rank_correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each two rows of [..., n]; NaN where one doesn't vary."""
    a, b = (ranks - ranks.mean(-1, keepdims=True) for ranks in (rankdata(side, axis=-1) for side in (one, other)))
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.full_like(norm, np.nan), where=norm > 0)


def _orders(found: Importances, rise: np.ndarray, config: ImportanceConfig) -> Orders:
    """The parts of each kind, those that seem to matter least first."""
    generator = np.random.default_rng(config.seed)
    orders: dict[tuple[str, str], list[list[Unit]]] = {}
    for kind in found.kinds:
        orders[kind, IMPORTANCE] = [found.rising(kind, found.draws[0])]
        orders[kind, ABLATION] = [found.rising(kind, rise)]
        random = generator.random((config.random, len(found.units)))
        orders[kind, RANDOM] = [found.rising(kind, values) for values in random]
        if kind == "head":  # MLPs are one to a layer: there is nothing to divide by
            orders[kind, NORMALISED] = [found.rising(kind, found.ranked[0])]
    return orders


def _agreement(found: Importances, effects: dict[str, np.ndarray], reliability: Reliabilities) -> pd.DataFrame:
    rows = []
    for kind in found.kinds:
        here = found.of_kind(kind)
        for name, draws in ((IMPORTANCE, found.draws), (NORMALISED, found.ranked)):
            for effect, values in effects.items() if name == IMPORTANCE or kind == "head" else ():
                correlation = rank_correlation(draws[:, here], values[:, here])
                low, high = interval(correlation)
                rows.append({"kind": kind, "ranked_by": name, "effect": effect, "correlation": correlation[0],
                             "low": low, "high": high, "n": len(here),
                             "reliability": _spearman(reliability, kind, name),
                             "effect_reliability": _spearman(reliability, kind, effect)})  # fmt: skip
    return pd.DataFrame(rows).astype({"low": float, "high": float})


def _spearman(reliability: Reliabilities, kind: str, by: str) -> float:
    """NaN where there is none."""
    return reliability[kind, by].spearman if (kind, by) in reliability else np.nan


def _curve(kind: str, order: str, counts: np.ndarray, along: dict[str, np.ndarray]) -> pd.DataFrame:
    """Of one order its bootstrap interval, of several their range; all `along` are [1 + repeats, orders, points]."""
    columns: dict[str, Any] = {"kind": kind, "order": order, "off": counts, "share": counts / counts[-1]}
    for by, each in along.items():
        low, high = (each[0].min(0), each[0].max(0)) if each.shape[1] > 1 else interval(each[:, 0])
        columns |= {by: each[0].mean(0), **dict(zip(_ends(by), (low, high), strict=True))}
    return pd.DataFrame(columns)


def _areas(areas: dict[tuple[str, str], dict[str, np.ndarray]]) -> pd.DataFrame:
    """Each order's area with its interval, and how much more it is than that of random order, paired; by the score,
    and by the loss, of which a good order has less."""
    rows = []
    for (kind, name), measures in areas.items():
        row: dict[str, Any] = {"kind": kind, "order": name}
        for by, area in measures.items():
            of = "" if by == "score" else f"{by}_"
            for column, draws in (("area", area), ("more", area - areas[kind, RANDOM][by])):
                (low, high), begins = interval(draws), of if column == "area" else f"{of}{column}_"
                value = f"{of}area" if column == "area" else f"{begins}than_random"
                row |= {value: draws[0], f"{begins}low": float(low), f"{begins}high": float(high)}
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(by: str) -> tuple[str, str]:
    """What the ends of a curve's band are called."""
    return ("low", "high") if by == "score" else (f"{by}_low", f"{by}_high")
