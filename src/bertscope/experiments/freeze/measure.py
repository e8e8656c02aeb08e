"""`freeze`: the arms' scores, and how far the layers of their models moved from the base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.similarity.sample import RSA, Corpus, Sample, by_layer
from bertscope.core.examples import Examples
from bertscope.core.intervals import jackknife_interval_over_runs
from bertscope.core.layers import Layers
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.freeze.question import FreezeConfig
from bertscope.experiments.freeze.result import arm_name, freeze_result
from bertscope.models.evaluating import full_precision
from bertscope.models.states_store import StatesStore

_GROUPS = 20  # of texts, each left out in turn


def measure(
    tuned: Sequence[Result],
    task: Task,
    config: FreezeConfig,
    states: Sequence[StatesStore] = (),
    examples: Examples | None = None,
) -> Result:
    runs = len(config.seeds)
    frozen = [Layers.parse(result.provenance["settings"]["frozen"]) for result in tuned[::runs]]
    names = [arm_name(each) for each in frozen]
    moments = task.moments(np.stack([result.arrays["outputs"] for result in tuned]))
    arms = Arms(dict(zip(names, moments.reshape(len(names), runs, *moments.shape[1:]), strict=True)), task.value)
    moved = None if examples is None else _movement(states, examples, names, frozen, config)
    return freeze_result(tuned, task, arms, frozen, moved, config)


def _movement(
    states: Sequence[StatesStore],
    examples: Examples,
    arms: Sequence[str],
    frozen: Sequence[Layers],
    config: FreezeConfig,
) -> pd.DataFrame:
    """A row for each arm and layer: the RSA with the base, mean over seeds. `states` are the base's and then each
    training's, arm by arm."""
    base, *tuned = states
    with full_precision():
        found = np.stack([_rsa(base, store, examples, config.words) for store in tuned])
    by_arm = found.reshape(len(arms), len(config.seeds), *found.shape[1:])  # [arm, seed, 1 + groups, layer]
    tables = []
    for arm, held, draws in zip(arms, frozen, by_arm, strict=True):
        low, high = jackknife_interval_over_runs(draws, least=-1.0, most=1.0)
        still = [held.whole or (layer in held.numbers if layer else held.embeddings) for layer in base.layers]
        tables.append(
            pd.DataFrame(
                {"arm": arm, "layer": base.layers, "frozen": still, "rsa": draws[:, 0].mean(0), "low": low,
                 "high": high, "runs": len(draws)}
            )
        )  # fmt: skip
    return pd.concat(tables, ignore_index=True)


def _rsa(base: StatesStore, tuned: StatesStore, examples: Examples, words: int) -> np.ndarray:
    """[1 + groups, layer]: of each layer with the base's, and without each group of texts."""
    corpus = Corpus(examples.name, {"base": base, "tuned": tuned}, examples, seed=0)
    return Sample(corpus, words, _GROUPS).compare(by_layer(corpus.stores, "first"))[RSA]
