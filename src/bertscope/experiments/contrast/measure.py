"""`contrast`: what all its runs come to, with intervals over seeds and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.geometry.result import BASELINE
from bertscope.analyses.sentences.result import ALIGNMENT, UNIFORMITY
from bertscope.core.intervals import few_runs, interval, jackknife_interval_over_runs
from bertscope.core.model_record import ModelRecord
from bertscope.core.resampling import over_runs, rank_draws
from bertscope.core.result import Result
from bertscope.experiments.contrast.question import ARMS, BEFORE, ContrastConfig
from bertscope.experiments.contrast.result import contrast_result
from bertscope.experiments.trainings import found_again, only_model
from bertscope.models.sentence_vectors import TEXT_POOLS

_COMPARED = (("contrastive", BEFORE), ("shuffled", BEFORE), ("contrastive", "shuffled"))
_CONTEXTUAL = ("self_similarity_adjusted", "intra_sentence_adjusted", "mev_adjusted")
"""Of what `geometry` measures, what is left beyond the baseline."""
Run = tuple[str, int | None]
"""An arm and a seed; the base has none."""
Runs = Mapping[Run, Result]


def measure(
    contrasted: Sequence[Result], pairs: Sequence[Result], spaces: Sequence[Result], config: ContrastConfig
) -> Result:
    trainings: list[Run] = [(ARMS[training.positives], training.seed) for training in config.trainings()]
    base, everyone = only_model(contrasted[0]), [(BEFORE, None), *trainings]
    trained = found_again(contrasted, _of_training, trainings)
    texts, words = (found_again(some, lambda one: _of_model(one, base), everyone) for some in (pairs, spaces))
    baseline = {run: one.arrays[BASELINE][0].T for run, one in words.items()}  # [1 + groups, layer]
    slopes = {run: draws @ _slope_of(draws.shape[-1]) for run, draws in baseline.items()}
    tables = {
        "slopes": _compared(_by_arm(slopes), "slope"),
        "baseline": _layers(_by_arm(baseline)).assign(measure=BASELINE),
        "contextual": _contextual(words),
        "sts": _sts(texts, len(config.seeds)),
        "texts": _texts(texts, config),
        "runs": _each(texts, slopes, config),
        "curve": _mean_curve(trained, "epochs", "epoch"),
        "loss": _mean_curve(trained, "steps", "step"),
    }
    return contrast_result(tables, trained[trainings[0]], texts[BEFORE, None], words[BEFORE, None], config)


def _of_training(result: Result) -> Run:
    """Which arm and seed a training is of."""
    return ARMS[result.subject.get("positives", "true")], int(result.subject["seed"])


def _of_model(result: Result, base: ModelRecord) -> Run:
    """Which arm and seed the model is of that a result measures."""
    model = only_model(result)
    if model.is_same(base) or model.origin is None:
        return BEFORE, None
    return ARMS[model.origin.recipe.get("positives", "true")], model.origin.seed


def _by_arm(runs: Mapping[Run, np.ndarray]) -> dict[str, np.ndarray]:
    """The runs of each arm together, [run, ...]; the base is one run."""
    found: dict[str, list[np.ndarray]] = {}
    for (arm, _), values in runs.items():
        found.setdefault(arm, []).append(values)
    return {arm: np.stack(values) for arm, values in found.items()}


def _slope_of(layers: int) -> np.ndarray:
    """What takes values by layer, from 0 on, to the slope of the line of least squares through them."""
    centred = np.arange(layers) - (layers - 1) / 2
    return centred / (centred @ centred)


def _compared(arms: dict[str, np.ndarray], name: str) -> pd.DataFrame:
    """A row for each arm and each difference of two, of draws [run, 1 + groups]; `against` is empty for an arm."""
    listed = {(arm, ""): draws for arm, draws in arms.items()}
    listed |= {pair: arms[pair[0]] - arms[pair[1]] for pair in _COMPARED if set(pair) <= set(arms)}
    rows = []
    for (arm, against), draws in listed.items():
        low, high = jackknife_interval_over_runs(draws)
        rows.append(
            {"arm": arm, "against": against, name: draws[:, 0].mean(), "low": float(low), "high": float(high),
             "runs": len(draws)}
        )  # fmt: skip
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


def _contextual(words: Runs) -> pd.DataFrame:
    """The measures beyond the baseline; those that need frequent words only where the corpus has them."""
    known = [measure for measure in _CONTEXTUAL if all(measure in one.arrays for one in words.values())]
    parts = [
        _layers(_by_arm({run: one.arrays[measure][0].T for run, one in words.items()})).assign(measure=measure)
        for measure in known
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _sts(texts: Runs, n: int) -> pd.DataFrame:
    """Spearman in the last layer, by arm and pooling: the mean over the `n` seeds, and how far it is from before.
    Seeds, then pairs are drawn, alike for all arms."""
    parts, gold = [], texts[BEFORE, None].arrays["gold"]
    trained = list(dict.fromkeys(arm for arm, _ in texts if arm != BEFORE))
    for at, pool in enumerate(TEXT_POOLS):
        each = rank_draws(np.stack([one.arrays["cosine"][at, -1] for one in texts.values()]), gold)
        places = {arm: [place for place, run in enumerate(texts) if run[0] == arm] for arm in (BEFORE, *trained)}
        before = each[:, places[BEFORE]].repeat(n, 1)
        draws = over_runs(np.stack([before, *(each[:, places[arm]] for arm in trained)], 1))  # [1 + repeats, arm]
        apart = draws - draws[:, :1]
        columns = {"arm": [BEFORE, *trained], "pool": pool, "spearman": draws[0], "minus_before": apart[0]}
        for name, one in (("", draws), ("minus_before_", apart)):
            low, high = interval(one)
            if few_runs(n):
                low[1:] = high[1:] = np.nan  # the base isn't trained: its interval is over pairs alone
            columns |= {f"{name}low": low, f"{name}high": high}
        parts.append(pd.DataFrame(columns | {"runs": [1, *[n] * len(trained)]}))
    return pd.concat(parts, ignore_index=True)


def _texts(texts: Runs, config: ContrastConfig) -> pd.DataFrame:
    """Alignment and uniformity of whole texts in the last layer, pooled as in training."""
    at = TEXT_POOLS.index(config.pool)
    parts = []
    for measure in (ALIGNMENT, UNIFORMITY):
        arms = _by_arm({run: one.arrays[measure][at, -1] for run, one in texts.items()})
        parts.append(_compared(arms, "value").assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def _each(texts: Runs, slopes: Mapping[Run, np.ndarray], config: ContrastConfig) -> pd.DataFrame:
    """Every single training, and the base: what it comes to."""
    at = TEXT_POOLS.index(config.pool)
    shown: dict[str, Callable[[Result], np.ndarray]] = {
        "spearman": lambda one: rank_draws(one.arrays["cosine"][at, -1:], one.arrays["gold"], repeats=1)[0, 0],
        ALIGNMENT: lambda one: one.arrays[ALIGNMENT][at, -1, 0],
        UNIFORMITY: lambda one: one.arrays[UNIFORMITY][at, -1, 0],
    }
    return pd.DataFrame(
        {"arm": arm, "seed": seed, "slope": slopes[arm, seed][0]}
        | {name: read(result) for name, read in shown.items()}
        for (arm, seed), result in texts.items()
    ).astype({"seed": "Int64"})


def _mean_curve(trained: Runs, table: str, along: str) -> pd.DataFrame:
    """What trainings recorded, averaged over seeds."""
    by_arm: dict[str, list[pd.DataFrame]] = {}
    for (arm, _), result in trained.items():
        by_arm.setdefault(arm, []).append(result.tables[table])
    parts = [
        pd.concat(curves).groupby(along, as_index=False).mean().assign(arm=arm) for arm, curves in by_arm.items()
    ]
    return pd.concat(parts, ignore_index=True)
