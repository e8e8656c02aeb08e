"""`importance`: each part's gradients, read off one pass over the validation set and resampled over examples; and
whether they can be believed: set against what happens when parts are really switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bertscope.analyses.gradients import Gradients, cumulated, example_gradients, unit_length
from bertscope.analyses.importance.question import ABLATION, IMPORTANCE, NORMALISED, ImportanceConfig
from bertscope.analyses.importance.result import importance_result
from bertscope.analyses.one_by_one import Orders, fall
from bertscope.analyses.part_rankings import of_units
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval
from bertscope.core.ranking import RANDOM, Ranking, places, rank_correlation
from bertscope.core.reliability import Reliability, split_half, split_half_of_means
from bertscope.core.resampling import Resampling, resampled_means
from bertscope.core.result import Result
from bertscope.core.units import Unit, every
from bertscope.data.scored import Scores
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.base import put
from bertscope.models.outputs.kinds import model_output

Reliabilities = Mapping[tuple[str, str], Reliability]
"""(kind, by what parts are ranked) to how reliable that is."""


def measure(model: Encoder, task: Task, config: ImportanceConfig) -> Result:
    task = task.asked_of(model)
    if config.faithful and config.mode == "uniform":
        with model.gates(mode="uniform"):  # refused where it can't be, before anything is computed
            pass
    resampling = Resampling(task.validation.ids, repeats=config.repeats, seed=config.seed)
    found = read_importance(model, task, config, resampling)
    checked = faithfulness(model, task, found, config, resampling) if config.faithful and found.units else None
    return importance_result(model, task, found, checked, config)


@dataclass(frozen=True)
class Importances:
    """The importance of heads and MLPs, and of neurons. Draws are the sample itself, then its resamples."""

    heads: np.ndarray
    """[1 + repeats, layer, head]; NaN where a layer that was cut has no such head."""
    mlps: np.ndarray
    """[1 + repeats, layer]"""
    neurons: list[np.ndarray]
    """[neuron] of each layer, if they were asked for: the mean,"""
    neuron_errors: list[np.ndarray]
    """and its standard error. Resamples of so many would be too much to keep."""
    units: list[Unit]
    """The heads and MLPs that were asked for, as far as the model has them."""
    loss: np.ndarray
    """[1 + repeats]: the whole model's."""
    score: Scores
    """The whole model's on the validation set."""
    truncated: int
    reliability: Reliabilities
    """Of the rankings of heads, and of MLPs, by importance, and of heads by normalised importance; none of the
    cumulative form, which isn't a mean over examples."""

    @cached_property
    def draws(self) -> np.ndarray:
        """[1 + repeats, unit]"""
        return of_units(self.heads, self.mlps, self.units)

    @cached_property
    def ranked(self) -> np.ndarray:
        """[1 + repeats, unit]: what the papers rank parts by, heads divided by their layer's length."""
        return of_units(unit_length(self.heads), self.mlps, self.units)

    @cached_property
    def normalised(self) -> Gradients:
        return Gradients(self.heads[0], self.mlps[0], self.neurons or None).normalised()

    @cached_property
    def normalised_units(self) -> np.ndarray:
        """[unit]"""
        return of_units(self.normalised.heads, self.normalised.mlps, self.units)

    @property
    def kinds(self) -> list[str]:
        """The kinds of units that there are."""
        return list(dict.fromkeys(unit.kind for unit in self.units))

    def of_kind(self, kind: str) -> list[int]:
        """Where the units of that kind stand."""
        return places(self.units, kind)


def read_importance(encoder: Encoder, task: Task, config: ImportanceConfig, resampling: Resampling) -> Importances:
    """One pass. What is kept of an example is a number for each head and MLP."""
    units = _units(encoder, config)
    validation = task.validation
    heads = np.zeros((len(validation), encoder.n_layers, encoder.n_heads))
    mlps, loss = np.zeros((len(validation), encoder.n_layers)), np.zeros(len(validation))
    answers: np.ndarray | None = None
    neurons = [np.zeros((2, n)) for n in encoder.neuron_counts] if "neuron" in config.units else []
    truncated = 0
    for part in example_gradients(encoder, task, validation, per_token=config.form == "token", neurons=bool(neurons)):
        heads[part.rows], mlps[part.rows], loss[part.rows] = part.heads, part.mlps, part.losses
        if answers is None:
            answers = model_output(encoder, task.output).nothing_predicted(validation, part.outputs.dtype)
        put(answers, part.rows, task.outputs_to_predictions(part.outputs))
        for sums, layer in zip(neurons, part.neurons, strict=True):
            sums += np.abs(layer).sum(0, dtype=np.float64), np.square(layer, dtype=np.float64).sum(0)
        truncated += part.truncated
    assert answers is not None
    means, errors = _means_and_errors(neurons, len(validation))

    def draws(values: np.ndarray) -> np.ndarray:
        if config.form == "cumulative":  # the examples' order is part of it: there is nothing to resample
            return np.repeat(cumulated(values, config.batch_size)[None], 1 + config.repeats, 0)
        return resampled_means(resampling, np.abs(values))

    return Importances(
        heads=draws(heads),
        mlps=draws(mlps),
        neurons=means,
        neuron_errors=errors,
        units=units,
        loss=resampled_means(resampling, loss),
        score=task.score_answers(answers, validation),
        truncated=truncated,
        reliability={} if config.form == "cumulative" else _reliability(units, heads, mlps, config.seed),
    )


def _reliability(
    units: list[Unit], heads: np.ndarray, mlps: np.ndarray, seed: int
) -> dict[tuple[str, str], Reliability]:
    """From each example's gradients of heads [example, layer, head] and MLPs [example, layer]."""
    found: dict[tuple[str, str], Reliability] = {}
    of_heads, of_mlps = ([unit for unit in units if unit.kind == kind] for kind in ("head", "mlp"))
    if of_heads:
        layer = np.array([unit.layer_index for unit in of_heads])
        values = np.abs(heads[:, layer, [unit.index for unit in of_heads]]).T
        member = np.equal.outer(layer, np.unique(layer)).astype(float)  # [head, layer]

        def of_length_1(means: np.ndarray) -> np.ndarray:
            """Divided by the length of the layer's vector; where that is 0, so are they."""
            length = np.sqrt(np.square(means[..., 0]) @ member @ member.T)
            return np.divide(means[..., 0], length, out=np.zeros_like(length), where=length > 0)

        found["head", IMPORTANCE] = split_half_of_means(values, seed=seed)
        found["head", NORMALISED] = split_half(of_length_1, values[..., None], seed=seed)
    if of_mlps:
        values = np.abs(mlps[:, [unit.layer_index for unit in of_mlps]]).T
        found["mlp", IMPORTANCE] = split_half_of_means(values, seed=seed)
    return found


def _units(encoder: Encoder, config: ImportanceConfig) -> list[Unit]:
    """The heads and MLPs that are asked for, where there are any left."""
    kept = [unit for unit in every("mlp", encoder.head_counts) if encoder.neuron_counts[unit.layer_index]]
    there = {"head": every("head", encoder.head_counts), "mlp": kept, "neuron": kept}
    for kind in config.units:
        if not there[kind]:
            raise UserError(f"{encoder.name} has no {kind}s left; ask about something else with --units")
    return [unit for kind in ("head", "mlp") if kind in config.units for unit in there[kind]]


def _means_and_errors(neurons: list[np.ndarray], n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of each layer's neurons, from the sums of sizes and of squares [2, neuron] over n examples."""
    means = [sums[0] / n for sums in neurons]
    spreads = [np.maximum(sums[1] / n - mean**2, 0) for sums, mean in zip(neurons, means, strict=True)]
    return means, [np.sqrt(spread / max(1, n - 1)) for spread in spreads]


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
