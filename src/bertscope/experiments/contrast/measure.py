"""`contrast`: what all its runs come to, with intervals over seeds and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from bertscope.core.intervals import few_runs, interval, jackknife_interval_over_runs
from bertscope.core.resampling import over_runs, rank_draws
from bertscope.core.result import Result
from bertscope.experiments.contrast.question import ContrastConfig
from bertscope.experiments.contrast.result import contrast_result
from bertscope.models.sentence_vectors import TEXT_POOLS

_COMPARED = (("contrastive", "before"), ("shuffled", "before"), ("contrastive", "shuffled"))
_CONTEXTUAL = ("SelfSim*", "intra-sentence*", "MEV*")


def measure(
    contrasted: Sequence[Result], pairs: Sequence[Result], spaces: Sequence[Result], config: ContrastConfig
) -> Result:
    runs = _Runs(config)
    baseline = runs.arms(spaces, lambda one: one.arrays["baseline"][0].T)  # [run, 1 + groups, layer]
    slopes = {arm: draws @ _slope_of(draws.shape[-1]) for arm, draws in baseline.items()}
    tables = {
        "slopes": _compared(slopes, "slope"),
        "baseline": _layers(baseline).assign(measure="baseline"),
        "contextual": _contextual(runs, spaces),
        "sts": _sts(runs, pairs),
        "texts": _texts(runs, pairs, config),
        "runs": _each(runs, pairs, slopes, config),
        "curve": _mean_curve(contrasted, runs, "epochs", "epoch"),
        "loss": _mean_curve(contrasted, runs, "steps", "step"),
    }
    return contrast_result(tables, contrasted[0], pairs[0], spaces[0], config)


class _Runs:
    """Which arm each training belongs to. The first result of what is measured before and after is the base's."""

    def __init__(self, config: ContrastConfig) -> None:
        self.seeds = config.seeds
        self.names = ["contrastive", *(["shuffled"] if config.control else [])]

    def of(self, results: Sequence[Result]) -> dict[str, Sequence[Result]]:
        """The results of trainings, by arm, seed by seed."""
        n = len(self.seeds)
        return {arm: results[place * n : (place + 1) * n] for place, arm in enumerate(self.names)}

    def arms(self, results: Sequence[Result], read: Callable[[Result], np.ndarray]) -> dict[str, np.ndarray]:
        """What is read off each result, [run, ...] by arm; the base is one run."""
        trained = {arm: np.stack([read(one) for one in ones]) for arm, ones in self.of(results[1:]).items()}
        return {"before": read(results[0])[None], **trained}


def _slope_of(layers: int) -> np.ndarray:
    """What takes values by layer, from 0 on, to the slope of the line of least squares through them."""
    centred = np.arange(layers) - (layers - 1) / 2
    return centred / (centred @ centred)


def _compared(arms: dict[str, np.ndarray], name: str) -> pd.DataFrame:
    """A row for each arm and each difference of two, of draws [run, 1 + groups]."""
    apart = {f"{one} - {other}": arms[one] - arms[other] for one, other in _COMPARED if one in arms and other in arms}
    rows = []
    for arm, draws in (arms | apart).items():
        low, high = jackknife_interval_over_runs(draws)
        rows.append(
            {"arm": arm, name: draws[:, 0].mean(), "low": float(low), "high": float(high), "runs": len(draws)}
        )
    return pd.DataFrame(rows)


def _layers(arms: dict[str, np.ndarray]) -> pd.DataFrame:
    """A row for each arm and layer, of draws [run, 1 + groups, layer]."""
    parts = []
    for arm, draws in arms.items():
        low, high = jackknife_interval_over_runs(draws)
        layer = np.arange(draws.shape[-1])
        parts.append(
            pd.DataFrame({"arm": arm, "layer": layer, "value": draws[:, 0].mean(0), "low": low, "high": high})
        )
    return pd.concat(parts, ignore_index=True)


def _contextual(runs: _Runs, spaces: Sequence[Result]) -> pd.DataFrame:
    """The measures beyond the baseline; those that need frequent words only where the corpus has them."""
    known = [measure for measure in _CONTEXTUAL if all(measure in one.arrays for one in spaces)]
    parts = [
        _layers(runs.arms(spaces, lambda one, measure=measure: one.arrays[measure][0].T)).assign(measure=measure)  # type: ignore[misc]
        for measure in known
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _sts(runs: _Runs, pairs: Sequence[Result]) -> pd.DataFrame:
    """Spearman in the last layer, by arm and pooling: the mean over seeds, and how far it is from before. Seeds, then
    pairs are drawn, alike for all arms."""
    parts, n = [], len(runs.seeds)
    for at, pool in enumerate(TEXT_POOLS):
        each = rank_draws(np.stack([one.arrays["cosine"][at, -1] for one in pairs]), pairs[0].arrays["gold"])
        before, trained = each[:, :1].repeat(n, 1), np.split(each[:, 1:], len(runs.names), axis=1)
        draws = over_runs(np.stack([before, *trained], 1))  # [1 + repeats, arm]
        apart = draws - draws[:, :1]
        columns = {"arm": ["before", *runs.names], "pool": pool, "spearman": draws[0], "minus_before": apart[0]}
        for name, one in (("", draws), ("minus_before_", apart)):
            low, high = interval(one)
            if few_runs(n):
                low[1:] = high[1:] = np.nan  # the base isn't trained: its interval is over pairs alone
            columns |= {f"{name}low": low, f"{name}high": high}
        parts.append(pd.DataFrame(columns | {"runs": [1, *[n] * len(runs.names)]}))
    return pd.concat(parts, ignore_index=True)


def _texts(runs: _Runs, pairs: Sequence[Result], config: ContrastConfig) -> pd.DataFrame:
    """Alignment and uniformity of whole texts in the last layer, pooled as in training."""
    at = TEXT_POOLS.index(config.pool)
    parts = []
    for measure in ("alignment", "uniformity"):
        arms = runs.arms(pairs, lambda one, measure=measure: one.arrays[measure][at, -1])  # type: ignore[misc]
        parts.append(_compared(arms, "value").assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def _each(
    runs: _Runs, pairs: Sequence[Result], slopes: dict[str, np.ndarray], config: ContrastConfig
) -> pd.DataFrame:
    """Every single training, and the base: what it comes to."""
    at = TEXT_POOLS.index(config.pool)
    shown: dict[str, Callable[[Result], np.ndarray]] = {
        "spearman": lambda one: rank_draws(one.arrays["cosine"][at, -1:], one.arrays["gold"], repeats=1)[0, 0],
        "alignment": lambda one: one.arrays["alignment"][at, -1, 0],
        "uniformity": lambda one: one.arrays["uniformity"][at, -1, 0],
    }
    found = {name: runs.arms(pairs, read) for name, read in shown.items()}
    return pd.DataFrame(
        {"arm": arm, "seed": None if arm == "before" else runs.seeds[run], "slope": draws[run, 0]}
        | {name: found[name][arm][run] for name in shown}
        for arm, draws in slopes.items()
        for run in range(len(draws))
    ).astype({"seed": "Int64"})


def _mean_curve(contrasted: Sequence[Result], runs: _Runs, table: str, along: str) -> pd.DataFrame:
    """What trainings recorded, averaged over seeds."""
    parts = [
        pd.concat([one.tables[table] for one in ones]).groupby(along, as_index=False).mean().assign(arm=arm)
        for arm, ones in runs.of(contrasted).items()
    ]
    return pd.concat(parts, ignore_index=True)
