"""The answer of `minimal-pairs`: accuracies by phenomenon as numbers, a figure and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.minimal_pairs.question import minimal_pairs
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import bootstrap_interval, mean_number, share_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, counted, percent, points, sure

if TYPE_CHECKING:
    from bertscope.data.minimal import MinimalPairs
    from bertscope.models.encoder import Encoder

LEVEL = 0.05
_ROUNDING = 1e-10
_LABELS = {
    "accuracy": "pairs whose good text is likelier", "phenomenon": "", "way": "", "checkpoint": "", "low": "from",
    "high": "to", "p_holm": "p (Holm)", "n": "pairs", "change": "change from the first model",
    "change_p_holm": "p of the change (Holm)", "certain": "not one half: p < .05, corrected (Holm)",
    "changed": "changed: p < .05, corrected (Holm)", "random": "accuracy of random weights",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Arm:
    """One model read in one way: its pseudo-log-likelihoods."""

    model: str
    """Its id."""
    way: str
    """`own`, `as_it_is` or `mapped`."""
    values: np.ndarray
    """[2 n]: of the good texts, then of the bad ones."""
    explained: float | None = None

    @property
    def good(self) -> np.ndarray:
        return self.values[: len(self.values) // 2]

    @property
    def bad(self) -> np.ndarray:
        return self.values[len(self.values) // 2 :]

    @property
    def right(self) -> np.ndarray:
        """[n]: 1 where the good text is likelier, one half where both are equal, but for the order of additions."""
        equal = np.isclose(self.good, self.bad, rtol=_ROUNDING, atol=0.0)
        return np.where(equal, 0.5, self.good > self.bad)


def minimal_pairs_result(
    models: Sequence[Encoder],
    pairs: MinimalPairs,
    arms: Sequence[Arm],
    tables: Mapping[str, pd.DataFrame],
    notes: Sequence[str],
    random: Arm | None,
) -> Result:
    table = tables["phenomena"]
    headline = []
    for arm in arms:
        of = {"model": arm.model, "way": arm.way}
        headline.append(_accuracy("accuracy", arm, of))
        rows = table[(table["checkpoint"] == arm.model) & (table["way"] == arm.way)]
        for key, side in (("above", rows["accuracy"] > 0.5), ("below", rows["accuracy"] < 0.5)):
            headline.append(Number(key, float((rows["certain"] & side).sum()), n=len(rows), of=of))
    lost = {"as_it_is": "drifted", "mapped": "forgotten"}
    for arm in arms:
        if arm.way in lost:
            less = arms[0].right - arm.right
            ends = bootstrap_interval(lambda means: means[..., 0], less[:, None])
            key, of = lost[arm.way], {"model": arm.model}
            headline.append(Number(key, float(less.mean()), *ends, len(less), "accuracy", of=of))
        if arm.explained is not None:
            headline.append(Number("explained", arm.explained, unit="share", of={"model": arm.model}))
    if random is not None:
        headline.append(_accuracy("random_accuracy", random, {}))
    return minimal_pairs.result(
        tables=dict(tables),
        arrays={"scores": np.stack([np.stack([arm.good, arm.bad], 1) for arm in arms])},
        headline=headline,
        figures=[_figure(arms)],
        models=records(models),
        subject={"task": pairs.name},
        notes=[*notes, *_notes(pairs, tables)],
    )


def _accuracy(key: str, arm: Arm, of: Mapping[str, str]) -> Number:
    right = arm.right
    low, high = share_interval(right.mean(), len(right))
    drawn = mean_number(key, right, "accuracy", **of)  # of the same resamples for every model: series are paired
    return replace(drawn, low=float(low), high=float(high))


def _notes(pairs: MinimalPairs, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    notes, listed = [], tables["pairs"]["row"].nunique()
    if listed < len(pairs):
        notes.append(f"{listed:,} of {len(pairs):,} pairs are listed, drawn at random; all are counted")
    if ties := int(tables["phenomena"]["ties"].sum()):
        notes.append(f"{ties:,} times both texts of a pair are equally likely, which counts one half")
    return notes


def _figure(arms: Sequence[Arm]) -> Figure:
    by_way = len({arm.way for arm in arms}) == len(arms)
    tuned = len({arm.model for arm in arms}) > 2
    return Figure(
        "intervals", "phenomena", x="accuracy", y="phenomenon", low="low", high="high", key="phenomena",
        title="How often the good text is likelier", labels=_LABELS, rules={"one half": 0.5},
        color="way" if by_way or (tuned and len({arm.way for arm in arms}) > 1) else "checkpoint",
        facet="checkpoint" if tuned and not by_way else None,
        caption="The share of pairs whose good text has the higher pseudo-log-likelihood, by phenomenon, sorted by "
        "the first model; 95% intervals. A model without a masked-word head is read by the first model's head: as it "
        "is, and after an affine map from its last states to the first model's, fitted on other texts.",
    )  # fmt: skip


def sentence(result: Result) -> Statement | None:
    told = {way: result.numbers(key="accuracy", way=way) for way in ("own", "mapped")}
    if not told["own"]:
        return None
    first = told["own"][0]
    above = result.numbers(key="above", way="own")[0]
    words = (
        f"The good text is the likelier one in {percent(first.value)} of {first.n:,} pairs; of {above.n} phenomena, "
        f"{counted(int(above.value), 'is', 'are')} found above one half"
    )
    if told["mapped"]:
        lost = Estimate.of_number(result.numbers(key="forgotten")[0])
        words += (
            f"; after tuning, read through an affine map, it is likelier in {percent(told['mapped'][0].value)}: "
            f"{sure(lost, points)} points are forgotten"
        )
    return Statement(f"{words}.", first.value, percent)
