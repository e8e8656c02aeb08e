"""What contrastive training changed: all its runs as tables, with intervals over seeds and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from bertscope.core.intervals import ENOUGH_RUNS, few_runs, interval, jackknife_interval_over_runs
from bertscope.core.resampling import over_runs, rank_draws
from bertscope.core.result import Number, Result
from bertscope.experiments.contrast.figures import figures
from bertscope.experiments.contrast.question import ContrastConfig
from bertscope.models.sentence_vectors import TEXT_POOLS

_COMPARED = (("contrastive", "before"), ("shuffled", "before"), ("contrastive", "shuffled"))
_CONTEXTUAL = ("SelfSim*", "intra-sentence*", "MEV*")
_PUBLISHED = {"unsupervised": 0.7625, "pairs": 0.8157, "triples": 0.8157}
"""SimCSE with bert-base: the mean Spearman over seven STS sets; the supervised one has hard negatives."""


def collect(
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
    published = _PUBLISHED[config.pairs]
    return Result(
        "contrast",
        1,
        tables={name: table for name, table in tables.items() if len(table)},
        headline=_headline(tables, config, len(pairs[0].arrays["gold"])),
        figures=figures(tables, config, pairs[0].subject["task"], published),
        subject={"model": contrasted[0].subject["model"], "task": contrasted[0].subject["task"],
                 "pairs": config.pairs},
        notes=[*contrasted[0].notes, *_notes(tables, config, pairs[0].subject["task"], spaces[0].subject["task"])],
    )  # fmt: skip


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


def _headline(tables: dict[str, pd.DataFrame], config: ContrastConfig, n: int) -> list[Number]:
    numbers = [
        _number(f"slope, {row['arm']}", row, "slope", None, "cosine a layer")
        for _, row in tables["slopes"].iterrows()
    ]
    baseline = tables["baseline"]
    for _, row in baseline[baseline["layer"] == baseline["layer"].max()].iterrows():
        numbers.append(_number(f"baseline, last layer, {row['arm']}", row, "value", None, "cosine"))
    sts, unit = tables["sts"][tables["sts"]["pool"] == config.pool], f"{config.pool} vectors"
    for _, row in sts.iterrows():
        numbers.append(_number(f"Spearman, {row['arm']}", row, "spearman", n, unit))
    for _, row in sts.iloc[1:].iterrows():
        name = f"Spearman, {row['arm']} - before"
        numbers.append(_number(name, row, "minus_before", n, unit, "minus_before_"))
    for _, row in tables["texts"].iterrows():
        if " - " not in row["arm"]:
            numbers.append(_number(f"{row['measure']}, {row['arm']}", row, "value", None, unit))
    return numbers


def _number(name: str, row: pd.Series, value: str, n: int | None, unit: str, ends: str = "") -> Number:
    low, high = (None if pd.isna(row[f"{ends}{end}"]) else float(row[f"{ends}{end}"]) for end in ("low", "high"))
    return Number(name, float(row[value]), low, high, n, unit)


def _notes(tables: dict[str, pd.DataFrame], config: ContrastConfig, sts: str, corpus: str) -> list[str]:
    runs = len(config.seeds)
    said = [
        _verdict(tables["slopes"].set_index("arm")),
        f"geometry of the words of {corpus}; Spearman, alignment and uniformity of {sts}'s test set",
        "SimCSE with bert-base has a Spearman of 0.763 unsupervised and 0.816 supervised, the mean of seven STS "
        "sets: another model and other data",
    ]
    if runs == 1:
        said.append("one seed: intervals are over texts and say nothing about how trainings vary")
    elif runs < ENOUGH_RUNS:
        said.append(f"{runs} seeds are too few for an interval over trainings; {ENOUGH_RUNS} are enough")
    return said


def _verdict(slopes: pd.DataFrame) -> str:
    """The slides' finding, as it stands here."""
    before, after = slopes["slope"][["before", "contrastive"]]
    change = slopes.loc["contrastive - before"]
    numbers = f"the baseline grows by {before:+.4f} a layer before and by {after:+.4f} after contrastive training"
    if pd.isna(change["low"]):
        return f"{numbers}; too few seeds to say how sure that is"
    if change["low"] <= 0 <= change["high"]:
        return f"{numbers}: the difference isn't clear"
    if change["slope"] < 0:
        return f"{numbers}: more slowly with depth, as the CS4650 slides found"
    return f"{numbers}: faster with depth, where the CS4650 slides found the opposite"
