"""`importance`: each part's gradients, read off one pass over the validation set and resampled over examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertscope.analyses.gradients import Gradients, cumulated, example_gradients, unit_length
from bertscope.analyses.importance.faithful import IMPORTANCE, NORMALISED, faithfulness
from bertscope.analyses.importance.question import ImportanceConfig
from bertscope.analyses.importance.result import importance_result
from bertscope.analyses.part_rankings import of_units
from bertscope.core.errors import UserError
from bertscope.core.ranking import places
from bertscope.core.reliability import Reliability, split_half, split_half_of_means
from bertscope.core.resampling import Resampling, resampled_means
from bertscope.core.result import Result
from bertscope.core.units import Unit, every
from bertscope.data.scored import Scores
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.base import put
from bertscope.models.outputs.kinds import model_output


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
    reliability: Mapping[tuple[str, str], Reliability]
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
