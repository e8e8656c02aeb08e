"""Parts that go one after the other, in an order: the score, the loss and the divergence on the way, and the areas
under these curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.integrate import trapezoid

from bertscope.core.intervals import interval
from bertscope.core.ranking import RANDOM
from bertscope.core.resampling import metric_draws
from bertscope.core.units import Unit

if TYPE_CHECKING:
    from bertscope.analyses.without_parts import WithoutParts
    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task

Orders = Mapping[tuple[str, str], Sequence[Sequence[Unit]]]
"""(kind, name) to the order, or the orders, in which the parts of that kind go."""
Quantity = Literal["score", "loss", "kl"]


@dataclass(frozen=True)
class Fall:
    """What comes of a model as its parts go."""

    off: Mapping[str, np.ndarray]
    """How many parts of each kind are off at each point: from none to all."""
    along: Mapping[tuple[str, str], Mapping[str, np.ndarray]]
    """By (kind, name): each quantity in the sample itself and in each resample, [1 + repeats, orders, points]. All
    are resampled alike: differences are paired."""
    judged: Judged
    """The whole model first, then every set of parts that was off."""

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Of one order its bootstrap interval, of several their mean and their range."""
        return pd.concat([self._curve(*key) for key in self.along], ignore_index=True)

    def _curve(self, kind: str, name: str) -> pd.DataFrame:
        off = self.off[kind]
        columns: dict[str, Any] = {"kind": kind, "order": name, "off": off, "share": off / off[-1]}
        for by, each in self.along[kind, name].items():
            low, high = (each[0].min(0), each[0].max(0)) if each.shape[1] > 1 else interval(each[:, 0])
            columns |= {by: each[0].mean(0), **dict(zip(_ends(by), (low, high), strict=True))}
        return pd.DataFrame(columns)

    def area(self, kind: str, name: str, by: str) -> np.ndarray:
        """Under the mean curve of an order, or of several, [1 + repeats]: the mean height on the way."""
        return self._area(self.along[kind, name][by].mean(1), kind)

    def area_of_each(self, kind: str, name: str, by: str) -> np.ndarray:
        """Under the curve of each of several orders, [orders]."""
        return self._area(self.along[kind, name][by][0], kind)

    def _area(self, heights: np.ndarray, kind: str) -> np.ndarray:
        return trapezoid(heights, self.off[kind] / self.off[kind][-1], axis=-1)

    @cached_property
    def areas(self) -> pd.DataFrame:
        """Each order's area with its interval, and how much more it is than that of random order, paired; by each
        quantity, of which a good order has more of the score and less of the others."""
        rows = []
        for kind, name in self.along:
            row: dict[str, Any] = {"kind": kind, "order": name}
            for by in self.along[kind, name]:
                area, of = self.area(kind, name, by), "" if by == "score" else f"{by}_"
                for column, draws in (("area", area), ("more", area - self.area(kind, RANDOM, by))):
                    (low, high), begins = interval(draws), of if column == "area" else f"{of}{column}_"
                    value = f"{of}area" if column == "area" else f"{begins}than_random"
                    row |= {value: draws[0], f"{begins}low": float(low), f"{begins}high": float(high)}
            rows.append(row)
        return pd.DataFrame(rows)


def fall(
    without: WithoutParts,
    examples: Examples,
    orders: Orders,
    *,
    steps: int,
    repeats: int,
    seed: int,
    quantities: Sequence[Quantity] = ("score", "loss"),
) -> Fall:
    """These examples scored as the parts of each order go, in so many steps."""
    known: dict[frozenset[Unit], int] = {frozenset(): 0}  # orders begin and end alike: no set is run twice
    lines = {
        key: [
            [known.setdefault(frozenset(order[:size]), len(known)) for size in sizes(len(order), steps)]
            for order in several
        ]
        for key, several in orders.items()
    }
    judged = without.judged(examples, [sorted(off) for off in known])
    draws = {by: _draws(by, without.task, judged, repeats=repeats, seed=seed) for by in quantities}
    return Fall(
        off={kind: sizes(len(several[0]), steps) for (kind, _), several in orders.items()},
        along={key: {by: each[:, several] for by, each in draws.items()} for key, several in lines.items()},
        judged=judged,
    )


def _draws(by: Quantity, task: Task, judged: Judged, *, repeats: int, seed: int) -> np.ndarray:
    """[1 + repeats, set of parts]"""
    if by == "score":
        return metric_draws(task.value, judged.moments, repeats=repeats, seed=seed)
    each = judged.losses / task.loss_scale if by == "loss" else judged.divergence
    return metric_draws(lambda means: means[..., 0], each[..., None], repeats=repeats, seed=seed)


def sizes(n: int, steps: int) -> np.ndarray:
    """How many of n parts are off at each point: from none to all, in about equal steps."""
    return np.unique(np.round(np.linspace(0, n, min(n, steps) + 1)).astype(int))


def _ends(by: str) -> tuple[str, str]:
    """What the ends of a curve's band are called."""
    return ("low", "high") if by == "score" else (f"{by}_low", f"{by}_high")
