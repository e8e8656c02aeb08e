"""What `redundancy` tells of heads that were switched off together, and whether the score or the loss leads.

The score says what a user loses; but where few predictions change, it ranks pairs mostly by chance, and the loss of
the same outputs doesn't.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.redundancy.question import NAMED, RANDOM, SIMILAR
from bertscope.core.figure import Figure
from bertscope.core.intervals import difference_reach, drawn_number, interval
from bertscope.core.null_panel import LEVEL
from bertscope.core.number import Number
from bertscope.core.reliability import ENOUGH
from bertscope.core.statistics import holm

if TYPE_CHECKING:
    from bertscope.analyses.redundancy.compared import Compared
    from bertscope.analyses.redundancy.interactions import Interactions, Together
    from bertscope.data.task import Task

_LABELS = {
    "divergence": "divergence (bits)", "cka": "CKA", "low": "from", "high": "to", "loss_low": "from",
    "loss_high": "to", "interaction": "change of the score beyond the sum",
    "loss_interaction": "rise of the loss beyond the sum",
}  # fmt: skip


def loss_leads(found: Interactions) -> bool:
    """Whether the score ranks pairs mostly by chance, and the loss less so."""
    by_score, by_loss = (found.reliability[by].pearson for by in ("score", "loss"))
    return by_score < ENOUGH and by_loss > by_score


def interaction_columns(found: Interactions) -> dict[str, np.ndarray]:
    """Of each pair, what it does together."""
    low, high = interval(found.draws)
    p_holm = holm(found.by_loss.p)
    columns = {
        "without_one": found.one, "without_other": found.other, "without_both": found.both,
        "interaction": found.draws[0], "low": low, "high": high,
        **{f"loss_without_{which}": rise for which, rise in zip(("one", "other", "both"), found.rises, strict=True)},
        "loss_interaction": found.by_loss.effect, "loss_low": found.by_loss.low, "loss_high": found.by_loss.high,
        "loss_p": found.by_loss.p, "loss_p_holm": p_holm, "loss_certain": p_holm < LEVEL,
        **_with_ends("kl", found.kl), **_with_ends("flips", found.flips),
    }  # fmt: skip
    return columns if found.random_weights is None else columns | {"random_weights": found.random_weights}


def together_table(one: Compared) -> pd.DataFrame:
    """The named heads off together, beside random sets of the same layers."""
    if (found := one.together) is None:
        return pd.DataFrame()
    low, high = interval(found.effects)
    loss_low, loss_high = interval(found.rises)
    sets = {
        "set": [NAMED, *[RANDOM] * (found.effects.shape[1] - 1)],
        "effect": found.effects[0], "low": low, "high": high,
        "loss_rise": found.rises[0], "loss_low": loss_low, "loss_high": loss_high,
        **_with_ends("kl", found.kl), **_with_ends("flips", found.flips),
    }  # fmt: skip
    return pd.DataFrame(sets if found.random_weights is None else sets | {"random_weights": found.random_weights})


def _with_ends(name: str, draws: np.ndarray) -> dict[str, np.ndarray]:
    low, high = interval(draws)
    return {name: draws[0], f"{name}_low": low, f"{name}_high": high}


def switched_numbers(one: Compared, task: Task | None) -> list[Number]:
    """What pairs, and the named heads, do together; nothing where they weren't switched off. Where the score ranks
    pairs mostly by chance, the loss comes first."""
    numbers: list[Number] = []
    if task is None:
        return numbers
    if (found := one.interactions) is not None:
        by_score, by_loss = _interaction_numbers(one, found, task)
        numbers += [*by_loss, *by_score] if loss_leads(found) else [*by_score, *by_loss]
        numbers += [
            Number("reliability", each.pearson, n=len(one.kinds), of={"measure": measure})
            for measure, each in found.reliability.items()
            if not np.isnan(each.pearson)
        ]
    return numbers + (_together_numbers(one.together, task) if one.together else [])


def _interaction_numbers(one: Compared, found: Interactions, task: Task) -> tuple[list[Number], list[Number]]:
    """By the score, and by the loss."""
    n, kinds = len(task.test), np.array(one.kinds)
    against = {"kind": SIMILAR, "against": RANDOM}
    told: tuple[list[Number], list[Number]] = ([], [])
    measures = (
        ("interaction", "interaction_difference", found.draws, task.metric),
        ("loss_interaction", "loss_interaction_difference", found.loss_draws, task.loss_unit),
    )
    for numbers, (key, difference, draws, unit) in zip(told, measures, strict=True):
        means = {kind: draws[:, kinds == kind].mean(1) for kind in dict.fromkeys(one.kinds)}
        numbers += [drawn_number(key, mean, n, unit, kind=kind) for kind, mean in means.items()]
        if len(means) == 2:
            apart = drawn_number(difference, means[SIMILAR] - means[RANDOM], n, unit, **against)
            numbers.append(_over_pairs(apart, *(draws[0, kinds == kind] for kind in (SIMILAR, RANDOM))))
    if found.matched.size:
        p = float(found.against_random.p[0])
        told[1].append(Number("loss_interaction_p", p, n=found.matched.shape[1], unit="p", of=against))
    redundant = (holm(found.by_loss.p) < LEVEL) & (found.by_loss.effect > 0)
    told[1].extend(
        Number(
            "pairs_redundant", float(redundant[kinds == kind].sum()), n=int((kinds == kind).sum()), of={"kind": kind}
        )
        for kind in dict.fromkeys(one.kinds)
    )
    return told


def _over_pairs(apart: Number, similar: np.ndarray, random: np.ndarray) -> Number:
    """The difference with an interval over texts and over pairs: ten others would have been another ten."""
    if apart.low is None or apart.high is None or min(len(similar), len(random)) < 2:
        return replace(apart, low=None, high=None)
    either = difference_reach(similar, random)
    return replace(
        apart,
        low=apart.value - math.hypot(apart.value - apart.low, either),
        high=apart.value + math.hypot(apart.high - apart.value, either),
    )


def _together_numbers(found: Together, task: Task) -> list[Number]:
    n, change, sets = len(task.test), f"change of {task.metric}", found.effects.shape[1] - 1
    numbers = [
        drawn_number("together_effect", found.effects[:, 0], n, change),
        Number("random_together_effect", float(found.effects[0, 1:].mean()), n=sets, unit=change),
        Number("together_p", found.p, n=sets, unit="p"),
        drawn_number("together_loss_rise", found.rises[:, 0], n, task.loss_unit),
        Number("random_together_loss_rise", float(found.rises[0, 1:].mean()), n=sets, unit=task.loss_unit),
        Number("together_loss_p", float(found.by_loss.p[0]), n=n, unit="p"),
        Number("together_against_random_p", found.p_by_loss, n=sets, unit="p"),
        drawn_number("together_kl", found.kl[:, 0], n, task.loss_unit),
    ]
    if not np.isnan(found.flips[0, 0]):  # scores can't flip
        numbers.append(drawn_number("together_flips", found.flips[:, 0], n, "share"))
    return numbers


def reliability_notes(one: Compared, task: Task | None) -> list[str]:
    """How far the rankings of pairs are to be trusted, and what leads because of it."""
    if one.interactions is None or task is None:
        return []
    score, loss = (one.interactions.reliability[measure].pearson for measure in ("score", "loss"))
    if np.isnan(score):
        return []
    told = f"reliability of the ranking of pairs: {score:.2f} by {task.metric}, {loss:.2f} by the loss"
    why = f"; by {task.metric} it is mostly chance (under {ENOUGH}), so the loss leads"
    return [told + (why if loss_leads(one.interactions) else "")]


def null_findings(compared: Sequence[Compared], seed: int) -> dict[Hashable, np.ndarray]:
    """By checkpoint and test, how many findings each draw had in which there is nothing to find."""
    return {
        (one.key, test): findings
        for one in compared
        for part in (one.interactions, one.together)
        if part is not None
        for test, findings in part.found_in_nothing(seed).items()
    }


def pairs_figure(one: Compared, found: Interactions, key: str, of: str) -> Figure:
    by_loss = loss_leads(found)
    reliable = {measure: each.pearson for measure, each in found.reliability.items()}
    which = "rise of the loss" if by_loss else "change of the score"
    why = "" if np.isnan(reliable["score"]) else (
        f" The ranking's reliability is {reliable['score']:.2f} by the score and {reliable['loss']:.2f} by the loss"
        + (": the score ranks these pairs mostly by chance, so the loss is shown." if by_loss else ".")
    )  # fmt: skip
    return Figure(
        "intervals", "pairs", x="loss_interaction" if by_loss else "interaction", y="pair", color="kind",
        low="loss_low" if by_loss else "low", high="loss_high" if by_loss else "high",
        where={"checkpoint": one.key}, key=key, title=f"Pairs of heads switched off{of}", middle=0.0,
        caption=f"The {which} when both are off beyond what each does alone, for the most similar pairs and for "
        "random pairs of the same layers, with 95% paired bootstrap intervals. "
        f"{'Above' if by_loss else 'Below'} 0, the two cost more together than apart.{why}",
        labels=_LABELS,
    )  # fmt: skip
