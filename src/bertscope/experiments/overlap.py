"""`overlap`: do lotteries on different tasks find the same heads and MLPs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING

from bertscope.core.catalogue import question
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.head_card import HeadFact
from bertscope.core.result import Number, Result, load_result

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_KINDS = {"head": "heads", "mlp": "MLPs"}


@dataclass(frozen=True)
class OverlapConfig:
    """Nothing to choose: what survived is compared."""


@question(
    "overlap",
    inputs=("lotteries",),
    version=1,
    main="heads, between tasks",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning, section 4.2",
    card=(
        HeadFact(
            "survival", "share", "share of tasks and seeds with which it survives", where={"kind": "head"}, middle=0.0
        ),
    ),
)
def overlap(
    lotteries: Sequence[Result | str],
    config: OverlapConfig = OverlapConfig(),  # noqa: B008 (frozen)
) -> Result:
    """Do lotteries find the same heads?

    What survived structured pruning with each seed of each lottery is compared, pair by pair: what two masks share,
    of what either has (Jaccard), within a task and between tasks, beside what two random sets of these sizes would.
    """
    import numpy as np

    from bertscope.analyses.side_by_side import distinct_names

    found = [load_result(one) if isinstance(one, str) else one for one in lotteries]
    units = _units(found)
    tasks = distinct_names(one.subject["task"] for one in found)
    masks = {task: one.arrays["survivors"].astype(bool) for task, one in zip(tasks, found, strict=True)}
    pairs = _pairs(masks, units["kind"].to_numpy())
    survival = np.mean([mask.mean(0) for mask in masks.values()], axis=0)
    return Result(
        "overlap",
        1,
        tables={"pairs": pairs, "survival": units.assign(share=survival)},
        headline=_headline(pairs),
        figures=_figures(len(tasks)),
        subject={"model": found[0].subject["model"], "task": ", ".join(tasks)},
        notes=[f"{task}: {len(mask)} seed{'s' * (len(mask) > 1)}" for task, mask in masks.items()],
    )


def _units(lotteries: Sequence[Result]) -> pd.DataFrame:
    """The parts that all of them were drawn from; refuses what can't be compared."""
    if len(lotteries) < 2:
        raise UserError("give the results of two lotteries or more")
    tables, models = [], list(dict.fromkeys(one.subject.get("model", "") for one in lotteries))
    for one in lotteries:
        if one.question != "lottery" or "survivors" not in one.tables:
            raise UserError(
                f"a {one.question} of {one.about} has no surviving heads; give lotteries with --methods s"
            )
        tables.append(one.tables["survivors"][["unit", "kind", "layer", "head"]])
    if any(not table.equals(tables[0]) for table in tables):
        raise UserError(
            f"the lotteries are of models with different parts ({', '.join(models)}); compare one model's"
        )
    if len(models) > 1:
        raise UserError(f"the lotteries are of different models ({', '.join(models)}); compare one model's")
    return tables[0]


def _pairs(masks: dict[str, np.ndarray], kinds: np.ndarray) -> pd.DataFrame:
    """Every pair of tasks, one with itself included, averaged over pairs of different masks."""
    import numpy as np
    import pandas as pd

    from bertscope.core.agreement import chance_jaccard, jaccard

    rows = []
    for one, other in combinations_with_replacement(masks, 2):
        for kind, name in _KINDS.items():
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
    return pd.DataFrame(rows).sort_values(["parts", "task", "other"], kind="stable", ignore_index=True)


def _headline(pairs: pd.DataFrame) -> list[Number]:
    numbers = []
    for parts in _KINDS.values():
        here = pairs[pairs["parts"] == parts]
        same = here["task"] == here["other"]
        for name, rows in ((f"{parts}, within a task", here[same]), (f"{parts}, between tasks", here[~same])):
            if rows["jaccard"].notna().any():
                numbers.append(Number(name, float(rows["jaccard"].mean()), unit="overlap"))
                numbers.append(Number(f"{name}, by chance", float(rows["by_chance"].mean()), unit="overlap"))
    return numbers


def _figures(tasks: int) -> list[Figure]:
    return [
        Figure(
            "heatmap",
            "pairs",
            x="other",
            y="task",
            value="jaccard",
            facet="parts",
            title="What the survivors of two tasks share",
            caption="Of the parts that either mask has, the share that both have, mean over pairs of seeds; on the "
            "diagonal, two seeds of one task. The table has what random sets of these sizes would share.",
            labels={"jaccard": "overlap", "other": "", "task": ""},
        ),
        Figure(
            "heatmap",
            "survival",
            x="head",
            y="layer",
            value="share",
            where={"kind": "head"},
            title="Heads that survive, whatever the task",
            caption=f"The share of seeds with which a head survives, mean over {tasks} tasks.",
            labels={"share": "survives"},
        ),
    ]
