"""`ablate`: the model's outputs on the test set, whole and without each part, and what the difference is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.ablate.question import DRAWS_OF_PARTS, FLIPS, FLIPS_OF_A_ROW, AblateConfig, named_sets
from bertscope.analyses.ablate.result import LEVEL, ablate_result
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.intervals import interval, share_interval
from bertscope.core.predictions import Judged
from bertscope.core.reliability import ENOUGH, Reliability, split_half, split_half_of_means
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.statistics import holm, holm_within, mcnemar_p, one_more_p, paired_effects, paired_p_of_nothing
from bertscope.core.units import Unit, every
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.outputs.kinds import model_output
from bertscope.models.random_part import losses_without_random_parts
from bertscope.models.references import References, alone, reference_for


@dataclass(frozen=True)
class Off:
    """What one row is about: a part, or a named set of parts, that is switched off."""

    kind: str
    name: str
    units: Sequence[Unit]
    layer: int | None = None
    head: int | None = None

    @classmethod
    def part(cls, unit: Unit) -> Off:
        return cls(unit.kind, str(unit), [unit], unit.layer, unit.number)


def measure(model: Encoder, task: Task, config: AblateConfig) -> Result:
    task = task.asked_of(model)
    off = [Off.part(unit) for kind in dict.fromkeys(config.units) for unit in every(kind, model.head_counts)]
    for name, units in named_sets(config.sets).items():
        off.append(Off("set", name, [unit.check(model.head_counts, model.neuron_counts) for unit in units]))
    if not off:
        others = "heads left; ask about something else with --units"
        raise UserError(f"{model.name} has no {others if model.n_layers else 'layers; give a model that has some'}")
    reference = _reference(model, task, off, config)
    switched = _without(model, task, off, config, reference)
    reliability = _reliability(task, switched, [one.kind for one in off])
    effects = _effects(task, switched, off, config)
    told_by = _told_by(task, switched, reliability)
    effects["told_by"] = [told_by.get(one.kind, "metric") for one in off]
    tables = {"reliability": reliability}
    flips, left_out = _flips(task, switched, off)
    if flips is not None:
        tables["flips"] = flips
    if config.null:
        random_parts = _random_parts(model, task, switched, off, config, reference)
        effects = pd.concat([effects, _random_weights(model, task, off, config), random_parts], axis=1)
        tables[null_panel.TABLE] = _nothing(task, switched, effects["kind"], config)
    sets = [f"{one.name} is {' + '.join(map(str, one.units))}" for one in off if one.kind == "set"]
    improves = effects[effects["effect"] > 0].sort_values("effect", ascending=False, kind="stable", ignore_index=True)
    return ablate_result(
        model, task, switched, {"effects": effects, "improves": improves, **tables},
        config, [*sets, *left_out],
    )  # fmt: skip


def _reference(model: Encoder, task: Task, off: Sequence[Off], config: AblateConfig) -> References:
    """What parts that are off leave behind, as the validation set tells it."""
    return reference_for(config.mode, model, task.output, task.validation, _sets(off), seed=config.seed)


def _without(model: Encoder, task: Task, off: Sequence[Off], config: AblateConfig, reference: References) -> Judged:
    """The test set scored by the whole model and without each part."""
    return judge_without(model, task.output, task.test, _sets(off), mode=config.mode, reference=reference)


def _sets(off: Sequence[Off]) -> list[Sequence[Unit]]:
    """The whole model, and what is off in each row."""
    return [[], *(one.units for one in off)]


def _exact(task: Task, config: AblateConfig) -> bool:
    """Whether a text is right or wrong and the test of the score exact; the mean of several draws is between."""
    return task.output.counts_hits and config.mode != "resample"


def _mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _effects(task: Task, switched: Judged, off: Sequence[Off], config: AblateConfig) -> pd.DataFrame:
    moments, losses = switched.moments, switched.losses[..., None]  # [1 + parts, examples, k]
    how: dict[str, Any] = {"repeats": config.repeats, "seed": config.seed}
    swaps = 0 if _exact(task, config) else config.permutations
    found = paired_effects(task.value, moments[0], moments[1:], permutations=swaps, **how)
    by_loss = paired_effects(_mean, losses[0], losses[1:], permutations=config.permutations, **how)
    more_hits = moments[1:, :, 0] - moments[0, :, 0]
    p = mcnemar_p(more_hits.sum(1), np.abs(more_hits).sum(1)) if _exact(task, config) else found.p
    kinds = np.array([one.kind for one in off])
    columns = {
        "unit": [one.name for one in off],
        "kind": kinds,
        "layer": pd.array([one.layer for one in off], dtype="Int64"),
        "head": pd.array([one.head for one in off], dtype="Int64"),
        "score": task.value(moments[1:].mean(1)),
        "effect": found.effect,
        "low": found.low,
        "high": found.high,
        **_tested(p, kinds),
        "loss_rise": by_loss.effect,
        "loss_low": by_loss.low,
        "loss_high": by_loss.high,
        **_tested(by_loss.p, kinds, "loss_"),
        **_effect_sizes(task, switched, how),
    }
    return pd.DataFrame(columns)


def _tested(p: np.ndarray, kinds: np.ndarray, prefix: str = "") -> dict[str, np.ndarray]:
    """Each kind is a family of tests of its own: 12 layers need not pay for 144 heads."""
    corrected = holm_within(p, kinds)
    return {f"{prefix}p": p, f"{prefix}p_holm": corrected, f"{prefix}certain": corrected < LEVEL}


def _effect_sizes(task: Task, switched: Judged, how: dict[str, Any]) -> dict[str, np.ndarray]:
    """How far predictions move, whatever is right. Whatever a part does, that is no less than 0: there is no test."""
    key = task.output.divergence_key
    draws = metric_draws(_mean, switched.divergence[1:, :, None], **how)
    low, high = interval(draws)
    sizes = {key: draws[0], f"{key}_low": low, f"{key}_high": high}
    flips = switched.flips[1:].mean(1)
    if not np.isnan(flips).all():
        low, high = share_interval(flips, len(task.test))
        sizes |= {"flips": flips, "flips_low": low, "flips_high": high}
    return sizes


def _flips(task: Task, switched: Judged, off: Sequence[Off]) -> tuple[pd.DataFrame | None, list[str]]:
    """The parts without which a row's prediction is another, those first without which it moves furthest; none where
    nothing can flip. And what is to be said of those that are left out."""
    flips, single = switched.flips[1:], np.array([one.kind != "set" for one in off])
    if np.isnan(flips).all() or not single.any():
        return None, []
    row, part = np.nonzero((flips > 0.5).T & single)  # of several draws: in most of them
    order = np.lexsort((part, -switched.divergence[1:][part, row], row))
    row, part = row[order], part[order]
    count = np.bincount(row, minlength=len(task.test))
    place = np.arange(len(row)) - (count.cumsum() - count)[row]
    most = next((k for k in range(FLIPS_OF_A_ROW, 1, -1) if np.minimum(count, k).sum() <= FLIPS), 1)
    kept = np.flatnonzero(place < most)[:FLIPS]
    ids, units = np.array(task.test.ids, dtype=object), np.array([one.name for one in off], dtype=object)
    table = pd.DataFrame({"row": ids[row[kept]], "unit": units[part[kept]]}, dtype="str")
    if len(kept) == len(row):
        return table, []
    return table, [
        f"flips: {len(row):,} times a row's prediction flips without a part; {len(kept):,} are listed, of a row at "
        f"most the {most} parts without which it moves furthest"
    ]


def _reliability(task: Task, switched: Judged, kinds: Sequence[str]) -> pd.DataFrame:
    """Of the ranking of the parts of each kind, by the metric and by the loss; kinds of fewer than 3 have none."""
    moments, losses = switched.moments[1:], switched.losses[1:]

    def of(kind: str, measure: str) -> Reliability:
        at = np.array(kinds) == kind
        return split_half_of_means(losses[at]) if measure == "loss" else split_half(task.value, moments[at])

    each = {
        (kind, measure): of(kind, measure)
        for kind in dict.fromkeys(kinds) if kind != "set"
        for measure in ("metric", "loss")
    }  # fmt: skip
    rows = [
        (kind, measure, one.pearson, one.spearman, kinds.count(kind))
        for (kind, measure), one in each.items() if not np.isnan(one.pearson)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["kind", "measure", "pearson", "spearman", "parts"])


def _told_by(task: Task, switched: Judged, reliability: pd.DataFrame) -> dict[str, str]:
    """What each kind of part is told by: the metric, or the loss where the metric's ranking is mostly noise and the
    loss's is less so. The loss of scores in another unit than the task's says nothing."""
    by = reliability.pivot(index="kind", columns="measure", values="pearson")
    if by.empty or _in_another_unit(task, switched):
        return {}
    noisy = (by["metric"] < ENOUGH) & (by["loss"] > by["metric"])
    return noisy.map({True: "loss", False: "metric"}).to_dict()


def _in_another_unit(task: Task, switched: Judged) -> bool:
    """Whether a model of scores is further from the right ones than their mean is."""
    if task.loss_scale == 1:
        return False
    blind = task.losses(task.blind_outputs(task.test)).mean()
    return bool(switched.losses[0].mean() > blind)


def _nothing(task: Task, switched: Judged, kinds: pd.Series, config: AblateConfig) -> pd.DataFrame:
    """The null panel: the whole model's outputs and those without a part exchanged row by row, tested as they are."""
    moments, losses = switched.moments, switched.losses[..., None]
    how: dict[str, Any] = {"draws": null_panel.DRAWS, "permutations": config.permutations, "seed": config.seed}
    p = {"loss": paired_p_of_nothing(_mean, losses[0], losses[1:], **how)}
    if _exact(task, config):
        more_hits = moments[1:, :, 0] - moments[0, :, 0]
        coins = np.random.default_rng(config.seed).choice([-1.0, 1.0], size=(null_panel.DRAWS, more_hits.shape[1]))
        p["metric"] = mcnemar_p(coins @ more_hits.T, np.abs(more_hits).sum(1))
    else:
        p["metric"] = paired_p_of_nothing(task.value, moments[0], moments[1:], **how)
    certain = {measure: _tested(p[measure], kinds.to_numpy())["certain"] for measure in ("metric", "loss")}
    found: dict[Hashable, np.ndarray] = {
        (kind, measure): certain[measure][:, kinds == kind].sum(1)
        for kind in dict.fromkeys(kinds) for measure in certain
    }  # fmt: skip
    return null_panel.panel(found, ["kind", "measure"])


def _random_weights(model: Encoder, task: Task, off: Sequence[Off], config: AblateConfig) -> pd.DataFrame:
    """What the same parts do in the same model with random weights."""
    twin = model_output(model, task.output).with_random_weights(config.seed)
    switched = _without(twin, task, off, config, _reference(twin, task, off, config))
    rise, key = (switched.losses[1:] - switched.losses[0]).mean(1), task.output.divergence_key
    return pd.DataFrame({"random_weights": rise, f"random_weights_{key}": switched.divergence[1:].mean(1)})


def _random_parts(
    model: Encoder, task: Task, switched: Judged, off: Sequence[Off], config: AblateConfig, reference: References
) -> pd.DataFrame:
    """What a random part in a head's place costs, and whether the head costs more. Other parts have as many
    directions as the layer has: nothing random is like them."""
    places = [place for place, one in enumerate(off) if one.kind == "head"]
    if not places:
        return pd.DataFrame(index=range(len(off)))
    without_any = losses_without_random_parts(
        model, task.output, task.test, [off[place].units[0] for place in places], draws=DRAWS_OF_PARTS,
        mode=config.mode, reference=alone(reference, _sets(off)), seed=config.seed,
    )  # fmt: skip
    losses = switched.losses  # [1 + parts, n], beside [head, draw, n]
    rise = (without_any - losses[0]).mean(-1)
    own = (losses[1:][places] - losses[0]).mean(1)
    # Not whether it is above their mean, which one random part in two is: whether it could be one more of them.
    p, more = holm(one_more_p(own, rise)), own - rise.mean(1)
    found = {
        "random_part": rise.mean(1),
        "random_most": rise.max(1),
        "over_random": more,
        "over_random_p_holm": p,
        "above_random": pd.array((more > 0) & (p < LEVEL), dtype="boolean"),
    }
    return pd.DataFrame(found, index=places).reindex(range(len(off)))
