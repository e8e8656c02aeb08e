"""The pictures of `bias`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.core.figure import Figure
from bertscope.experiments.arms import how_sure

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.data.task import Task
    from bertscope.experiments.bias.question import BiasConfig

_PARTS = "Slice: test rows that mention the words; rest: the others"


def figures(tables: dict[str, pd.DataFrame], task: Task, config: BiasConfig) -> list[Figure]:
    sure = how_sure(len(config.seeds))
    drawn = [
        Figure(
            "intervals", "effects", x="difference", y="effect", color="on", low="low", high="high", middle=0.0,
            title="How much is the bias, how much the smaller set?",
            caption=f"What the cut does to {task.metric}: trained without the rows that have the words, minus "
            "trained on all. Its size: the same for a random cut with as many rows of each label. Its words: the "
            f"difference of the two cuts. {_PARTS}. {sure}",
            labels={"difference": f"difference in {task.metric}", "effect": "effect of", "on": ""},
        ),
        Figure(
            "intervals", "arms", x="score", y="arm", color="on", low="low", high="high", title="The three trainings",
            caption=f"The {task.metric} of each, mean over seeds, beside a constant answer. {_PARTS}. {sure}",
            labels={"score": task.metric, "arm": "trained on", "on": ""},
        ),
    ]  # fmt: skip
    if "flips" in tables:
        what = "The share of answers that change" if task.labels else "How far the score moves on average"
        drawn.append(
            Figure(
                "intervals", "flips", x="flips", y="arm", low="low", high="high",
                title="When words change places" if config.swap else "When she becomes he",
                caption=f"{what} when words are exchanged, of the {tables['flips']['n'].iloc[0]:,} test texts in "
                f"which that changes a word. {sure}",
                labels={"flips": "share that flips" if task.labels else "change of the score", "arm": "trained on"},
            )
        )  # fmt: skip
    return drawn
