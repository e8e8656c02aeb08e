"""The answer of `erase`: what each erased label costs, layer by layer, beside random subspaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.erase.question import EraseConfig, Likeness, erase
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.analyses.erase.leace import Eraser
    from bertscope.analyses.erase.measure import Ability
    from bertscope.core.model_record import ModelRecord

AS_THEY_ARE, ERASED, READ_AFRESH = "as_they_are", "erased", "erased_read_afresh"
_LABELS = {"low": "from", "high": "to"}


@dataclass(frozen=True, eq=False)
class Check:
    """How well linear probes read a label, on texts from which neither they nor an eraser learned."""

    accuracy: np.ndarray
    """[layer]"""
    bits: np.ndarray
    """[layer]: what the probe tells of a label beyond how frequent labels are where it learned; chance is 0."""


@dataclass(frozen=True, eq=False)
class Erasing:
    """A target's erasers, a random one for each beside it, and how well a probe reads it before and after."""

    target: str
    concept: dict[int, Eraser]
    """By layer."""
    random: dict[int, dict[Likeness, list[Eraser]]]
    """By layer, as many of each kind."""
    checks: dict[str, Check]
    """What probes read of vectors as they are; of erased ones, learning from the words that the eraser learned from;
    and of erased ones, learning from other texts."""
    majority: float


def erase_result(
    ability: Ability, draws: np.ndarray, erased: Sequence[Erasing], layers: Sequence[int], config: EraseConfig,
    model: ModelRecord, subject: dict[str, str], notes: list[str],
) -> Result:  # fmt: skip
    """Compare what the model can do as it is and with everything erased in turn: draws [1 + repeats, 1 + changes]."""
    headline = [_number(ability.key, draws[:, 0], ability)]
    if ability.chance is not None:
        headline.append(Number("chance", ability.chance, n=ability.n, unit=ability.unit))
    # [1 + repeats, target, layer, the label's eraser and the random ones]
    effects = (draws[:, 1:] - draws[:, :1]).reshape(len(draws), len(erased), len(layers), -1)
    rows: list[dict[str, Any]] = []
    for place, one in enumerate(erased):
        of_target = [
            row for at, layer in enumerate(layers) for row in _rows(ability, one, layer, effects[:, place, at])
        ]
        headline += _numbers(ability, one.target, effects[:, place], of_target)
        rows += of_target
    table = pd.DataFrame(rows)
    return erase.result(
        tables={"effects": table, "curves": _curves(table), "check": _check(erased, layers)},
        headline=headline,
        figures=_figures(ability, config, "target" if len(erased) > 1 else None),
        models={model.id: model},
        subject=subject,
        notes=notes,
    )  # fmt: skip


def _number(key: str, draws: np.ndarray, ability: Ability, **of: str) -> Number:
    return drawn_number(key, draws, ability.n, ability.unit, **of)


def _rows(ability: Ability, one: Erasing, layer: int, effects: np.ndarray) -> Iterator[dict[str, Any]]:
    """What erasing at one layer does, beside each kind of random subspaces; effects are [1 + repeats, eraser]."""
    eraser, effect = one.concept[layer], effects[:, 0]
    low, high = interval(effect)
    kinds = np.split(effects[:, 1:], len(one.random[layer]), axis=1)
    for (like, others), random in zip(one.random[layer].items(), kinds, strict=True):
        excess = effect - random.mean(1)
        excess_low, excess_high = interval(excess)
        as_bad = int((ability.sign * (random[0] - effect[0]) <= 1e-12).sum())
        yield {
            "target": one.target, "layer": layer, "rank": eraser.rank,
            "effect": effect[0], "low": float(low), "high": float(high), "like": like,
            "random": random[0].mean(), "random_low": random[0].min(), "random_high": random[0].max(),
            "excess": excess[0], "excess_low": float(excess_low), "excess_high": float(excess_high),
            "as_bad": as_bad, "p": (1 + as_bad) / (1 + len(others)),
            "moved": eraser.moved, "random_moved": float(np.mean([other.moved for other in others])),
        }  # fmt: skip


def _numbers(ability: Ability, target: str, effects: np.ndarray, rows: Sequence[dict[str, Any]]) -> list[Number]:
    """Means over layers of effects [1 + repeats, layer, eraser], and in how many layers the label is used: it costs
    more than any random subspace of either kind, and surely more than each kind does on average."""
    mean = effects.mean(1)
    kinds = list(dict.fromkeys(row["like"] for row in rows))
    numbers = [_number("change_erased", mean[:, 0], ability, target=target)]
    for like, random in zip(kinds, np.split(mean[:, 1:], len(kinds), axis=1), strict=True):
        numbers.append(_number("change_random", random.mean(1), ability, target=target, like=like))
    least_cost = "excess_high" if ability.sign > 0 else "excess_low"
    unlike = {row["layer"] for row in rows if row["as_bad"] or ability.sign * row[least_cost] >= 0}
    layers = {row["layer"] for row in rows}
    used = Number("layers_used", float(len(layers - unlike)), n=len(layers), of={"target": target})
    return [*numbers, used]


def _curves(effects: pd.DataFrame) -> pd.DataFrame:
    """The lines of a figure: the label's effect with its interval, and each kind of random ones' mean and range."""
    keys = ["target", "layer"]
    concept = effects.drop_duplicates(keys)[[*keys, "effect", "low", "high"]].assign(erased="label")
    random = effects[[*keys, "random", "random_low", "random_high"]].set_axis(
        [*keys, "effect", "low", "high"], axis=1
    )
    return pd.concat([concept, random.assign(erased=effects["like"])], ignore_index=True)


def _check(erased: Sequence[Erasing], layers: Sequence[int]) -> pd.DataFrame:
    parts = [
        {"target": one.target, "layer": layers, "vectors": name, "bits": found.bits, "accuracy": found.accuracy}
        | {"majority": one.majority}
        for one in erased
        for name, found in one.checks.items()
    ]
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def _figures(ability: Ability, config: EraseConfig, facet: str | None) -> list[Figure]:
    named = erase.numbers[ability.key]
    what = f"{named} ({ability.unit})"
    return [
        Figure(
            "lines", "curves", key="curves", x="layer", y="effect", low="low", high="high", color="erased",
            facet=facet, middle=0.0, title=f"What erasing costs: {named}",
            caption=f"The change of the {what} when what a linear probe could read is erased after one layer, with "
            "its paired 95% bootstrap interval over texts; beside it the mean and the range of "
            f"{config.random} random subspaces of each kind. Where the label costs more than all of them, the layers "
            "above use what was erased.",
            labels=_LABELS | {"effect": f"change of the {what}"},
        ),
        Figure(
            "lines", "check", key="check", x="layer", y="bits", color="vectors", facet=facet, middle=0.0,
            title="Is it gone?",
            caption="What a linear probe tells of a word's label, in bits beyond how frequent the labels are, on "
            "texts from which neither probe nor eraser learned: 0 is chance. Erased: the probe learns from the words "
            "that the eraser learned from. Read afresh: it learns from other texts; what it finds there, the eraser "
            "didn't meet.",
            labels=_LABELS,
        ),
    ]  # fmt: skip
