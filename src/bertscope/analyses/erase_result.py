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
            rows += [
                _row(ability, one, layer, draws[0, 0], effects[:, place, at]) for at, layer in enumerate(layers)
            ]
            headline += _numbers(ability, one.target, effects[:, place], rows[-len(layers) :])
    effects_table = pd.DataFrame(rows)
    return Result(
        "erase", 1,
        tables={"effects": effects_table, "curves": _curves(effects_table), "check": _check(erased, layers)},
        headline=headline,
        figures=_figures(measured, config),
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
        "p": (1 + as_bad) / (1 + len(random_cost)), "moved": eraser.moved,
        "random_moved": float(np.mean([other.moved for other in one.random[layer]])),
    }  # fmt: skip


def _numbers(ability: Ability, target: str, effects: np.ndarray, rows: Sequence[dict[str, Any]]) -> list[Number]:
    """Means over layers, and how many layers' label is used: it costs more than all random subspaces, and surely more
    than their mean."""
    mean = effects.mean(1)  # [1 + repeats, eraser]
    pairs = ((f"{target} erased: change, mean of layers", mean[:, 0]), (f"{RANDOM}: the same", mean[:, 1:].mean(1)))
    numbers = []
    for name, draws in pairs:
        low, high = interval(draws)
        numbers.append(Number(f"{name}", float(draws[0]), float(low), float(high), ability.n, ability.unit))
    worse = "excess_high" if ability.sign > 0 else "excess_low"
    least = min(row["p"] for row in rows)
    used = sum(ability.sign * row[worse] < 0 and row["p"] == 1 / (1 + effects.shape[-1] - 1) for row in rows)
    assert least > 0
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
        pd.DataFrame({"target": one.target, "layer": layers, "vectors": name, "accuracy": accuracy})
        for one in erased
        for name, accuracy in (("as they are", one.before), ("erased", one.after), ("majority", one.majority))
    ]
    return pd.concat(parts, ignore_index=True)


def _figures(measured: Sequence[Ability], config: EraseConfig) -> list[Figure]:
    cost = Figure(
        "lines", "curves", x="layer", y="effect", low="low", high="high", color="erased", facet="target", middle=0.0,
        title="", caption="", labels=_LABELS,
    )  # fmt: skip
    figures = [
        replace(
            cost, where={"measure": ability.name}, title=f"What erasing costs: {ability.name}",
            caption=f"The change of the {ability.name if ability.sign < 0 else ability.unit} when what a linear probe "
            "could read is erased after one layer, with its paired 95% bootstrap interval over texts; beside it "
            f"the mean and the range of {config.random} random subspaces of the same rank. Where the two part, the "
            "layers above use what was erased.",
            labels=_LABELS | {"effect": f"change of {ability.unit}"},
        )
        for ability in measured
    ]  # fmt: skip
    check = Figure(
        "lines", "check", x="layer", y="accuracy", color="vectors", facet="target", title="Is it gone?",
        caption="The accuracy of linear probes trained on a layer's vectors as they are and on erased ones, on texts "
        "from which neither probe nor eraser learned. Erased, it should be the majority's.",
        labels=_LABELS,
    )  # fmt: skip
    return [*figures, check]
