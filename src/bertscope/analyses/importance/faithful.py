"""Whether importance can be believed: set against what happens when parts are really switched off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy.integrate import trapezoid
from scipy.stats import rankdata

from bertscope.analyses.gradients import losses
from bertscope.core.intervals import interval
from bertscope.core.resampling import Resampling, metric_draws, resampled_means
from bertscope.core.units import Unit
from bertscope.models.replay import predict_without

if TYPE_CHECKING:
    from bertscope.analyses.importance.measure import Importances
    from bertscope.analyses.importance.question import ImportanceConfig
    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.gates import Means

Orders = Mapping[tuple[str, str], Sequence[Sequence[Unit]]]
"""(kind, name) to the order, or the orders, in which the parts of that kind go."""
IMPORTANCE, NORMALISED, ABLATION, RANDOM = "importance", "normalised importance", "effect alone", "random"


@dataclass(frozen=True)
class Faithfulness:
    effects: dict[str, np.ndarray]
    """What switching each part off alone does, [1 + repeats, unit]: `rise` of the mean loss, `size` of the change of
    each example's loss, `drop` of the score."""
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
    reference = encoder.means(task.validation) if config.mode == "mean" else None
    effects = single_effects(encoder, task, found.units, resampling, config, reference)
    curves = fall(encoder, task, _orders(found, effects["rise"][0], config), config, reference)
    return Faithfulness(effects, _agreement(found, effects), *curves)


def single_effects(
    encoder: Encoder,
    task: Task,
    units: Sequence[Unit],
    resampling: Resampling,
    config: ImportanceConfig,
    reference: Means | None,
) -> dict[str, np.ndarray]:
    """What switching each part off alone does on the validation set, [1 + repeats, unit]; above 0: it is missed."""
    validation, off = task.validation, [[], *([unit] for unit in units)]
    outputs = task.outputs(predict_without(encoder, validation, off, mode=config.mode, reference=reference))
    assert validation.label is not None
    loss = losses(task, torch.from_numpy(outputs).double(), torch.from_numpy(validation.label)).numpy()
    change = (loss[1:] - loss[0]).T  # [example, unit]
    score = task.value(resampled_means(resampling, task.moments(outputs, validation).swapaxes(0, 1)))
    return {
        "rise": resampled_means(resampling, change),
        "size": resampled_means(resampling, np.abs(change)),
        "drop": score[:, :1] - score[:, 1:],
    }


def fall(
    encoder: Encoder, task: Task, orders: Orders, config: ImportanceConfig, reference: Means | None
) -> tuple[pd.DataFrame, pd.DataFrame, Scores, int]:
    """The test set's score as parts go one after the other, in each order; and the area under each such curve."""
    places: dict[frozenset[Unit], int] = {frozenset(): 0}  # orders begin and end alike: no set is run twice
    lines = {
        key: [
            [places.setdefault(frozenset(order[:size]), len(places)) for size in sizes(len(order), config.steps)]
            for order in several
        ]
        for key, several in orders.items()
    }
    switched = predict_without(
        encoder, task.test, [sorted(off) for off in places], mode=config.mode, reference=reference
    )
    draws = metric_draws(task.value, task.moments(switched), repeats=config.repeats, seed=config.seed)
    counts = {kind: sizes(len(several[0]), config.steps) for (kind, _), several in orders.items()}
    scores = {key: draws[:, several] for key, several in lines.items()}  # [1 + repeats, orders, points]
    curves = [_curve(kind, name, counts[kind], each) for (kind, name), each in scores.items()]
    areas = {
        (kind, name): trapezoid(each.mean(1), counts[kind] / counts[kind][-1], axis=-1)
        for (kind, name), each in scores.items()
    }
    return pd.concat(curves, ignore_index=True), _areas(areas), task.score(switched.of_change(0)), switched.truncated


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


def _agreement(found: Importances, effects: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = []
    for kind in found.kinds:
        here = found.of_kind(kind)
        for name, draws in ((IMPORTANCE, found.draws), (NORMALISED, found.ranked)):
            for effect, values in effects.items() if name == IMPORTANCE or kind == "head" else ():
                correlation = rank_correlation(draws[:, here], values[:, here])
                low, high = interval(correlation)
                rows.append({"kind": kind, "ranked_by": name, "effect": effect, "correlation": correlation[0],
                             "low": low, "high": high, "n": len(here)})  # fmt: skip
    return pd.DataFrame(rows).astype({"low": float, "high": float})


def _curve(kind: str, order: str, counts: np.ndarray, each: np.ndarray) -> pd.DataFrame:
    """Of one order its bootstrap interval, of several their range; `each` is [1 + repeats, orders, points]."""
    several = each.shape[1] > 1
    low, high = (each[0].min(0), each[0].max(0)) if several else interval(each[:, 0])
    return pd.DataFrame(
        {"kind": kind, "order": order, "off": counts, "share": counts / counts[-1], "score": each[0].mean(0),
         "low": low, "high": high}
    )  # fmt: skip


def _areas(areas: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """Each order's area with its interval, and how much more it is than that of random order, paired."""
    rows = []
    for (kind, name), area in areas.items():
        more = area - areas[kind, RANDOM]
        (low, high), (more_low, more_high) = interval(area), interval(more)
        rows.append({"kind": kind, "order": name, "area": area[0], "low": low, "high": high,
                     "more_than_random": more[0], "more_low": more_low, "more_high": more_high})  # fmt: skip
    return pd.DataFrame(rows).astype(dict.fromkeys(("low", "high", "more_low", "more_high"), float))
