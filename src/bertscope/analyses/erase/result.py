"""The answer of `erase`: what each erased label costs, layer by layer, beside random subspaces."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.erase.question import EraseConfig, Likeness, erase
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.null_panel import DRAWS, LEVEL, TABLE, panel
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statistics import holm, one_more_p

if TYPE_CHECKING:
    from bertscope.analyses.erase.leace import Eraser
    from bertscope.analyses.erase.measure import Ability
    from bertscope.core.model_record import ModelRecord

AS_THEY_ARE, ERASED, READ_AFRESH = "as_they_are", "erased", "erased_read_afresh"
_LABELS = {"low": "from", "high": "to"}
_LOSS = "masked_lm_loss"


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
    stand_ins: dict[int, dict[Likeness, Eraser]]
    """By layer one more of each kind, which could be in the label's place, where the null panel is asked for."""
    checks: dict[str, Check]
    """What probes read of vectors as they are; of erased ones, learning from the words that the eraser learned from;
    and of erased ones, learning from other texts."""
    majority: float


@dataclass(frozen=True, eq=False)
class Measured:
    """What a model can do, as it is and with each change: [1 + repeats, 1 + changes], the texts, then resamples."""

    value: np.ndarray
    """By its measure."""
    loss: np.ndarray
    """The mean loss: the measure itself, where that is a loss."""


@dataclass(frozen=True, eq=False)
class _Effects:
    """What erasing at each layer changes; draws are the texts themselves, then resamples."""

    label: np.ndarray
    """[1 + repeats, layer]"""
    random: dict[Likeness, np.ndarray]
    """[1 + repeats, layer, subspace]"""
    stand_ins: dict[Likeness, np.ndarray]
    """[1 + repeats, layer]: of one more subspace of the kind."""

    @classmethod
    def of(cls, draws: np.ndarray, one: Erasing) -> _Effects:
        """From draws [1 + repeats, layer, eraser], in the order of the changes."""
        kinds, has_stand_ins = list(next(iter(one.random.values()))), any(one.stand_ins.values())
        ends = draws.shape[2] - (len(kinds) if has_stand_ins else 0)
        random = np.split(draws[..., 1:ends], len(kinds), axis=2)
        stand_ins = np.moveaxis(draws[..., ends:], 2, 0)
        return cls(
            draws[..., 0], dict(zip(kinds, random, strict=True)), dict(zip(kinds, stand_ins, strict=has_stand_ins))
        )


@dataclass(frozen=True, eq=False)
class _Tested:
    p: dict[Likeness, np.ndarray]
    """[layer]: could the label's rise be one more of the random subspaces'?"""
    p_holm: np.ndarray
    """[layer]: of the larger, corrected for the layers."""
    used: np.ndarray
    """[layer]: whether the loss rises by more than of random subspaces of each kind, and surely so on other texts."""


def tested_use(label: np.ndarray, random: dict[Likeness, np.ndarray]) -> _Tested:
    """From the rise of the loss, draws [1 + repeats, layer] of the label and [1 + repeats, layer, subspace]."""
    p = {like: one_more_p(label[0], each[0]) for like, each in random.items()}
    p_holm = holm(
        np.max(list(p.values()), axis=0)
    )  # a label must be unlike both kinds: of both tests the worse counts
    used = p_holm < LEVEL
    for each in random.values() if used.any() else ():
        excess = label - each.mean(2)
        used = used & (excess[0] > 0) & (interval(excess)[0] > 0)
    return _Tested(p, p_holm, used)


def null_findings(rises: _Effects, seed: int, draws: int = DRAWS) -> dict[Likeness, np.ndarray]:
    """In how many layers a random subspace in the label's place would be called used, in each draw, by its kind: at
    each layer one of all that there are plays the label, and the others are what it is compared with."""
    generator = np.random.default_rng(seed)
    found: dict[Likeness, np.ndarray] = {}
    for like, stand_in in rises.stand_ins.items():
        every = np.concatenate([rises.random[like], stand_in[..., None]], 2)
        chosen = generator.integers(every.shape[2], size=(draws, every.shape[1]))
        found[like] = np.array([_found_in(every, at, like, rises) for at in chosen])
    return found


def _found_in(every: np.ndarray, chosen: np.ndarray, like: Likeness, rises: _Effects) -> int:
    """`chosen` [layer] are those of `every` [1 + repeats, layer, subspace] that play the label."""
    layers = np.arange(len(chosen))
    others = np.array([[at for at in range(every.shape[2]) if at != one] for one in chosen])
    random = {**rises.random, like: every[:, layers[:, None], others]}
    return int(tested_use(every[:, layers, chosen], random).used.sum())


def erase_result(
    ability: Ability, measured: Measured, erased: Sequence[Erasing], layers: Sequence[int], config: EraseConfig,
    model: ModelRecord, subject: dict[str, str], notes: list[str],
) -> Result:  # fmt: skip
    """Compare what the model can do as it is and with everything erased in turn."""
    headline = [_number(ability.key, measured.value[:, 0], ability)]
    if ability.chance is not None:
        headline.append(Number("chance", ability.chance, n=ability.n, unit=ability.unit))
    rows: list[dict[str, Any]] = []
    null: dict[Hashable, np.ndarray] = {}
    # [1 + repeats, target, layer, the label's eraser and the random ones]
    value, loss = ((each[:, 1:] - each[:, :1]).reshape(len(each), len(erased), len(layers), -1)
                   for each in (measured.value, measured.loss))  # fmt: skip
    for place, one in enumerate(erased):
        effects, rises = (_Effects.of(each[:, place], one) for each in (value, loss))
        tested = tested_use(rises.label, rises.random)
        for at, layer in enumerate(layers):
            rows += _rows(ability, one, layer, at, effects, rises, tested)
        headline += _numbers(ability, one.target, effects, rises, tested)
        null |= {(one.target, like): found for like, found in null_findings(rises, config.seed).items()}
    table = pd.DataFrame(rows)
    tables = {"effects": table, "curves": _curves(table), "check": _check(erased, layers)}
    return erase.result(
        tables=tables | ({TABLE: panel(null, ["target", "like"])} if config.null else {}),
        headline=headline,
        figures=_figures(ability, config, "target" if len(erased) > 1 else None),
        models={model.id: model},
        subject=subject,
        notes=notes,
    )  # fmt: skip


def _number(key: str, draws: np.ndarray, ability: Ability, **of: str) -> Number:
    return drawn_number(key, draws, ability.n, ability.loss_unit if key.startswith("loss") else ability.unit, **of)


def _rows(
    ability: Ability, one: Erasing, layer: int, at: int, effects: _Effects, rises: _Effects, tested: _Tested
) -> Iterator[dict[str, Any]]:
    """What erasing at one layer does, beside each kind of random subspaces."""
    eraser, effect = one.concept[layer], effects.label[:, at]
    rise = {} if ability.key == _LOSS else _with_ends("loss_rise", rises.label[:, at])
    for like, others in one.random[layer].items():
        random, risen = effects.random[like][:, at], rises.random[like][:, at]
        yield {
            "target": one.target, "layer": layer, "rank": eraser.rank,
            **_with_ends("effect", effect, ("low", "high")), "like": like,
            "random": random[0].mean(), "random_low": random[0].min(), "random_high": random[0].max(),
            **_with_ends("excess", effect - random.mean(1)), **rise,
            **({"loss_random": risen[0].mean()} | _with_ends("loss_excess", rises.label[:, at] - risen.mean(1))
               if rise else {}),
            "as_bad": int((ability.sign * (random[0] - effect[0]) <= 1e-12).sum()),
            "p": tested.p[like][at], "p_holm": tested.p_holm[at], "used": bool(tested.used[at]),
            "moved": eraser.moved, "random_moved": float(np.mean([other.moved for other in others])),
        }  # fmt: skip


def _with_ends(name: str, draws: np.ndarray, ends: tuple[str, str] | None = None) -> dict[str, float]:
    low, high = interval(draws)
    lower, upper = ends or (f"{name}_low", f"{name}_high")
    return {name: float(draws[0]), lower: float(low), upper: float(high)}


def _numbers(ability: Ability, target: str, effects: _Effects, rises: _Effects, tested: _Tested) -> list[Number]:
    """Means over layers, and in how many layers the label is used."""
    measures = [("change_erased", "change_random", effects)]
    if ability.key != _LOSS:
        measures.append(("loss_rise_erased", "loss_rise_random", rises))
    numbers = []
    for erased, beside, each in measures:
        numbers.append(_number(erased, each.label.mean(1), ability, target=target))
        for like, random in each.random.items():
            numbers.append(_number(beside, random.mean((1, 2)), ability, target=target, like=like))
    used = Number("layers_used", float(tested.used.sum()), n=len(tested.used), of={"target": target})
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
            f"its paired 95% bootstrap interval over texts; beside it, the mean and the range for {config.random} "
            "random subspaces of each kind. Where erasing the label costs far more than erasing those, the layers "
            "above use what was erased: `used` in the table.",
            labels=_LABELS | {"effect": f"change of the {what}"},
        ),
        Figure(
            "lines", "check", key="check", x="layer", y="bits", color="vectors", facet=facet, middle=0.0,
            title="Is it gone?",
            caption="What a linear probe reads of a word's label, in bits beyond the labels' frequencies, on texts "
            "that neither probe nor eraser learnt from: 0 is chance. Erased: the probe learns from the same words "
            "as the eraser. Read afresh: it learns from other texts; what it finds there, the eraser missed.",
            labels=_LABELS,
        ),
    ]  # fmt: skip
