"""The answer of `ablate`: what was lost without each part, as a table, numbers and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.caveats import cautions
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statistics import holm, paired_effects, sign_flip_p
from bertscope.core.units import Unit

if TYPE_CHECKING:
    from bertscope.core.predictions import Predictions
    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder

_LABELS = {"low": "from", "high": "to", "p_holm": "p (Holm)", "certain": "p < .05, corrected (Holm)"}
_LEVEL = 0.05
_WORDS = {
    "head": "one head",
    "heads": "all heads of a layer",
    "mlp": "the MLP of a layer",
    "layer": "the whole layer",
    "set": "a named set of parts",
}


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


def ablate_result(model: Encoder, task: Task, off: list[Off], switched: Predictions, config: AblateConfig) -> Result:
    full = task.score(switched.of_change(0))
    effects = _effects(task, switched, off, config)
    improves = effects[effects["effect"] > 0].sort_values("effect", ascending=False, kind="stable", ignore_index=True)
    return ablate.result(
        tables={"effects": effects, "improves": improves},
        headline=_headline(full, effects),
        figures=_figures(task.metric, config),
        subject={"model": model.name, "task": task.name, "mode": config.mode},
        notes=[
            *task.notes,
            *full.notes,
            *(f"{one.name} is {' + '.join(map(str, one.units))}" for one in off if one.kind == "set"),
            *cautions(model, task, full, switched.truncated),
            *_too_few(task, effects, config),
        ],
    )


def _too_few(task: Task, effects: pd.DataFrame, config: AblateConfig) -> list[str]:
    """Kinds with so many parts that no p-value can survive the correction."""
    if _exact(task):
        return []
    return [
        f"{config.permutations} permutations are too few for any of {count} {kind} parts to be certain"
        for kind, count in effects["kind"].value_counts(sort=False).items()
        if count / (config.permutations + 1) > _LEVEL
    ]


def _exact(task: Task) -> bool:
    """Whether the permutation test has a closed form, which is McNemar's exact test."""
    return task.metric == "accuracy"


def _effects(task: Task, switched: Predictions, off: list[Off], config: AblateConfig) -> pd.DataFrame:
    moments = task.moments(switched)  # [1 + parts, examples, k]
    found = paired_effects(
        task.value, moments[0], moments[1:],
        repeats=config.repeats, permutations=0 if _exact(task) else config.permutations, seed=config.seed,
    )  # fmt: skip
    more_hits = moments[1:, :, 0] - moments[0, :, 0]
    table = pd.DataFrame(
        {
            "unit": [one.name for one in off],
            "kind": [one.kind for one in off],
            "layer": pd.array([one.layer for one in off], dtype="Int64"),
            "head": pd.array([one.head for one in off], dtype="Int64"),
            "score": task.value(moments[1:].mean(1)),
            "effect": found.effect,
            "low": found.low,
            "high": found.high,
            "p": [sign_flip_p(differences) for differences in more_hits] if _exact(task) else found.p,
        }
    )
    # Each kind is a family of tests of its own: 12 layers need not pay for 144 heads.
    table["p_holm"] = table.groupby("kind")["p"].transform(lambda p: holm(p.to_numpy()))
    table["certain"] = table["p_holm"] < _LEVEL
    return table


def _headline(full: Scores, effects: pd.DataFrame) -> list[Number]:
    parts, sets = effects[effects["kind"] != "set"], effects[effects["kind"] == "set"]
    numbers = [
        full.keyed("score"),
        Number("chance", full.chance, n=full.n, unit=full.metric),
        *_ranges(full, parts),
        *(
            Number(f"change without {row['unit']}", row["effect"], row["low"], row["high"], full.n, full.metric)
            for row in sets.to_dict("records")
        ),
    ]
    if len(parts):
        certain = parts[parts["certain"]]["effect"]
        counts = {
            "parts it needs (p < .05, Holm)": (certain < 0).sum(),
            "parts that harm (p < .05, Holm)": (certain > 0).sum(),
            "parts without which the score is higher": (parts["effect"] > 0).sum(),
        }
        numbers += [Number(name, float(count), n=len(parts)) for name, count in counts.items()]
    return numbers


def _ranges(full: Scores, parts: pd.DataFrame) -> list[Number]:
    """From the lowest to the highest score without a single head, and without a layer's heads, as in Dark Secrets;
    where no heads were switched off, without a part of the first kind."""
    kinds = list(dict.fromkeys(parts["kind"]))
    numbers = []
    for kind in [kind for kind in kinds if kind in ("head", "heads")] or kinds[:1]:
        ordered = parts[parts["kind"] == kind].sort_values("score", kind="stable")
        for word, row in (("lowest", ordered.iloc[0]), ("highest", ordered.iloc[-1])):
            # The extremes of many get no interval: the one that belongs to each row ignores that it was picked.
            name = f"{word} without {_WORDS[kind]} ({row['unit']})"
            numbers.append(Number(name, float(row["score"]), n=full.n, unit=full.metric))
    return numbers


def _figures(metric: str, config: AblateConfig) -> list[Figure]:
    grid = Figure(
        "heatmap",
        "effects",
        x="head",
        y="layer",
        value="effect",
        low="low",
        high="high",
        where={"kind": "head"},
        title="One head switched off at a time",
        caption=f"The change of {metric} when a single head is switched off ({config.mode}). Below 0 the model "
        "needs the head, above 0 it does better without it. A dot: a paired test, corrected for the number of heads "
        "(Holm), finds a difference. Intervals are in the table: paired bootstrap, not corrected.",
        mark="certain",
        labels=_LABELS | {"effect": f"change of {metric}"},
        middle=0.0,
    )
    rows = [
        replace(
            grid,
            kind="intervals",
            x="effect",
            y="unit" if kind == "set" else "layer",
            value=None,
            mark=None,
            where={"kind": kind},
            title=f"Without {_WORDS[kind]}",
            caption=f"The change of {metric} without {_WORDS[kind]}, with its 95% paired bootstrap interval.",
        )
        for kind in ("heads", "mlp", "layer", "set")
        if kind in config.units or (kind == "set" and config.sets)
    ]
    return [grid, *rows] if "head" in config.units else rows
