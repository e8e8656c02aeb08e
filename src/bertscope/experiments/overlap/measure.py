"""`overlap`: what the survivors of two lotteries share, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pandas as pd

from bertscope.core.agreement import chance_jaccard, jaccard
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.words import model_names
from bertscope.experiments.overlap.question import OverlapConfig
from bertscope.experiments.overlap.result import KINDS, overlap_result


def measure(lotteries: Sequence[Result], config: OverlapConfig) -> Result:
    units = _units(lotteries)
    masks = {task: one.arrays["survivors"].astype(bool) for task, one in _by_task(lotteries).items()}
    pairs = _pairs(masks, units["kind"].to_numpy())
    survival = np.mean([mask.mean(0) for mask in masks.values()], axis=0)
    seeds = {task: len(mask) for task, mask in masks.items()}
    return overlap_result(lotteries[0].models, seeds, pairs, units.assign(share=survival))


def _by_task(lotteries: Sequence[Result]) -> dict[str, Result]:
    """The lotteries by what tables call their tasks: by name, a second one of a task with a number."""
    found: dict[str, Result] = {}
    for one in lotteries:
        name, again = one.subject["task"], 2
        while name in found:
            name, again = f"{one.subject['task']} ({again})", again + 1
        found[name] = one
    return found


def _units(lotteries: Sequence[Result]) -> pd.DataFrame:
    """The parts that all of them were drawn from; refuses what can't be compared."""
    if len(lotteries) < 2:
        raise UserError("give the results of two lotteries or more")
    tables, models = [], {key: record for one in lotteries for key, record in one.models.items()}
    for one in lotteries:
        if one.question != "lottery" or "survivors" not in one.tables:
            raise UserError(
                f"a {one.question} of {one.about} has no surviving heads; give lotteries with --methods s"
            )
        tables.append(one.tables["survivors"][["unit", "kind", "layer", "head"]])
    names = ", ".join(model_names(models).values())
    if any(not table.equals(tables[0]) for table in tables):
        raise UserError(f"the lotteries are of models with different parts ({names}); compare one model's")
    if len(models) > 1:
        raise UserError(f"the lotteries are of different models ({names}); compare one model's")
    return tables[0]


def _pairs(masks: dict[str, np.ndarray], kinds: np.ndarray) -> pd.DataFrame:
    """Every pair of tasks, one with itself included, averaged over pairs of different masks."""
    rows = []
    for one, other in combinations_with_replacement(masks, 2):
        for kind, name in KINDS.items():
            at = kinds == kind
            both = (
                combinations(masks[one][:, at], 2)
                if one == other
                else product(masks[one][:, at], masks[other][:, at])
            )
            values = [(jaccard(*pair), chance_jaccard(*pair)) for pair in both]
            shared, chance = np.mean(values, axis=0) if values else (np.nan, np.nan)
            for first, second in {(one, other), (other, one)}:
                rows.append({"parts": name, "task": first, "other": second, "jaccard": shared, "by_chance": chance})
    return pd.DataFrame(rows).sort_values(
        ["parts", "task", "other"], ascending=[False, True, True], kind="stable", ignore_index=True
    )
