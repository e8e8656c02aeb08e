"""`freeze`: the arms' scores, and how far the layers of their models moved from the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.similarity.measure import Corpus, Sample, by_layer
from bertscope.analyses.similarity.result import RSA
from bertscope.core.examples import Examples
from bertscope.core.layers import Layers
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.core.variance_components import group_values, interval_over_runs
from bertscope.data.metrics import between
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms
from bertscope.experiments.freeze.question import WHOLE, FreezeConfig
from bertscope.experiments.freeze.result import freeze_result
from bertscope.experiments.trainings import found_again, only_model, settings_of
from bertscope.models.evaluating import full_precision
from bertscope.models.states_store import StatesStore
from bertscope.training.told import as_told, moments_of

_GROUPS = 20  # of texts, each left out in turn


def measure(
    tuned: Sequence[Result],
    task: Task,
    config: FreezeConfig,
    states: Sequence[StatesStore] = (),
    examples: Examples | None = None,
) -> Result:
    frozen = {_run(one)[0]: settings_of(one).held for one in tuned}
    frozen = {WHOLE: Layers()} | frozen  # nothing first
    runs = [(arm, seed) for arm in frozen for seed in config.seeds]
    trained, task = found_again(tuned, _run, runs), as_told(task, tuned[0])
    moments = {run: moments_of(task, one) for run, one in trained.items()}
    of_arms = {arm: {seed: moments[arm, seed] for seed in config.seeds} for arm in frozen}
    arms = Arms(of_arms, task.value, within=between(task.metric))
    moved = None
    if examples is not None:
        base, *others = _base_first(only_model(tuned[0]), states)
        moved = _movement(base, found_again(others, lambda one: _run(one.record), runs), examples, frozen, config)
    return freeze_result(trained, task, arms, frozen, moved, config)


def _run(trained: Result | ModelRecord) -> tuple[str, int]:
    """Which arm and which seed a training is of."""
    settings = settings_of(trained)
    return settings.frozen or WHOLE, settings.seed


def _base_first(base: ModelRecord, states: Sequence[StatesStore]) -> list[StatesStore]:
    return sorted(states, key=lambda one: not one.record.is_same(base))


def _movement(
    base: StatesStore,
    tuned: Mapping[tuple[str, int], StatesStore],
    examples: Examples,
    frozen: Mapping[str, Layers],
    config: FreezeConfig,
) -> pd.DataFrame:
    """A row for each arm and layer: the RSA with the base, mean over seeds."""
    with full_precision():
        found = {run: _rsa(base, store, examples, config.words) for run, store in tuned.items()}
    tables = []
    for arm, held in frozen.items():
        draws = np.stack([found[arm, seed] for seed in config.seeds])  # [seed, 1 + groups, layer]
        low, high = (end.clip(-1.0, 1.0) for end in interval_over_runs(group_values(draws)))
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
