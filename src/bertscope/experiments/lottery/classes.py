"""The attention patterns of all heads and of those that survive, with what seeds and classifiers leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.confusion import called_for_class, shares_behind
from bertscope.analyses.shapes.net import facts
from bertscope.core.intervals import ENOUGH_RUNS, interval, percentile_ends
from bertscope.core.variance_components import interval_over_runs

_CLASSIFIERS = ["class", "class_first", "class_second"]  # columns of `patterns`' heads, as in `LABELS`
_DRAWS = 1000


def classes(found: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """The commonest pattern of each head, of all heads and of the survivors: shares, mean over seeds. `found` has
    each seed's heads, with what they are called by each classifier and whether they survive, by kind of attention.

    `least` and `most` are the ends of what the classifiers say: those trained on both labellers' labels and on each
    one's, as they say it and with their mistakes undone, as if heads were miscalled as often as maps are. `low` and
    `high` are the ends of the intervals over seeds of all these ways.
    """
    rows = []
    for attention, of_seeds in found.items():
        groups = {"all_heads": of_seeds, "survivors": [heads[heads["survives"]] for heads in of_seeds]}
        for name, group in groups.items():
            if seeds := [heads for heads in group if len(heads)]:  # with some seed no head may be left
                rows.append(_shares(seeds).assign(attention=attention, of=name))
    columns = ["attention", "of", "class", "heads", "runs", "share", "least", "most", "low", "high"]
    return pd.concat(rows, ignore_index=True)[columns]


def _shares(seeds: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Of each seed's heads, a row for each class."""
    called = [heads[_CLASSIFIERS].to_numpy()[..., None] == CLASSES for heads in seeds]  # [head, classifier, class]
    said = np.stack([heads.mean(0) for heads in called], axis=1)  # [classifier, seed, class]
    chances = called_for_class(facts(), _DRAWS)
    said = np.broadcast_to(said, (len(chances), *said.shape))
    ways = np.concatenate([said, shares_behind(said, chances)], axis=1)  # [1 + draw, way, seed, class]
    least, most = interval(ways.mean(2))
    low, high = np.full_like(least, np.nan), np.full_like(most, np.nan)
    if len(seeds) >= ENOUGH_RUNS:
        lows, highs = interval_over_runs(ways.swapaxes(2, 3)[..., None])
        low, high = percentile_ends(lows)[0], percentile_ends(highs)[1]
    return pd.DataFrame(
        {"class": CLASSES, "heads": sum(heads[:, 0].sum(0) for heads in called), "runs": len(seeds),
         "share": ways[0, 0].mean(0), "least": least.min(0), "most": most.max(0),
         "low": low.min(0).clip(0), "high": high.max(0).clip(max=1)}
    )  # fmt: skip
