"""`contrast`: what all its runs come to, with intervals over seeds and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.geometry.result import BASELINE
from bertscope.analyses.sentences.result import ALIGNMENT, UNIFORMITY
from bertscope.core.model_record import ModelRecord
from bertscope.core.rank_resampling import rank_draws, rank_left_out
from bertscope.core.result import Result
from bertscope.core.variance_components import group_values, interval_over_runs
from bertscope.experiments.contrast.question import ARMS, BEFORE, ContrastConfig
from bertscope.experiments.contrast.result import contrast_result
from bertscope.experiments.trainings import found_again, only_model
from bertscope.models.sentence_vectors import TEXT_POOLS

_COMPARED = (("contrastive", BEFORE), ("shuffled", BEFORE), ("contrastive", "shuffled"))
_CONTEXTUAL = ("self_similarity_adjusted", "intra_sentence_adjusted", "mev_adjusted")
"""Of what `geometry` measures, what is left beyond the baseline."""
_GROUPS = 50  # of pairs, each left out in turn
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
        "sts": _sts(texts),
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
        low, high = interval_over_runs(group_values(draws))
        rows.append(
            {"arm": arm, "against": against, name: draws[:, 0].mean(), "low": float(low), "high": float(high),
             "runs": len(draws)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _layers(arms: dict[str, np.ndarray]) -> pd.DataFrame:
    """A row for each arm and layer, of draws [run, 1 + groups, layer]."""
    parts = []
    for arm, draws in arms.items():
        low, high = interval_over_runs(group_values(draws))
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


def _sts(texts: Runs) -> pd.DataFrame:
    """Spearman in the last layer, by arm and pooling: the mean over seeds, and how far it is from before, on the same
    pairs. The base isn't trained: its interval is over pairs alone."""
    rows, gold = [], texts[BEFORE, None].arrays["gold"]
    for at, pool in enumerate(TEXT_POOLS):
        each = rank_left_out(np.stack([one.arrays["cosine"][at, -1] for one in texts.values()]), gold, groups=_GROUPS)
        arms = _by_arm(dict(zip(texts, each.T, strict=True)))
        for arm, draws in arms.items():
            apart = draws - arms[BEFORE]
            low, high = (end.clip(-1.0, 1.0) for end in interval_over_runs(group_values(draws)))
            less, more = interval_over_runs(group_values(apart))
            rows.append(
                {"arm": arm, "pool": pool, "spearman": draws[:, 0].mean(), "minus_before": apart[:, 0].mean(),
                 "low": float(low), "high": float(high), "minus_before_low": float(less),
                 "minus_before_high": float(more), "runs": len(draws)}
            )  # fmt: skip
    return pd.DataFrame(rows)


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
