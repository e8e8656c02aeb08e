"""What follows from `courses`: whether another seed would do the same."""

from __future__ import annotations

import pandas as pd

from bertscope.core import registry
from bertscope.core.consequence import Consequence
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.result import Result
from bertscope.core.small_picture import Line


def consequences(result: Result) -> list[Consequence]:
    question = registry.find(result.subject["question"])
    changes, means = result.tables["changes"].dropna(subset=["change"]), result.tables["means"]
    if changes.empty:
        return []
    place = (2 * (changes["key"] == question.main) + changes["certain"]).idxmax()
    row, some = changes.loc[place], means.merge(changes.loc[[place], ["line", "key", "unit"]])
    picture = Line.of(some, "step", "mean")
    n = f"{result['trainings'].value:.0f}"
    if pd.isna(row["low"]):
        why = (
            f"{n} trainings are too few to say; {ENOUGH_RUNS} are enough."
            if int(n) < ENOUGH_RUNS
            else f"all {n} trainings changed it by the same, which doesn't say how unlike another would be."
        )
        what = "How far" if row["known_end"] else "Whether"
        text = f"{what} training changes {row['line']} whichever the seed is open: {why}"
        return [Consequence("changed", text, 0.2, "means", picture, is_open=True)]
    if row["known_end"]:
        text = (
            f"Training takes {row['line']} from {row['first']:.3f} to {row['last']:.3f}, on average over {n} "
            f"trainings: by {row['change']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]."
        )
        return [Consequence("changed", text, 0.35, "means", picture)]
    if not row["certain"]:
        text = f"Whether training changes {row['line']} is open over {n} trainings: they differ too much to tell."
        return [Consequence("changed", text, 0.2, "means", picture, is_open=True)]
    way = "up" if row["change"] > 0 else "down"
    text = f"Training moves {row['line']} {way} whatever the seed: over {n} trainings that is certain."
    return [Consequence("changed", text, 0.35, "means", picture)]
