"""How far the layers of fine-tuned models moved from their base, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.similarity.measure import Corpus, Sample, by_layer
from bertscope.analyses.similarity.result import RSA
from bertscope.core.examples import Examples
from bertscope.core.jackknife import interval_over_runs
from bertscope.core.layers import Layers
from bertscope.experiments.arms import ENOUGH
from bertscope.models.evaluating import full_precision
from bertscope.models.states_store import StatesStore

if TYPE_CHECKING:
    from bertscope.experiments.freeze.question import FreezeConfig

_GROUPS = 20  # of texts, each left out in turn


def movement(
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
        low, high = over_seeds(draws)
        still = [held.whole or (layer in held.numbers if layer else held.embeddings) for layer in base.layers]
        tables.append(
            pd.DataFrame(
                {"arm": arm, "layer": base.layers, "frozen": still, "rsa": draws[:, 0].mean(0), "low": low,
                 "high": high, "runs": len(draws)}
            )
        )  # fmt: skip
    return pd.concat(tables, ignore_index=True)


def over_seeds(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of a mean over seeds, from each seed's draws [seed, 1 + groups, ...] over groups of texts.

    One seed: over texts. From five on: over both, whose errors add up in squares. Between them there is none.
    """
    if 1 < len(draws) < ENOUGH:
        return (np.full(draws.shape[2:], np.nan),) * 2
    low, high = interval_over_runs(draws)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _rsa(base: StatesStore, tuned: StatesStore, examples: Examples, words: int) -> np.ndarray:
    """[1 + groups, layer]: of each layer with the base's, and without each group of texts."""
    corpus = Corpus(examples.name, {"base": base, "tuned": tuned}, examples, seed=0)
    return Sample(corpus, words, _GROUPS).compare(by_layer(corpus.stores, "first"))[RSA]
