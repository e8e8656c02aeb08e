"""What follows from `courses`: whether another seed would do the same."""

from __future__ import annotations

from bertscope.core import registry
from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line


def consequences(result: Result) -> list[Consequence]:
    question = registry.find(result.subject["question"])
    changes, means = result.tables["changes"], result.tables["means"]
    if changes.empty:
        return []
    place = (2 * (changes["key"] == question.main) + changes["certain"]).idxmax()
    row, some = changes.loc[place], means.merge(changes.loc[[place], ["line", "key", "unit"]])
    picture = Line.of(some, "step", "mean")
    n = f"{result['trainings'].value:.0f}"
    if not row["certain"]:
        text = f"Whether training changes {row['line']} is open over {n} trainings: they differ too much to tell."
        return [Consequence("changed", text, 0.2, "means", picture, is_open=True)]
    way = "up" if row["change"] > 0 else "down"
    text = f"Training moves {row['line']} {way} whatever the seed: over {n} trainings that is certain."
    return [Consequence("changed", text, 0.35, "means", picture)]
