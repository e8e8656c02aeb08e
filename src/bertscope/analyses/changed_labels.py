"""What differs between two models' answers label by label, and how often the tests of two models find something where
there is nothing to find."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.changed_predictions import LEVEL, Pair, mean
from bertscope.core.intervals import interval
from bertscope.core.resampling import metric_draws
from bertscope.core.statistics import holm, mcnemar_p, paired_p, paired_p_of_nothing, sign_flip_ps

MEASURES = ("recall", "precision", "f1")


@dataclass(frozen=True, eq=False)
class ByLabel:
    """How often each label is given rightly, given, and right, [2, n, labels, 3]."""

    names: tuple[str, ...]
    counts: np.ndarray

    @classmethod
    def of(cls, pair: Pair) -> ByLabel | None:
        """Of the labels that occur in what is right or in what either model says; None where there are none."""
        found = [one.output.by_label(one.predicted, one.gold) for one in (pair.a, pair.b)]
        if any(one is None for one in found):
            return None
        (names, before), (_, after) = found  # type: ignore[misc]
        counts = np.stack([before, after])
        there = counts.any((0, 1, 3))
        return cls(tuple(np.array(names, dtype=object)[there]), counts[:, :, there]) if there.any() else None

    @property
    def moments(self) -> np.ndarray:
        """[2, n, labels x 3]"""
        return self.counts.reshape(*self.counts.shape[:2], -1)

    @property
    def more_hits(self) -> np.ndarray:
        """[n, labels]: how many more are given rightly by the second model."""
        return self.counts[1, ..., 0] - self.counts[0, ..., 0]

    @property
    def unknown(self) -> np.ndarray:
        """[labels, measures]: where a measure has nothing to be of, in either model."""
        _, given, right = np.moveaxis(self.counts.sum(1), -1, 0) > 0  # [2, labels] each
        return np.stack([~right.all(0), ~given.all(0), ~(given | right).all(0)], axis=-1)


def _shares(means: np.ndarray) -> np.ndarray:
    """Recall, precision and F1 of each label, [..., labels x 3]; NaN where there is nothing to be right about."""
    hits, given, right = np.moveaxis(means.reshape(*means.shape[:-1], -1, 3), -1, 0)
    below = np.stack([right, given, (given + right) / 2], axis=-1)
    found = np.divide(hits[..., None], below, out=np.full_like(below, np.nan), where=below > 0)
    return found.reshape(*means.shape[:-1], -1)


def _shares_or_0(means: np.ndarray) -> np.ndarray:
    """The same with 0 there: an exchange that leaves nothing on one side has to count for something."""
    return np.nan_to_num(_shares(means), nan=0.0)


def label_table(pair: Pair) -> pd.DataFrame | None:
    """Recall, precision and F1 of each label in both models; corrected over labels, each measure for itself (Holm).

    Of recall the test is exact: what is right is the same for both models. What has nothing to be of is NaN, and so
    is whatever would be made of it; it counts as tested all the same, since that depends on the answers.
    """
    by = ByLabel.of(pair)
    if by is None:
        return None
    how, moments, shape = pair.how, by.moments, (-1, len(by.names), len(MEASURES))
    draws = metric_draws(_shares, moments, repeats=how.repeats, seed=how.seed)
    own, apart = draws[0].reshape(shape), (draws[:, 1] - draws[:, 0]).reshape(shape)
    low, high = interval(apart)
    p = paired_p(_shares_or_0, moments[0], moments[1:], permutations=how.permutations, seed=how.seed)
    p = p.reshape(shape[1:])
    p[:, 0] = [float(sign_flip_ps(one, one.sum()[None])[0]) for one in by.more_hits.T]
    corrected = holm(np.where(by.unknown, 1.0, p).T).T
    p, corrected = (np.where(by.unknown, np.nan, each) for each in (p, corrected))
    rows = [
        {"label": name, "measure": measure, "n": int(by.counts[0, :, at, 2].sum()), "a": own[0, at, place],
         "b": own[1, at, place], "change": apart[0, at, place], "low": low[at, place], "high": high[at, place],
         "p": p[at, place], "p_holm": corrected[at, place], "certain": bool(corrected[at, place] < LEVEL)}
        for at, name in enumerate(by.names) for place, measure in enumerate(MEASURES)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def findings_of_nothing(pair: Pair, draws: int) -> dict[Hashable, np.ndarray]:
    """How many of the tests of each family find something in each draw [draws] where the answers of the two models
    are exchanged row by row at random: by family and measure."""
    how: dict[str, Any] = {"draws": draws, "permutations": pair.how.permutations, "seed": pair.how.seed}
    coins = np.random.default_rng(pair.how.seed).choice([-1.0, 1.0], size=(draws, len(pair)))
    output, found = pair.a.output, dict[Hashable, np.ndarray]()
    p: dict[str, np.ndarray] = {}
    better = np.nan_to_num(pair.better)
    if not np.isnan(pair.better).all():
        p["rows"] = mcnemar_p(coins @ better, np.abs(better).sum())
    if not output.counts_hits:
        p["score"] = paired_p_of_nothing(output.value, pair.moments[0], pair.moments[1:], **how)[:, 0]
    if pair.losses is not None:
        p["loss"] = paired_p_of_nothing(mean, pair.losses[0, :, None], pair.losses[1:, :, None], **how)[:, 0]
    found |= {("whole", name): (each < LEVEL).astype(int) for name, each in p.items()}
    by = ByLabel.of(pair)
    if by is not None:
        each = paired_p_of_nothing(_shares_or_0, by.moments[0], by.moments[1:], **how)
        each = each.reshape(draws, -1, len(MEASURES))
        each[..., 0] = np.stack([sign_flip_ps(one, coins @ one) for one in by.more_hits.T], axis=1)
        each = np.where(by.unknown, 1.0, each)
        found |= {
            ("labels", measure): (holm(each[..., place]) < LEVEL).sum(1) for place, measure in enumerate(MEASURES)
        }
    return found
