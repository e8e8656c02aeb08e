"""The answer of `erase`: what each erased label costs, layer by layer, beside random subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.erase import EraseConfig
from bertscope.analyses.erase_measures import Ability, Erasing
from bertscope.core.figure import Figure
from bertscope.core.resampling import interval
from bertscope.core.result import Number, Result
from bertscope.models.encoder import Encoder

RANDOM = "random subspaces"
_LABELS = {"low": "from", "high": "to"}


def make_result(
    model: Encoder, measured: Sequence[Ability], erased: Sequence[Erasing], layers: Sequence[int], config: EraseConfig
) -> Result:
    """Run the model with everything erased in turn, and compare."""
    rows: list[dict[str, Any]] = []
    headline: list[Number] = []
    for ability in measured:
        changes = [change for one in erased for layer in layers for change in one.changes(layer, model.device)]
        draws = ability.draws([None, *changes])
        low, high = interval(draws[:, 0])
        headline.append(Number(ability.name, float(draws[0, 0]), float(low), float(high), ability.n, ability.unit))
        # [1 + repeats, target, layer, the label's eraser and the random ones]
        effects = (draws[:, 1:] - draws[:, :1]).reshape(len(draws), len(erased), len(layers), -1)
        for place, one in enumerate(erased):
            rows += [_row(ability, one, layer, draws[0, 0], effects[:, place, at]) for at, layer in enumerate(layers)]
            headline += _numbers(ability, one.target, effects[:, place], rows[-len(layers) :])
    effects_table = pd.DataFrame(rows)
    return Result(
        "erase", 1,
        tables={"effects": effects_table, "curves": _curves(effects_table), "check": _check(erased, layers)},
        headline=headline,
        figures=_figures(measured, config, "target" if len(erased) > 1 else None),
    )  # fmt: skip


def _row(ability: Ability, one: Erasing, layer: int, whole: float, effects: np.ndarray) -> dict[str, Any]:
    """What erasing at one layer does; effects are [1 + repeats, the label's eraser and the random ones]."""
    effect, random = effects[:, 0], effects[:, 1:]
    excess = effect - random.mean(1)
    (low, high), (excess_low, excess_high) = interval(effect), interval(excess)
    cost, random_cost = -ability.sign * effect[0], -ability.sign * random[0]
    as_bad = int((random_cost >= cost - 1e-12).sum())
    eraser = one.concept[layer]
    return {
        "measure": ability.name, "target": one.target, "layer": layer, "rank": eraser.rank,
        "score": whole + effect[0], "effect": effect[0], "low": float(low), "high": float(high),
        "random": random[0].mean(), "random_low": random[0].min(), "random_high": random[0].max(),
        "excess": excess[0], "excess_low": float(excess_low), "excess_high": float(excess_high),
        "worse": as_bad, "p": (1 + as_bad) / (1 + len(random_cost)), "moved": eraser.moved,
        "random_moved": float(np.mean([other.moved for other in one.random[layer]])),
    }  # fmt: skip


def _numbers(ability: Ability, target: str, effects: np.ndarray, rows: Sequence[dict[str, Any]]) -> list[Number]:
    """Means over layers of effects [1 + repeats, layer, eraser], and in how many layers the label is used: it costs
    more than any random subspace, and surely more than they do on average."""
    mean = effects.mean(1)
    named = {f"{target} erased: change, mean of layers": mean[:, 0], f"{RANDOM}: the same": mean[:, 1:].mean(1)}
    numbers = []
    for name, draws in named.items():
        low, high = interval(draws)
        numbers.append(Number(name, float(draws[0]), float(low), float(high), ability.n, ability.unit))
    least_cost = "excess_high" if ability.sign > 0 else "excess_low"
    used = sum(ability.sign * row[least_cost] < 0 and row["worse"] == 0 for row in rows)
    return [*numbers, Number(f"layers whose {target} is used", float(used), n=len(rows))]


def _curves(effects: pd.DataFrame) -> pd.DataFrame:
    """The two lines of a figure: the label's effect with its interval, and the random ones' mean and range."""
    keys = ["measure", "target", "layer"]
    concept = effects[[*keys, "effect", "low", "high"]].assign(erased="the label")
    random = effects[[*keys, "random", "random_low", "random_high"]]
    random = random.set_axis([*keys, "effect", "low", "high"], axis=1).assign(erased=RANDOM)
    return pd.concat([concept, random], ignore_index=True)


def _check(erased: Sequence[Erasing], layers: Sequence[int]) -> pd.DataFrame:
    parts = [
        {"target": one.target, "layer": layers, "vectors": name, "bits": found.bits, "accuracy": found.accuracy}
        | {"majority": one.majority}
        for one in erased
        for name, found in one.checks.items()
    ]
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def _figures(measured: Sequence[Ability], config: EraseConfig, facet: str | None) -> list[Figure]:
    alike = " that have about as much of the variance" if config.match == "variance" else ""
    cost = Figure(
        "lines", "curves", x="layer", y="effect", low="low", high="high", color="erased", facet=facet, middle=0.0,
        title="", caption="", labels=_LABELS,
    )  # fmt: skip
    figures = [
        replace(
            cost, where={"measure": ability.name}, title=f"What erasing costs: {ability.name}",
            caption=f"The change of the {ability.name} ({ability.unit}) when what a linear probe could read is "
            "erased after one layer, with its paired 95% bootstrap interval over texts; beside it the mean and the "
            f"range of {config.random} random subspaces of the same rank{alike}. Where the two part, the layers "
            "above use what was erased.",
            labels=_LABELS | {"effect": f"change of the {ability.name} ({ability.unit})"},
        )
        for ability in measured
    ]  # fmt: skip
    check = Figure(
        "lines", "check", x="layer", y="bits", color="vectors", facet=facet, middle=0.0, title="Is it gone?",
        caption="What a linear probe tells of a word's label, in bits beyond how frequent the labels are, on texts "
        "from which neither probe nor eraser learned: 0 is chance. Erased: the probe learns from the words that the "
        "eraser learned from. Read afresh: it learns from other texts; what it finds there, the eraser didn't meet.",
        labels=_LABELS,
    )  # fmt: skip
    return [*figures, check]
