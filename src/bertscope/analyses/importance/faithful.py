"""Whether importance can be believed: set against what happens when parts are really switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.one_by_one import Orders, fall
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.intervals import interval
from bertscope.core.ranking import RANDOM, Ranking, rank_correlation
from bertscope.core.reliability import Reliability, split_half, split_half_of_means
from bertscope.core.resampling import Resampling, resampled_means
from bertscope.core.units import Unit

if TYPE_CHECKING:
    from bertscope.analyses.importance.measure import Importances
    from bertscope.analyses.importance.question import ImportanceConfig
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

Reliabilities = Mapping[tuple[str, str], Reliability]
"""(kind, by what parts are ranked) to how reliable that is."""
IMPORTANCE, NORMALISED, ABLATION = "importance", "normalised_importance", "effect_alone"
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
    without = WithoutParts(encoder, task, config.mode, seed=config.seed)
    effects, moved, reliability = single_effects(without, found, resampling, config)
    orders = _orders(found, effects["rise"][0], config)
    fell = fall(without, task.test, orders, steps=config.steps, repeats=config.repeats, seed=config.seed)
    return Faithfulness(
        effects,
        moved,
        reliability,
        agreement=_agreement(found, effects, {**found.reliability, **reliability}),
        curves=fell.curves,
        areas=fell.areas,
        score=task.score_answers(fell.judged.predicted[0], notes=task.label_notes(encoder.labels)),
        truncated=fell.judged.truncated,
    )


def single_effects(
    without: WithoutParts, found: Importances, resampling: Resampling, config: ImportanceConfig
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], Reliabilities]:
    """What switching each part off alone does on the validation set, [1 + repeats, unit]; above 0: it is missed. And
    how far it moves predictions, and how reliable rankings by each effect are."""
    task = without.task
    switched = without.judged(task.validation, [[], *([unit] for unit in found.units)])
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


def _orders(found: Importances, rise: np.ndarray, config: ImportanceConfig) -> Orders:
    """The parts of each kind, those that seem to matter least first."""
    generator = np.random.default_rng(config.seed)
    orders: dict[tuple[str, str], list[list[Unit]]] = {}
    for kind in found.kinds:
        random = generator.random((config.random, len(found.units)))
        values = {IMPORTANCE: [found.draws[0]], ABLATION: [rise], RANDOM: [*random]}
        if kind == "head":  # MLPs are one to a layer: there is nothing to divide by
            values[NORMALISED] = [found.ranked[0]]
        for by, several in values.items():
            orders[kind, by] = [Ranking(by, tuple(found.units), each).rising(kind) for each in several]
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
